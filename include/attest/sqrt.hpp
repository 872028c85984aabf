// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// √x and 1/√x rounded to nearest, ties to even, the same bits at compile time and at run time.
#pragma once
#include <stdint.h>

#include <attest/bits.hpp>

namespace attest {

// 1/√m for 1 <= m < 4, within 2.1·2^-53 of itself however a compiler contracts. Newton's step
// y + y(1 - m·y^2)/2 turns a relative error e into 1.5·e^2. The start takes the bits of m for a
// logarithm, halves and negates it, and is at most 3.5% off; four steps leave 2^-9, 2^-17, 2^-34
// and then rounding only, in units of 2^-53: at most 1 in m·y^2/2, which is nearly 1/2, and 1 in
// the last sum; 1/2 less that number is exact. proofs/gappa/rsqrt.g and rsqrt_start.g prove this.
inline constexpr uint64_t rsqrt_start = 0x5fe6eb50c7b537a9;
constexpr double near_rsqrt(double m) noexcept {
  const double half = 0.5 * m;
  const double y0 = bits::bit_cast<double>(rsqrt_start - (bits::bit_cast<uint64_t>(m) >> 1));
  const double y1 = y0 + y0 * (0.5 - half * y0 * y0);
  const double y2 = y1 + y1 * (0.5 - half * y1 * y1);
  const double y3 = y2 + y2 * (0.5 - half * y2 * y2);
  return y3 + y3 * (0.5 - half * y3 * y3);
}

// √m, less than 2^-50 off: the product rounds once more, and √m < 2 (proofs/gappa/rsqrt.g).
constexpr double near_sqrt(double m) noexcept {
  return m * near_rsqrt(m);
}

// √x rounded to the nearest float, for every float x. √-0 is -0; for x < 0 and for a NaN the result
// is a quiet NaN.
//
// x = m·4^e with 1 <= m < 4, m a multiple of 2^-23. The middle h between two floats in [1, 2] is an
// odd multiple of 2^-24, so m - h^2 is an odd multiple of 2^-48: |√m - h| >= 2^-48/(√m + h) >
// 2^-50, and a double less than 2^-50 off rounds to the right float.
constexpr float sqrt(float x) noexcept {
  if (x != x) return bits::quiet(x);
  if (x < 0) return bits::quiet_nan<float>;
  if (x == 0 || x == bits::infinity<float>) return x;
  const uint64_t word = bits::bit_cast<uint64_t>(static_cast<double>(x));
  const uint64_t odd = ~(word >> 52) & 1;  // the bias, 1023, is odd
  const double m = bits::bit_cast<double>((word & 0xfffffffffffff) | (1023 + odd) << 52);
  const double power_of_two = bits::bit_cast<double>(((word >> 52) + 1023 - odd) / 2 << 52);
  return static_cast<float>(near_sqrt(m) * power_of_two);
}

// √x rounded to the nearest double, for every double x. √-0 is -0; for x < 0 and for a NaN the
// result is a quiet NaN.
//
// x = m·4^e with 1 <= m < 4. In integers, root = floor(√n) of n = m·2^106 has 54 bits, one more
// than the result, and √n is never the middle between two results, whose square would be odd: an
// odd root rounds up. near_sqrt starts within 9 of it, so that n - root^2 fits in 64 bits and is
// right modulo 2^64.
constexpr double sqrt(double x) noexcept {
  if (x != x) return bits::quiet(x);
  if (x < 0) return bits::quiet_nan<double>;
  if (x == 0 || x == bits::infinity<double>) return x;
  const bool subnormal = x < 0x1p-1022;
  const uint64_t word = bits::bit_cast<uint64_t>(subnormal ? x * 0x1p54 : x);
  const uint64_t odd = ~(word >> 52) & 1;  // the bias, 1023, is odd
  const uint64_t fraction = word & 0xfffffffffffff;
  const double m = bits::bit_cast<double>(fraction | (1023 + odd) << 52);
  uint64_t root = static_cast<uint64_t>(near_sqrt(m) * 0x1p53);
  int64_t rest = static_cast<int64_t>(((fraction | 0x10000000000000) << (54 + odd)) - root * root);
  while (rest < 0) {
    --root;
    rest += static_cast<int64_t>(2 * root + 1);
  }
  while (rest > static_cast<int64_t>(2 * root)) {
    rest -= static_cast<int64_t>(2 * root + 1);
    ++root;
  }
  const uint64_t exponent = ((word >> 52) + 1023 - odd) / 2 - (subnormal ? 27 : 0);
  return bits::bit_cast<double>(((exponent - 1) << 52) + (root + 1) / 2);
}

// 1/√x rounded to the nearest float, for every float x. 1/√±0 is ±∞; for x < 0 and for a NaN the
// result is a quiet NaN.
//
// The double before rounding is within 2^-51.9 of itself of 1/√x, and no float has a 1/√x closer
// than 2^-51.8 of itself to the middle between two floats (the closest is x = 0x1.7431c6p+1).
constexpr float rsqrt(float x) noexcept {
  if (x != x) return bits::quiet(x);
  if (x == 0) return bits::bit_cast<float>(bits::bit_cast<uint32_t>(x) | 0x7f800000);
  if (x < 0) return bits::quiet_nan<float>;
  if (x == bits::infinity<float>) return 0;
  const uint64_t word = bits::bit_cast<uint64_t>(static_cast<double>(x));
  const uint64_t odd = ~(word >> 52) & 1;  // the bias, 1023, is odd
  const double m = bits::bit_cast<double>((word & 0xfffffffffffff) | (1023 + odd) << 52);
  const double power_of_two = bits::bit_cast<double>((3 * 1023 + odd - (word >> 52)) / 2 << 52);
  return static_cast<float>(near_rsqrt(m) * power_of_two);
}

// 1/√x rounded to the nearest double, for every double x. 1/√±0 is ±∞; for x < 0 and for a NaN the
// result is a quiet NaN.
//
// x = m·4^e with 1 <= m < 4. The middle between two results is an odd number h of 2^-54, and 1/√m
// lies above it if m·h^2 < 1; in integers 2^160 - (2^52·m)(2^54·h)^2 is positive, and modulo 2^128
// still shows its sign, since h is within 2^-50 of 1/√m. It is never 0: m would need more digits.
constexpr bool rsqrt_is_above(uint64_t m, uint64_t h) noexcept {
  const bits::Wide square = bits::multiply(h, h);
  const bits::Wide product = bits::multiply(square.low, m) + bits::Wide{square.high * m, 0};
  return (bits::Wide{0, 0} - product).high >> 63 == 0;
}
constexpr double rsqrt(double x) noexcept {
  if (x != x) return bits::quiet(x);
  if (x == 0)
    return bits::bit_cast<double>(bits::bit_cast<uint64_t>(x) |
                                  bits::bit_cast<uint64_t>(bits::infinity<double>));
  if (x < 0) return bits::quiet_nan<double>;
  if (x == bits::infinity<double>) return 0;
  const bool subnormal = x < 0x1p-1022;
  const uint64_t word = bits::bit_cast<uint64_t>(subnormal ? x * 0x1p54 : x);
  const uint64_t odd = ~(word >> 52) & 1;  // the bias, 1023, is odd
  const uint64_t fraction = word & 0xfffffffffffff;
  const uint64_t m = (fraction | 0x10000000000000) << odd;
  uint64_t y = static_cast<uint64_t>(
      near_rsqrt(bits::bit_cast<double>(fraction | (1023 + odd) << 52)) * 0x1p53);
  while (rsqrt_is_above(m, 2 * y + 1)) ++y;
  while (!rsqrt_is_above(m, 2 * y - 1)) --y;
  const uint64_t exponent = (3 * 1023 + odd - (word >> 52)) / 2 + (subnormal ? 27 : 0);
  return bits::bit_cast<double>(((exponent - 2) << 52) + y);
}

}  // namespace attest
