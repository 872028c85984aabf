// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// e^x rounded to nearest, ties to even, the same bits at compile time and at run time.
#pragma once
#include <stdint.h>

#include <attest/bits.hpp>
#include <attest/exp_tables.hpp>

namespace attest {

// e^x rounded to the nearest float, for every float x, subnormal results, zero and infinity
// included. A NaN gives a quiet NaN. Straight-line arithmetic in double: elements can be computed
// side by side.
//
// With k = floor(x/ln 2 + 0.415) and r = x - k·ln 2, the result is 2^k·e^r and -0.288 <= r <=
// 0.406. x - k·ln2_high is exact: both terms are multiples of 2^-44 whenever k is not 0, and they
// differ by less than 1/2. Every other operation rounds; in units of u = 2^-53, absolute, that
// costs at most
//   r, through r^2/2                                   0.11
//   r^2/2, the cubic term, and the sum of the two      0.14
//   e^r - 1, which lies in [-1/4, 1/2]                 0.25, or 0.125 if below 1/4 in magnitude
//   e^r, which lies in [3/4, 3/2]                      1, or 0.5 below 1
// and the polynomial itself 2^-60.3; relative to e^r their sum is less than 1.25 u anywhere in the
// interval. A fused multiply-add only leaves out one of the roundings, so the bound holds however a
// compiler contracts. No float x has an e^x within 1.27 u of the middle between two floats (the
// closest is x = -0x1.d2259ap+3, 2^-52.645 away), so every double within the bound rounds to the
// right float.
//
// __builtin_bit_cast is what std::bit_cast calls: written out, it saves a third of clang's steps.
constexpr float exp(float x) noexcept {
  using namespace exp_tables;
  constexpr uint32_t highest = 0x42b17217;  // bits of 0x1.62e42ep+6: beyond, e^x > 2^128 - 2^103
  constexpr uint32_t lowest = 0x42cff1b4;   // bits of 0x1.9fe368p+6: beyond, e^-x < 2^-150
  constexpr uint32_t infinity = 0x7f800000;
  const uint32_t word = __builtin_bit_cast(uint32_t, x);
  const uint32_t magnitude = word & 0x7fffffff;
  const uint32_t ordinary = magnitude <= (word >> 31 ? lowest : highest) ? 0xffffffff : 0;
  const double y = __builtin_bit_cast(float, word& ordinary);
  const int k = static_cast<int>(y * log2_e + (256 + up)) - 256;
  const double r_high = y - k * ln2_high;
  const double r = r_high - k * ln2_low;
  const double r2 = r * r;
  const double cubic_term =
      r * r2 *
      (cubic[0] + r * cubic[1] +
       r2 * (cubic[2] + r * cubic[3] +
             r2 * (cubic[4] + r * cubic[5] +
                   r2 * (cubic[6] + r * cubic[7] + r2 * (cubic[8] + r * cubic[9])))));
  const float result = static_cast<float>(
      __builtin_bit_cast(double, static_cast<uint64_t>(static_cast<uint32_t>(k + 1023)) << 52) *
      (1 + (r_high + (0.5 * r2 + (cubic_term - k * ln2_low)))));
  const uint32_t special = magnitude > infinity ? word | 0x00400000 : word >> 31 ? 0 : infinity;
  return __builtin_bit_cast(
      float, (__builtin_bit_cast(uint32_t, result) & ordinary) | (special & ~ordinary));
}

// What exp(double) falls back to: e^x for x = ±magnitude·2^exponent, magnitude a number of 53 bits,
// given a k with 0 <= x - k·ln(2)/64 < 0.0109. Fixed point with 134 bits behind the point. What is
// cut off, together with the series after its term in r^14, is below 2^-122 of the result. No
// double known has an e^x closer than 2^-113 to the middle between two doubles.
[[gnu::cold, gnu::noinline]] constexpr double exp_in_128_bits(bool negative, uint64_t magnitude,
                                                              int exponent, int k) noexcept {
  using namespace exp_tables;
  using bits::Wide;
  const uint64_t steps = static_cast<uint64_t>(k < 0 ? -k : k);
  const Wide x = Wide{0, magnitude} << (exponent + 134);
  const Wide shift = bits::multiply(steps, ln2_over_64[1]) + Wide{steps * ln2_over_64[0], 0} +
                     Wide{0, bits::multiply_high(steps, ln2_over_64[2])};
  const Wide r = negative ? shift - x : x - shift;
  Wide sum{reciprocal_factorial[14][0], reciprocal_factorial[14][1]};
  for (int n = 13; n >= 2; --n)
    sum = Wide{reciprocal_factorial[n][0], reciprocal_factorial[n][1]} +
          (bits::multiply_high(r, sum) >> 6);
  const Wide e_to_r_minus_1 = r + (bits::multiply_high(r, bits::multiply_high(r, sum)) >> 6);
  const Wide base{power_of_two[k & 63][0], power_of_two[k & 63][1]};
  const Wide significand = (base >> 1) + (bits::multiply_high(base, e_to_r_minus_1) >> 7);

  // significand·2^(e - 126), e = k/64, to be rounded to 53 bits, or fewer where the result is
  // subnormal. Between half the smallest subnormal number and that number no bits are left to keep:
  // dropping 127 rounds up to it, also where the significand, just above 2, would need 128.
  const int carry = static_cast<int>(significand.high >> 63);
  const int result_exponent = (k >> 6) + carry;
  const int lost = result_exponent < -1022 ? -1022 - result_exponent : 0;
  const int drop = lost < 53 ? 74 + carry + lost : 127;
  const uint64_t rounded = ((significand + (Wide{0, 1} << (drop - 1))) >> drop).low;
  return bits::bit_cast<double>(
      lost > 0 ? rounded : rounded + (static_cast<uint64_t>(result_exponent + 1022) << 52));
}

// e^x rounded to the nearest double, for every double x whose e^x is further than 2^-122 of itself
// from the middle between two doubles, which holds for all that are known. Subnormal results, zero
// and infinity are included; a NaN gives a quiet NaN.
//
// Integer arithmetic, so that neither contraction nor rounding modes matter. k = floor(64·x/ln 2)
// is the one floating-point expression; it is 2^-17 low on purpose, so that r = x - k·ln(2)/64 is
// never negative: 0 <= r < ln(2)/64·(1 + 2^-16), and the result is 2^(k/64)·e^r. r has 70 bits
// behind the point. The computed significand, in units of 2^-63, is at most 2.2 too small (1 from
// the table, 1 from the last product, 0.2 from e^r) and at most 0.2 too large (from e^r). Where the
// middle between two doubles may lie within, once in 400 arguments, 128 bits decide.
constexpr double exp(double x) noexcept {
  using namespace exp_tables;
  using bits::multiply_high;
  constexpr double lowest = -0x1.74910d52d3051p+9;  // below it, e^x <= 2^-1075: zero
  constexpr double highest = 0x1.62e42fefa39efp+9;  // above it, e^x >= 2^1024 - 2^970: infinity
  constexpr double smallest_normal = -0x1.6232bdd7abcd2p+9;  // below it, e^x < 2^-1022: subnormal
  if (x != x) return bits::quiet(x);
  if (x > highest) return bits::infinity<double>;
  if (x < lowest) return 0;
  const uint64_t word = bits::bit_cast<uint64_t>(x);
  const int exponent = static_cast<int>(word >> 52 & 0x7ff) - 1075;
  if (exponent < -54 - 52) return 1;  // |x| < 2^-54: closer to 1 than half a unit below it
  const uint64_t magnitude = (word & 0xfffffffffffffu) | 0x10000000000000u;
  const bool negative = word >> 63;
  const int k = static_cast<int>(x * log2_e_times_64 - 0x1p-17) - negative;
  const uint64_t steps = static_cast<uint64_t>(k < 0 ? -k : k);
  uint64_t fixed = 0;
  if (exponent >= -70) [[likely]]  // else clang does both shifts, at the cost of all the rest
    fixed = magnitude << (exponent + 70);
  else
    fixed = magnitude >> (-70 - exponent);
  const uint64_t shift = steps * ln2_over_64[0] + multiply_high(steps, ln2_over_64[1]);
  const uint64_t r = negative ? shift - fixed : fixed - shift;
  const uint64_t p3 = square[3] + (multiply_high(r, square[4]) >> 6);
  const uint64_t p2 = square[2] + (multiply_high(r, p3) >> 6);
  const uint64_t p1 = square[1] + (multiply_high(r, p2) >> 6);
  const uint64_t p0 = square[0] + (multiply_high(r, p1) >> 6);
  const uint64_t e_to_r_minus_1 = r + (multiply_high(r, multiply_high(r, p0)) >> 6);
  const uint64_t base = power_of_two[k & 63][0];
  const uint64_t significand = base + (multiply_high(base, e_to_r_minus_1) >> 6);
  if (significand >> 63 == 0 || 1024 - (significand & 2047) < 5 || x < smallest_normal)
    return exp_in_128_bits(negative, magnitude, exponent, k);
  return bits::bit_cast<double>((significand >> 11) + (significand >> 10 & 1) +
                                (static_cast<uint64_t>((k >> 6) + 1022) << 52));
}

}  // namespace attest
