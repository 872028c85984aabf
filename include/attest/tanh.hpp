// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// tanh x rounded to nearest, the same bits at compile time and at run time: the softcap of scores.
#pragma once
#include <stdint.h>

#include <attest/bits.hpp>
#include <attest/exp.hpp>
#include <attest/tanh_tables.hpp>

namespace attest {

// tanh x for the value 0 <= x <= 10 of a float, within 4.6·2^-53 of itself however a compiler
// contracts (proofs/gappa/tanh.g).
//
// tanh x = -m/(2 + m) with m = e^(-2x) - 1. As in near_exp, -2x = k·ln 2 + r and p = e^r - 1, so
// that m = p for k = 0, and else m = 2^k·p + (2^k - 1). Rounding, in units of 2^-53 of tanh x,
// costs at most 3.1 for m (2.7 of m itself, of which tanh takes 2/(2 + m)), 0.6 for 2 + m and 0.9
// for the quotient where |m| is near 1/4, and no more in total elsewhere.
constexpr double near_tanh(double x) noexcept {
  using namespace exp_tables;
  const double y = -2 * x;
  const int k = static_cast<int>(y * log2_e + (256 + up)) - 256;
  const double r_high = y - k * ln2_high;
  const double r = r_high - k * ln2_low;
  const double r2 = r * r;
  const double scale =
      __builtin_bit_cast(double, static_cast<uint64_t>(static_cast<uint32_t>(k + 1023)) << 52);
  const double m = scale * (r_high + (0.5 * r2 + (cubic_term(r, r2) - k * ln2_low))) + (scale - 1);
  return -m / (2 + m);
}

// tanh x rounded to the nearest float, for every float x; a NaN gives a quiet NaN. Straight-line
// arithmetic in double, so that elements can be computed side by side. No float has a tanh closer
// than 2^-50.3 of itself to the middle between two floats, so near_tanh rounds to the right float.
constexpr float tanh(float x) noexcept {
  constexpr uint32_t saturated = 0x41200000;  // the bits of 10: 1 - tanh 10 < 2^-27
  constexpr uint32_t infinity = 0x7f800000, one = 0x3f800000;
  const uint32_t word = __builtin_bit_cast(uint32_t, x);
  const uint32_t magnitude = word & 0x7fffffff;
  const uint32_t ordinary = magnitude < saturated ? 0xffffffff : 0;
  const double y = static_cast<double>(__builtin_bit_cast(float, magnitude& ordinary));
  const uint32_t result = __builtin_bit_cast(uint32_t, static_cast<float>(near_tanh(y)));
  const uint32_t special = magnitude > infinity ? magnitude | 0x00400000 : one;
  return __builtin_bit_cast(
      float, (word & 0x80000000) | (result & 0x7fffffff & ordinary) | (special & ~ordinary));
}

// 1/d for 1 < d <= 2 given with 126 bits behind the point, with 127, off by at most 2^-123.
// Newton's step y(2 - d·y) squares the relative error; it starts 2^-50 low on purpose, so that both
// steps have 1 - d·y >= 0.
constexpr bits::Wide reciprocal(bits::Wide d) noexcept {
  using bits::Wide;
  Wide y{static_cast<uint64_t>(0x1p125 * (1 - 0x1p-50) / static_cast<double>(d.high)), 0};
  for (int step = 0; step < 2; ++step)
    y = y + bits::multiply_high(y, (Wide{uint64_t{1} << 61, 0} - bits::multiply_high(d, y)) << 3);
  return y;
}

// tanh of x = magnitude·2^exponent, 2^-27 <= x < 22, magnitude a number of 53 bits, as a
// significand and the exponent of two that goes with it; off by less than 2^-111 of itself. Integer
// arithmetic but for the starts of the reduction and of the division.
//
// Below 2^-10: x times the series of tanh(x)/x up to x^12; the rest is below 2^-140. Else (1 -
// w)/(1 + w) with w = e^(-2x), off by at most 2^-122, so that 1 - w, at least 2^-10, is off by at
// most 2^-112 of itself. proofs/gappa/wide_tanh.g adds up what each step loses.
struct Scaled {
  bits::Wide significand;
  int exponent;
};
constexpr Scaled wide_tanh(uint64_t magnitude, int exponent) noexcept {
  using bits::multiply_high;
  using bits::Wide;
  if (exponent < -10 - 52) {
    using tanh_tables::coefficient;
    const Wide square = bits::multiply(magnitude << 10, magnitude << 10) >> -(2 * exponent + 108);
    Wide sum{coefficient[6][0], coefficient[6][1]};
    for (int n = 5; n >= 0; --n)
      sum = Wide{coefficient[n][0], coefficient[n][1]} - multiply_high(square, sum);
    return {multiply_high(Wide{magnitude << 11, 0}, sum), exponent - 74};
  }
  const double x = bits::bit_cast<double>((magnitude & 0xfffffffffffff) |
                                          static_cast<uint64_t>(exponent + 1075) << 52);
  const int k = static_cast<int>(-2 * x * exp_tables::log2_e_times_64 - 0x1p-17) - 1;
  const Wide r = wide_fixed_point(true, magnitude, exponent + 1) - wide_steps_of_ln2(k);
  const Wide w = wide_exp_significand(r, k) >> -(k >> 6);
  const Wide one{uint64_t{1} << 62, 0};
  return {multiply_high((one - w) << 1, reciprocal(one + w)), -126};
}

// tanh x rounded to the nearest double, for every double x whose tanh x is further than 2^-111 of
// itself from the middle between two doubles; a NaN gives a quiet NaN.
constexpr double tanh(double x) noexcept {
  if (x != x) return bits::quiet(x);
  const uint64_t word = bits::bit_cast<uint64_t>(x);
  const bool negative = word >> 63;
  const double size = negative ? -x : x;
  if (size < 0x1p-27) return x;  // x^3/3 is less than half a unit
  if (size >= 22) return negative ? -1 : 1;
  const Scaled result = wide_tanh((word & 0xfffffffffffff) | 0x10000000000000,
                                  static_cast<int>(word >> 52 & 0x7ff) - 1075);
  return bits::rounded<double>(negative, result.significand, result.exponent);
}

}  // namespace attest
