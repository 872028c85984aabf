// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// log is ln x and log2 is log2 x, rounded to nearest. Powers of two have exact logarithms, so == is
// meant; values in hexadecimal are what MPFR 4.2 rounds to.
#include <attest/exp.hpp>
#include <attest/log.hpp>
#include <limits>

namespace {
using namespace attest;
template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();
template <class T>
constexpr bool is_nan(T x) {
  return x != x;
}

static_assert(noexcept(log(1.0f)) && noexcept(log2(1.0)));

// 1, 0, infinity, and what has no logarithm.
static_assert(log(1.0f) == 0 && log(1.0) == 0 && log2(1.0f) == 0 && log2(1.0) == 0);
static_assert(log(0.0f) == -infinity<float> && log2(-0.0) == -infinity<double>);
static_assert(log(infinity<float>) == infinity<float> &&
              log2(infinity<double>) == infinity<double>);
static_assert(is_nan(log(-1.0f)) && is_nan(log2(-1.0)) && is_nan(log(-infinity<double>)));

// log2(2^k) = k, down to the smallest subnormal number.
template <class T>
constexpr bool powers_are_exact(int lowest, int highest) {
  for (int k = lowest; k < highest; ++k)
    if (log2(exp2(static_cast<T>(k))) != static_cast<T>(k)) return false;
  return true;
}
static_assert(powers_are_exact<float>(-149, 128) && powers_are_exact<double>(-1074, -900));
static_assert(powers_are_exact<double>(-100, 100), "log2(2^k) = k");

// Ordinary values and the ends of the range.
static_assert(log(2.0f) == 0x1.62e43p-1f && log(2.0) == 0x1.62e42fefa39efp-1);
static_assert(log(3.0f) == 0x1.193ea8p+0f && log(3.0) == 0x1.193ea7aad030bp+0);
static_assert(log(10.0f) == 0x1.26bb1cp+1f && log(10.0) == 0x1.26bb1bbb55516p+1);
static_assert(log2(3.0f) == 0x1.95c01ap+0f && log2(3.0) == 0x1.95c01a39fbd68p+0);
static_assert(log2(10.0f) == 0x1.a934fp+1f && log2(10.0) == 0x1.a934f0979a371p+1);
static_assert(log(0x1p-149f) == -0x1.9d1dap+6f && log(0x1p-1074) == -0x1.74385446d71c3p+9);
static_assert(log(0x1.fffffep+127f) == 0x1.62e43p+6f);
static_assert(log(0x1.fffffffffffffp+1023) == 0x1.62e42fefa39efp+9);

// Next to 1, ln(1 + e) = e - e^2/2 + ... keeps all its digits.
static_assert(log(0x1.fffffep-1f) == -0x1p-24f && log(0x1.000002p+0f) == 0x1.fffffep-24f);
static_assert(log(0x1.fffffffffffffp-1) == -0x1p-53);
static_assert(log(0x1.0000000000001p+0) == 0x1.fffffffffffffp-53);
static_assert(log2(0x1.000002p+0f) == 0x1.715474p-23f);
static_assert(log2(0x1.0000000000001p+0) == 0x1.71547652b82fdp-52);

// ln(e^x) = x up to the rounding of e^x, a relative 2^-53 and so an absolute 2^-53, and of the
// result, 2^-53·|x| at most; 20 is the largest |x|.
constexpr bool undoes_exp() {
  for (int n = -80; n <= 80; ++n) {
    const double x = n * 0.25, difference = log(exp(x)) - x;
    if (difference > 21 * 0x1p-53 || difference < -21 * 0x1p-53) return false;
  }
  return true;
}
static_assert(undoes_exp(), "ln(e^x) = x");

}  // namespace
