// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// ln x and log2 x rounded to nearest, the same bits at compile time and at run time.
#pragma once
#include <stdint.h>

#include <attest/bits.hpp>
#include <attest/log_tables.hpp>

namespace attest {

// A logarithm other than 0, as ±significand·2^exponent.
struct Logarithm {
  bool negative;
  bits::Wide significand;
  int exponent;
};

// log(x·2^scale) for a positive, normal, finite x other than 1.
//
// x·2^scale = 2^k·z, 91/128 <= z < 91/64, and r = c·z - 1 for a c of 9 bits that is nearly 1/z, so
// that r is exact with 60 bits behind the point and |r| < 2^-6. Then, with S = 1 - r/2 + r^2/3 -
// ...,
//   log x = k·log 2 - log c + r·S/ln(base).
// S is computed with 64 bits, where its error is below 2^-62, or with 128, where it is below
// 2^-126. Around x = 1 there is only r·S, off by less than 2^-61 or 2^-122 of itself. Elsewhere
// |log x| > 2^-8 for k = 0, where sums have 126 bits behind the point, and |log x| > 0.34·|k|
// otherwise, where they have 116. The result is off by less than 2^-60 or 2^-113 of itself.
// proofs/gappa/log.g proves these bounds.
template <int precision>
constexpr Logarithm logarithm(double x, int scale, const log_tables::Base& base) noexcept {
  using namespace log_tables;
  using bits::Wide;
  const uint64_t word = bits::bit_cast<uint64_t>(x);
  const int part = static_cast<int>(word >> 46 & 63);
  const int halved = part >= first_halved ? 1 : 0;
  const int k = static_cast<int>(word >> 52) - 1023 + halved + scale;
  const uint64_t c = reciprocal[part];
  const uint64_t product = ((word & 0xfffffffffffff) | 0x10000000000000) * c << (1 - halved);
  constexpr uint64_t one = uint64_t{1} << 61;
  const bool below = product < one;
  const uint64_t r = below ? one - product : product - one;  // 61 bits behind the point

  Wide sum{0, 0};
  if constexpr (precision == 64) {
    uint64_t s = one_over[11][0];
    for (int n = 10; n >= 1; --n) {
      const uint64_t rest = bits::multiply_high(r << 3, s);
      s = below ? one_over[n][0] + rest : one_over[n][0] - rest;
    }
    sum.high = s;
  } else {
    sum = {one_over[21][0], one_over[21][1]};
    for (int n = 20; n >= 1; --n) {
      const Wide rest = bits::multiply_high(Wide{r << 3, 0}, sum);
      sum = below ? Wide{one_over[n][0], one_over[n][1]} + rest
                  : Wide{one_over[n][0], one_over[n][1]} - rest;
    }
  }
  const Wide factor = bits::multiply_high(sum, {base.one_over_ln[0], base.one_over_ln[1]});

  if (k == 0 && c == 256) {  // around 1
    const int zeros = bits::leading_zeros(r);
    return {below, bits::multiply_high(Wide{r << zeros, 0}, factor), -(123 + zeros)};
  }
  const Wide term = bits::multiply_high(Wide{r << 3, 0}, factor);
  const Wide offset{base.one_minus_log[part][0], base.one_minus_log[part][1]};
  Wide value = below ? offset - term : offset + term;  // 1 + log z, 126 bits behind the point
  if (k == 0) {
    value = value - Wide{uint64_t{1} << 62, 0};
  } else {
    const uint64_t steps = static_cast<uint64_t>(k < 0 ? -k : k);
    const Wide log_of_power = bits::multiply(steps, base.log_2[1]) + Wide{steps * base.log_2[0], 0};
    value = (value >> 10) - Wide{uint64_t{1} << 52, 0};
    value = k < 0 ? value - log_of_power : value + log_of_power;
  }
  const bool negative = value.high >> 63;
  return {negative, negative ? Wide{0, 0} - value : value, k == 0 ? -126 : -116};
}

template <class T>
constexpr T log_to_base(T x, const log_tables::Base& base) noexcept {
  if (x != x) return bits::quiet(x);
  if (x == 0) return -bits::infinity<T>;
  if (x < 0) return bits::quiet_nan<T>;
  if (x == bits::infinity<T>) return x;
  if (x == 1) return 0;
  constexpr int precision = sizeof(T) == 4 ? 64 : 128;
  const double y = static_cast<double>(x);
  const bool subnormal = y < 0x1p-1022;
  const Logarithm result =
      logarithm<precision>(subnormal ? y * 0x1p54 : y, subnormal ? -54 : 0, base);
  return bits::rounded<T>(result.negative, result.significand, result.exponent);
}

// ln x rounded to the nearest float, for every float x, and to the nearest double, for every double
// x whose ln x is further than 2^-113 of itself from the middle between two doubles. ln 0 = -∞; for
// x < 0 and for a NaN the result is a quiet NaN. Integer arithmetic: neither contraction nor
// rounding modes matter. tests/exhaustive checks all 2^32 floats.
constexpr float log(float x) noexcept {
  return log_to_base(x, log_tables::e);
}
constexpr double log(double x) noexcept {
  return log_to_base(x, log_tables::e);
}

// The same for log2 x, which is exact where x is a power of two.
constexpr float log2(float x) noexcept {
  return log_to_base(x, log_tables::two);
}
constexpr double log2(double x) noexcept {
  return log_to_base(x, log_tables::two);
}

}  // namespace attest
