// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// √x rounded to nearest, ties to even, the same bits at compile time and at run time.
#pragma once
#include <stdint.h>

#include <attest/bits.hpp>

namespace attest {

// √m for 1 <= m < 4, less than 2^-50 off however a compiler contracts. Newton's step y(3 - m·y^2)/2
// towards 1/√m turns a relative error e into 1.5·e^2. The start takes the bits of m for a
// logarithm, halves and negates it, and is at most 3.5% off; four steps leave 2^-9, 2^-17, 2^-34
// and then rounding only, of at most 3·2^-53 in the last step and 2^-53 in the product with m.
constexpr double near_sqrt(double m) noexcept {
  const double half = 0.5 * m;
  const double y0 = bits::bit_cast<double>(0x5fe6eb50c7b537a9 - (bits::bit_cast<uint64_t>(m) >> 1));
  const double y1 = y0 * (1.5 - half * y0 * y0);
  const double y2 = y1 * (1.5 - half * y1 * y1);
  const double y3 = y2 * (1.5 - half * y2 * y2);
  return m * (y3 * (1.5 - half * y3 * y3));
}

// √x rounded to the nearest float, for every float x. √-0 is -0; for x < 0 and for a NaN the result
// is a quiet NaN.
//
// x = m·4^e with 1 <= m < 4, m a multiple of 2^-23. The middle h between two floats in [1, 2] is an
// odd multiple of 2^-24, so m - h^2 is an odd multiple of 2^-48: |√m - h| >= 2^-48/(√m + h) >
// 2^-50, and a double less than 2^-50 off rounds to the right float.
constexpr float sqrt(float x) noexcept {
  if (x != x) return bits::quiet(x);
  if (x < 0) return bits::bit_cast<float>(0x7fc00000u);
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
  if (x < 0) return bits::bit_cast<double>(uint64_t{0x7ff8000000000000});
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

}  // namespace attest
