// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// exp is e^x and exp2 is 2^x rounded to nearest: the exact values, the ends of its range, and the
// numbers closest to the middle between two results. Values in hexadecimal are what MPFR 4.2 rounds
// to.
#include <attest/exp.hpp>
#include <limits>

namespace {
using attest::exp;
using attest::exp2;
template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();

// The same bits at compile time as at run time, and no exception for any argument.
static_assert(noexcept(exp(1.0f)) && noexcept(exp(1.0)));

// Where the result is exact or not a number of the range.
static_assert(exp(0.0f) == 1 && exp(-0.0f) == 1 && exp(0.0) == 1 && exp(-0.0) == 1, "e^0 = 1");
static_assert(exp(infinity<float>) == infinity<float> && exp(infinity<double>) == infinity<double>);
static_assert(exp(-infinity<float>) == 0 && exp(-infinity<double>) == 0, "a masked key weighs 0");
constexpr float nan_float = exp(std::numeric_limits<float>::quiet_NaN());
constexpr double nan_double = exp(std::numeric_limits<double>::quiet_NaN());
static_assert(nan_float != nan_float && nan_double != nan_double);

// Ordinary values.
static_assert(exp(1.0f) == 0x1.5bf0a8p+1f && exp(-1.0f) == 0x1.78b564p-2f);
static_assert(exp(0.5f) == 0x1.a61298p+0f && exp(-0.5f) == 0x1.368b3p-1f);
static_assert(exp(10.0f) == 0x1.5829dcp+14f && exp(-10.0f) == 0x1.7cd79cp-15f);
static_assert(exp(1.0) == 0x1.5bf0a8b145769p+1 && exp(-1.0) == 0x1.78b56362cef38p-2);
static_assert(exp(10.0) == 0x1.5829dcf95056p+14 && exp(-10.0) == 0x1.7cd79b5647c9bp-15);
static_assert(exp(700.0) == 0x1.d945df4f8ec8ep+1009 && exp(-700.0) == 0x1.14f2b0fb9307fp-1010);

// ln 2 rounded is so close to ln 2 that 2 is the nearest number.
static_assert(exp(0x1.62e43p-1f) == 2 && exp(-0x1.62e43p-1f) == 0.5f);
static_assert(exp(0x1.62e42fefa39efp-1) == 2 && exp(-0x1.62e42fefa39efp-1) == 0.5);

// The last finite result and the first infinite one, the last subnormal one and the first zero.
static_assert(exp(0x1.62e42ep+6f) == 0x1.ffff08p+127f && exp(0x1.62e43p+6f) == infinity<float>);
static_assert(exp(-0x1.9fe368p+6f) == 0x1p-149f && exp(-0x1.9fe36ap+6f) == 0);
static_assert(exp(0x1.62e42fefa39efp+9) == 0x1.fffffffffff2ap+1023 &&
              exp(0x1.62e42fefa39fp+9) == infinity<double>);
static_assert(exp(-0x1.74910d52d3051p+9) == 0x1p-1074 && exp(-0x1.74910d52d3052p+9) == 0);

// The last normal result and the first subnormal one, rounded once.
static_assert(exp(-0x1.5d589ep+6f) == 0x1.00004cp-126f && exp(-0x1.5d58ap+6f) == 0x1.ffff98p-127f);
static_assert(exp(-0x1.6232bdd7abcd2p+9) == 0x1.000000000007cp-1022 &&
              exp(-0x1.6232bdd7abcd3p+9) == 0x0.ffffffffffe7cp-1022);
static_assert(exp(-100.0f) == 0x1.bp-145f && exp(-740.0) == 0x0.0000000000055p-1022);

// The floats closest to the middle between two results.
static_assert(exp(-0x1.d2259ap+3f) == 0x1.fa6636p-22f, "2^-52.6 from the middle");
static_assert(exp(-0x1.e1dbe2p-8f) == 0x1.fc3fd2p-1f, "2^-51.7");
static_assert(exp(-0x1.c1c4b8p-10f) == 0x1.ff1f4ep-1f, "2^-51.1");

// They are in doubt, and their neighbours are not.
constexpr bool is_in_doubt(float x) {
  const double given = static_cast<double>(x);
  return attest::from_middle(attest::rough_exp2(given, attest::exp_tables::log2_e)) <
         attest::doubtful;
}
static_assert(is_in_doubt(-0x1.d2259ap+3f) && is_in_doubt(-0x1.e1dbe2p-8f));
static_assert(!is_in_doubt(-0x1.d2259cp+3f) && !is_in_doubt(-0x1.d22598p+3f));
static_assert(!is_in_doubt(0) && !is_in_doubt(-104), "what softmax sees most");

// Side by side e^x is the same, with numbers in doubt, subnormal results and zeros among them.
constexpr bool side_by_side() {
  constexpr float x[8] = {0, -1, -10, -100, -0x1.d2259ap+3f, -0x1.9fe368p+6f, -1000, -3e38f};
  float row[8] = {}, level[8] = {};
  for (int j = 0; j < 8; ++j) row[j] = level[j] = x[j];
  attest::exp_side_by_side<8>(row, 0);
  for (float& y : level) y += 1;
  attest::exp_side_by_side<3>(level, 1);
  for (int j = 0; j < 8; ++j)
    if (row[j] != exp(x[j]) || (j < 3 && level[j] != row[j])) return false;
  return true;
}
static_assert(side_by_side());

// Near 0, e^x = 1 + x + x^2/2 + ...: where 1 + x is the middle between two numbers, x^2/2 decides.
static_assert(exp(0x1p-24f) == 0x1.000002p+0f && exp(-0x1p-25f) == 1);
static_assert(exp(0x1p-53) == 0x1.0000000000001p+0 && exp(-0x1p-54) == 1);
static_assert(exp(-0x1.0000000000001p-54) == 0x1.fffffffffffffp-1);

// 2^x is exact for integers, down to the smallest subnormal number.
template <class T>
constexpr bool powers_are_exact(int lowest, int highest) {
  T power = 1;
  for (int k = 1; k < highest; ++k)
    if (exp2(static_cast<T>(k)) != (power *= 2)) return false;
  power = 1;
  for (int k = -1; k >= lowest; --k)
    if (exp2(static_cast<T>(k)) != (power /= 2)) return false;
  return exp2(static_cast<T>(highest)) == infinity<T> && exp2(static_cast<T>(lowest - 1)) == 0;
}
static_assert(powers_are_exact<float>(-149, 128) && powers_are_exact<double>(-1074, 1024), "2^k");
static_assert(exp2(0.5f) == 0x1.6a09e6p+0f && exp2(-0.5f) == 0x1.6a09e6p-1f, "√2, 1/√2");
static_assert(exp2(0.5) == 0x1.6a09e667f3bcdp+0 && exp2(-0.5) == 0x1.6a09e667f3bcdp-1);
static_assert(exp2(-1074.5) == 0x1p-1074 && exp2(-1022.5) == 0x0.b504f333f9de6p-1022);
static_assert(exp2(0x1.853a6ep-9f) == 0x1.00870ap+0f, "2^-53.2 from the middle");
static_assert(exp2(-0x1.5a3f34p-21f) == 0x1.fffffp-1f, "2^-58.9");
static_assert(exp2(-0x1.e7526ep-6f) == 0x1.f58d62p-1f, "2^-56.9");

// e^x never decreases, checked over a grid. That e^(a + b) = e^a·e^b up to three roundings, for
// sums that are exact: each side is within (1 + 2^-24)^3 of e^(a + b), so within 2^-22 of one
// another.
template <class T>
constexpr bool increases(T from, T to, T step) {
  for (T x = from; x < to; x += step)
    if (!(exp(x) <= exp(x + step))) return false;
  return true;
}
static_assert(increases(-110.0f, 90.0f, 0.25f) && increases(-750.0, 712.0, 2.0));

constexpr bool adds_up() {
  for (int a = -32; a <= 32; ++a)
    for (int b = -32; b <= 32; ++b) {
      const float x = static_cast<float>(a) / 16, y = static_cast<float>(b) / 16;
      const float sum = exp(x + y), product = exp(x) * exp(y);
      if (sum - product > sum * 0x1p-22f || product - sum > sum * 0x1p-22f) return false;
    }
  return true;
}
static_assert(adds_up(), "e^(a + b) = e^a e^b");

}  // namespace
