// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// sqrt is √x and rsqrt is 1/√x, rounded to nearest. Squares are exact, so == is meant; the other
// values are known digits of √2 and √3 in hexadecimal, rounded.
#include <attest/sqrt.hpp>
#include <limits>

namespace {
using attest::sqrt;
template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();

static_assert(noexcept(sqrt(1.0f)) && noexcept(sqrt(1.0)));

// 0, infinity, and what has no root.
static_assert(sqrt(0.0f) == 0 && sqrt(0.0) == 0);
static_assert(__builtin_bit_cast(unsigned, sqrt(-0.0f)) == 0x80000000, "√-0 = -0");
static_assert(sqrt(infinity<float>) == infinity<float> &&
              sqrt(infinity<double>) == infinity<double>);
template <class T>
constexpr bool is_nan(T x) {
  return x != x;
}
static_assert(is_nan(sqrt(-1.0f)) && is_nan(sqrt(-1.0)) && is_nan(sqrt(-infinity<double>)));
static_assert(is_nan(sqrt(std::numeric_limits<float>::quiet_NaN())));

// √(n^2) = n and √(n^2·4^k) = n·2^k, down to the smallest subnormal number.
template <class T>
constexpr bool squares_are_exact() {
  for (int n = 0; n < 4096; n += 7)
    if (sqrt(static_cast<T>(n * n)) != static_cast<T>(n)) return false;
  for (T power = 1; power * power > 0; power /= 2)
    if (sqrt(power * power) != power) return false;
  return true;
}
static_assert(squares_are_exact<float>() && squares_are_exact<double>());

// The head sizes of attention that are not squares of powers of two.
static_assert(sqrt(2.0f) == 0x1.6a09e6p+0f && sqrt(2.0) == 0x1.6a09e667f3bcdp+0);
static_assert(sqrt(3.0f) == 0x1.bb67aep+0f && sqrt(3.0) == 0x1.bb67ae8584caap+0);
static_assert(sqrt(128.0f) == 8 * sqrt(2.0f) && sqrt(128.0) == 8 * sqrt(2.0));
static_assert(sqrt(64.0f) == 8 && sqrt(64.0) == 8);

// Next to a square: √(1 + 2ε) = 1 + ε - ε^2/2 rounds to 1 + ε, √(1 + ε) to 1, √(1 - ε/2) to 1 -
// ε/4, which is the middle between 1 - ε/2 and 1 but for a little less: to 1 - ε/2.
template <class T>
constexpr bool next_to_one(T e) {
  return sqrt(1 + 2 * e) == 1 + e && sqrt(1 + e) == 1 && sqrt(1 - e / 2) == 1 - e / 2;
}
static_assert(next_to_one(0x1p-23f) && next_to_one(0x1p-52));

// The ends of the range.
static_assert(sqrt(0x1p-149f) == 0x1.6a09e6p-75f && sqrt(0x1p-1074) == 0x1p-537);
static_assert(sqrt(0x1.fffffep+127f) == 0x1.fffffep+63f);
static_assert(sqrt(0x1.fffffffffffffp+1023) == 0x1.fffffffffffffp+511);

// 1/√x: exact where x is an even power of two, the value MPFR 4.2 rounds to elsewhere.
using attest::rsqrt;
template <class T>
constexpr bool inverse_powers_are_exact() {
  T inverse = 1;
  for (T power = 1; power * power > 0; power /= 2, inverse *= 2)
    if (rsqrt(power * power) != inverse) return false;
  return true;
}
static_assert(inverse_powers_are_exact<float>() && inverse_powers_are_exact<double>());
static_assert(rsqrt(64.0f) == 0.125f && rsqrt(64.0) == 0.125, "the scale of heads of width 64");
static_assert(rsqrt(2.0f) == 0x1.6a09e6p-1f && rsqrt(2.0) == 0x1.6a09e667f3bcdp-1);
static_assert(rsqrt(3.0f) == 0x1.279a74p-1f && rsqrt(3.0) == 0x1.279a74590331cp-1);
static_assert(rsqrt(10.0f) == 0x1.43d136p-2f && rsqrt(10.0) == 0x1.43d136248490fp-2);
static_assert(rsqrt(0x1.7431c6p+1f) == 0x1.2c413cp-1f, "2^-51.7 from the middle");
static_assert(rsqrt(0.0f) == infinity<float> && rsqrt(-0.0) == -infinity<double>);
static_assert(rsqrt(infinity<float>) == 0 && is_nan(rsqrt(-1.0f)) && is_nan(rsqrt(-1.0)));

}  // namespace
