// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// e^x rounded to nearest, ties to even, the same bits at compile time and at run time.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <attest/bits.hpp>
#include <attest/contraction.hpp>
#include <attest/exp_in_vectors.hpp>
#include <attest/exp_tables.hpp>

namespace attest {

// e^r - 1 - r - r^2/2 for ln(3/4) <= r <= ln(3/2), given r^2.
constexpr double cubic_term(double r, double r2) noexcept {
  using namespace exp_tables;
  return r * r2 *
         (cubic[0] + r * cubic[1] +
          r2 * (cubic[2] + r * cubic[3] +
                r2 * (cubic[4] + r * cubic[5] +
                      r2 * (cubic[6] + r * cubic[7] + r2 * (cubic[8] + r * cubic[9])))));
}

// e^x for the value -104 <= x <= 89 of a float, within 1.24·2^-53 of itself however a compiler
// contracts.
//
// With k = floor(x/ln 2 + 0.415) and r = x - k·ln 2, the result is 2^k·e^r and ln(3/4) <= r <=
// ln(3/2), up to 2^-45. x - k·ln2_high is exact: both terms are multiples of 2^-44 whenever k is
// not 0, and they differ by less than 1/2. Every other operation rounds; in units of 2^-53,
// absolute, that costs at most
//   r, through r^2/2                                   0.11
//   r^2/2, the cubic term, and the sum of the two      0.14
//   e^r - 1, which lies in [-1/4, 1/2]                 0.25, or 0.125 if below 1/4 in magnitude
//   e^r, which lies in [3/4, 3/2]                      1, or 0.5 below 1
// A fused multiply-add only leaves out one of the roundings. Relative to e^r their sum is at most
// 1.231 anywhere in the interval, which Gappa proves (proofs/gappa/near_exp.g); the polynomial
// itself errs by 2^-60.3.
constexpr double near_exp(double x) noexcept {
  using namespace exp_tables;
  const int k = static_cast<int>(x * log2_e + (256 + up)) - 256;
  const double r_high = x - k * ln2_high;
  const double r = r_high - k * ln2_low;
  return __builtin_bit_cast(double, static_cast<uint64_t>(static_cast<uint32_t>(k + 1023)) << 52) *
         (1 + (r_high + (0.5 * (r * r) + (cubic_term(r, r * r) - k * ln2_low))));
}

// e^x rounded to the nearest float, for every float x: slowly, for those that exp has doubts about.
// No float has an e^x within 1.27·2^-53 of itself of the middle between two floats (the closest is
// x = -0x1.d2259ap+3, 2^-52.645 away), so near_exp rounds to the right float.
[[gnu::cold, gnu::noinline]] constexpr float exp_in_doubt(float x) noexcept {
  if (x != x) return bits::quiet(x);
  if (x > 0x1.62e42ep+6f) return bits::infinity<float>;  // e^x > 2^128 - 2^103
  if (x < -0x1.9fe368p+6f) return 0;                     // e^x < 2^-150
  return static_cast<float>(near_exp(static_cast<double>(x)));
}

// 2^x for the value -150 <= x <= 128 of a float, within 1.27·2^-53 of itself however a compiler
// contracts.
//
// k = floor(x + 0.415) and r = x - k are exact; log2(3/4) <= r <= log2(3/2), and r·ln2_short, of
// 25 and 28 bits, is exact as well. Rounding costs at most, in units of 2^-53, absolute,
//   r^2·q(r), which is below 0.095, and the sum with r·ln2_rest   0.36
//   2^r - 1, which lies in [-1/4, 1/2]                            0.25, or 0.125 if below 1/4
//   2^r, which lies in [3/4, 3/2]                                 1, or 0.5 below 1
// and relative to 2^r at most 1.243, which Gappa proves (proofs/gappa/near_exp2.g); the polynomial
// itself errs by 2^-58.5.
constexpr double near_exp2(double x) noexcept {
  using namespace exp_tables;
  const int k = static_cast<int>(x + (256 + up)) - 256;
  const double r = x - k;
  const double r2 = r * r;
  const double quadratic_term =
      r2 * (quadratic[0] + r * quadratic[1] +
            r2 * (quadratic[2] + r * quadratic[3] +
                  r2 * (quadratic[4] + r * quadratic[5] +
                        r2 * (quadratic[6] + r * quadratic[7] +
                              r2 * (quadratic[8] + r * quadratic[9] + r2 * quadratic[10])))));
  return __builtin_bit_cast(double, static_cast<uint64_t>(static_cast<uint32_t>(k + 1023)) << 52) *
         (1 + (r * ln2_short + (quadratic_term + r * ln2_rest)));
}

// 2^x rounded to the nearest float, in the same way. Five floats have a 2^x within 2^-52.7 of
// itself of the middle between two floats (down to 2^-58.9; the sixth is 2^-51.6 away): each gives
// way to its neighbour on the right side of the middle, whose result is the same float.
[[gnu::cold, gnu::noinline]] constexpr float exp2_in_doubt(float x) noexcept {
  if (x != x) return bits::quiet(x);
  if (x >= 128) return bits::infinity<float>;
  if (x <= -150) return 0;  // 2^-150 is the middle between 0 and the smallest number: to even
  const uint32_t asked = __builtin_bit_cast(uint32_t, x);
  const uint32_t word = asked + (asked == 0x3b429d37) + (asked == 0xb52d1f9a) +
                        (asked == 0xb8d3d026) - (asked == 0xbaec2b40) - (asked == 0xbcf3a937);
  return static_cast<float>(near_exp2(static_cast<double>(__builtin_bit_cast(float, word))));
}

// The bits of 2^z, z = x·factor, for -152 <= z <= 128, within 2^-38 of itself however a compiler
// contracts: all a float needs, but for one in 8,000.
//
// k, an integer within 0.50001 of z, ends the bits of z + to_integer, of which the last is worth 1.
// f = z - k is exact but for the rounding of z. The polynomial of 2^f errs by less than 2^-38.7,
// its rounding by less than 2^-51, which Gappa proves (proofs/gappa/rough_exp2.g), and where the
// factor stands for log2(e), the rounding of the two by less than 2^-45.
constexpr uint64_t rough_exp2(double x, double factor = 1) noexcept {
  ATTEST_MULTIPLICATIONS_MAY_FUSE
  using namespace exp_tables;
  constexpr double to_integer = 0x1.8p+52;
  const double shifted = ATTEST_MULTIPLY_ADD(x, factor, to_integer);
  const double f = ATTEST_MULTIPLY_ADD(x, factor, to_integer - shifted);
  const double f2 = f * f;
  return __builtin_bit_cast(
             uint64_t, ATTEST_MULTIPLY_ADD(
                           f2,
                           ATTEST_MULTIPLY_ADD(
                               f2,
                               ATTEST_MULTIPLY_ADD(
                                   f2,
                                   ATTEST_MULTIPLY_ADD(f2, rough[7],
                                                       ATTEST_MULTIPLY_ADD(f, rough[6], rough[5])),
                                   ATTEST_MULTIPLY_ADD(f, rough[4], rough[3])),
                               ATTEST_MULTIPLY_ADD(f, rough[2], rough[1])),
                           ATTEST_MULTIPLY_ADD(f, rough[0], 1))) +
         (__builtin_bit_cast(uint64_t, shifted) << 52);
}

// A double within 2^-38 of the exact value rounds to the right float unless the middle between two
// floats lies as near, which the 29 bits that a float cuts off tell: they are then within 2^15 of
// 2^28. This is their distance from a little more than that below the middle, times 8; in doubt are
// those below `doubtful`.
//
// The bound does for subnormal results as well: `doubtful` is a quarter of the number of floats
// from the first with a subnormal result, -0x1.5d58ap+6, to -104, whose result is zero.
inline constexpr uint32_t first_subnormal = 0xc2aeac50;  // the bits of that float
inline constexpr uint32_t doubtful = (0xc2d00000 - first_subnormal) / 4;
static_assert(doubtful >= 2 * 8 * (1 << 15));
constexpr uint32_t from_middle(uint64_t word) noexcept {
  return (static_cast<uint32_t>(word) << 3) - (0x80000000 - doubtful / 2);
}

// e^x rounded to the nearest float, for every float x, subnormal results, zero and infinity
// included. A NaN gives the same NaN, quiet.
//
// __builtin_bit_cast is what std::bit_cast calls: written out, it saves a third of clang's steps.
constexpr float exp(float x) noexcept {
  if ((__builtin_bit_cast(uint32_t, x) & 0x7fffffff) >= (first_subnormal & 0x7fffffff)) [[unlikely]]
    return exp_in_doubt(x);
  const uint64_t word = rough_exp2(static_cast<double>(x), exp_tables::log2_e);
  if (from_middle(word) < doubtful) [[unlikely]]
    return exp_in_doubt(x);
  return static_cast<float>(__builtin_bit_cast(double, word));
}

// 2^x rounded to the nearest float, in the same way.
constexpr float exp2(float x) noexcept {
  constexpr uint32_t highest = 0x42fc0000;  // the bits of 126: 2^-126 is the smallest normal number
  if ((__builtin_bit_cast(uint32_t, x) & 0x7fffffff) > highest) [[unlikely]]
    return exp2_in_doubt(x);
  const uint64_t word = rough_exp2(static_cast<double>(x));
  if (from_middle(word) < doubtful) [[unlikely]]
    return exp2_in_doubt(x);
  return static_cast<float>(__builtin_bit_cast(double, word));
}

// e^(x_j - largest) of each of N numbers not above `largest`, in place: the floats that exp gives,
// side by side, so that a compiler can make vectors of them. Where one of them is in doubt all are
// computed again one by one, which happens to one of 250 rows of 32; where some results are
// subnormal, always. Some processors need doubles only for the rows that exp_in_vectors leaves.
template <size_t N>
constexpr void exp_side_by_side(float* x, float largest) noexcept {
  if constexpr (width_of_exp<N>() != 0)
    if (!__builtin_is_constant_evaluated() && exp_in_vectors<N>(x, largest)) return;
  // Below -104, e^x rounds to zero. It is no constant, for of a constant GCC 12 makes no maximum.
  const float lowest = -104 + 0 * largest;
  float difference[N];
  for (size_t j = 0; j < N; ++j) difference[j] = x[j] - largest < lowest ? lowest : x[j] - largest;
  uint32_t closest = 0xffffffff;
#pragma GCC unroll 1
  for (size_t j = 0; j < N; ++j) {
    const uint32_t beyond = (__builtin_bit_cast(uint32_t, difference[j]) - first_subnormal) / 4;
    closest = beyond < closest ? beyond : closest;
    const uint64_t word = rough_exp2(static_cast<double>(difference[j]), exp_tables::log2_e);
    closest = from_middle(word) < closest ? from_middle(word) : closest;
    x[j] = static_cast<float>(__builtin_bit_cast(double, word));
  }
  if (closest < doubtful) [[unlikely]]
    for (size_t j = 0; j < N; ++j) x[j] = exp(difference[j]);
}

// The significand of 2^(k/64)·e^r for 0 <= r < 0.0109, given with 134 bits behind the point:
// 1 <= significand·2^-126 < 2, or just above 2. What is cut off, together with the series after its
// term in r^14, is below 2^-122 of the result.
constexpr bits::Wide wide_exp_significand(bits::Wide r, int k) noexcept {
  using namespace exp_tables;
  using bits::multiply_high;
  using bits::Wide;
  Wide sum{reciprocal_factorial[14][0], reciprocal_factorial[14][1]};
  for (int n = 13; n >= 2; --n)
    sum =
        Wide{reciprocal_factorial[n][0], reciprocal_factorial[n][1]} + (multiply_high(r, sum) >> 6);
  const Wide e_to_r_minus_1 = r + (multiply_high(r, multiply_high(r, sum)) >> 6);
  const Wide base{power_of_two[k & 63][0], power_of_two[k & 63][1]};
  return (base >> 1) + (multiply_high(base, e_to_r_minus_1) >> 7);
}

// 2^(k/64)·e^r for such an r and k, rounded to nearest.
[[gnu::cold, gnu::noinline]] constexpr double scaled_exp(bits::Wide r, int k) noexcept {
  using bits::Wide;
  const Wide significand = wide_exp_significand(r, k);

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

// The significand of 2^(k/64)·e^r for 0 <= r < ln(2)/64·(1 + 2^-16), given with 70 bits behind the
// point: 1 <= significand·2^-63 < 2, or just above 2 and then 2^64 is missing. In units of 2^-63 it
// is at most 2.2 too small (1 from the table, 1 from the last product, 0.2 from e^r, where r may be
// 2^-69 too small) and at most 0.2 too large (from e^r, where r may be 2^-69 too large).
constexpr uint64_t exp_significand(uint64_t r, int k) noexcept {
  using namespace exp_tables;
  using bits::multiply_high;
  const uint64_t p3 = square[3] + (multiply_high(r, square[4]) >> 6);
  const uint64_t p2 = square[2] + (multiply_high(r, p3) >> 6);
  const uint64_t p1 = square[1] + (multiply_high(r, p2) >> 6);
  const uint64_t p0 = square[0] + (multiply_high(r, p1) >> 6);
  const uint64_t e_to_r_minus_1 = r + (multiply_high(r, multiply_high(r, p0)) >> 6);
  const uint64_t base = power_of_two[k & 63][0];
  return base + (multiply_high(base, e_to_r_minus_1) >> 6);
}

// Whether such a significand does not say where to round: 2^64 is missing, or the middle between
// two doubles may lie between the computed and the exact one, which happens once in 400 arguments.
constexpr bool is_undecided(uint64_t significand) noexcept {
  return significand >> 63 == 0 || 1024 - (significand & 2047) < 5;
}

// significand·2^(e - 63), e = k/64, rounded to a normal double.
constexpr double assembled(uint64_t significand, int k) noexcept {
  return bits::bit_cast<double>((significand >> 11) + (significand >> 10 & 1) +
                                (static_cast<uint64_t>((k >> 6) + 1022) << 52));
}

// ±magnitude·2^(exponent + 70), |x| < 2^10, truncated and modulo 2^64, for the magnitude of 53 bits
// of a double x not below 2^-54; and the same exactly, times 2^64, modulo 2^128.
constexpr uint64_t fixed_point(bool negative, uint64_t magnitude, int exponent) noexcept {
  uint64_t fixed = 0;
  if (exponent >= -70) [[likely]]  // else clang does both shifts, at the cost of all the rest
    fixed = magnitude << (exponent + 70);
  else
    fixed = magnitude >> (-70 - exponent);
  return negative ? 0 - fixed : fixed;
}
constexpr bits::Wide wide_fixed_point(bool negative, uint64_t magnitude, int exponent) noexcept {
  const bits::Wide fixed = bits::Wide{0, magnitude} << (exponent + 134);
  return negative ? bits::Wide{0, 0} - fixed : fixed;
}

// k·ln(2)/64 with 70 and with 134 bits behind the point, modulo 2^64 and 2^128. k has 17 bits.
constexpr uint64_t steps_of_ln2(int k) noexcept {
  using namespace exp_tables;
  const uint64_t steps = static_cast<uint64_t>(k < 0 ? -k : k);
  const uint64_t product = steps * ln2_over_64[0] + bits::multiply_high(steps, ln2_over_64[1]);
  return k < 0 ? 0 - product : product;
}
constexpr bits::Wide wide_steps_of_ln2(int k) noexcept {
  using namespace exp_tables;
  using bits::Wide;
  const uint64_t steps = static_cast<uint64_t>(k < 0 ? -k : k);
  const Wide product = bits::multiply(steps, ln2_over_64[1]) + Wide{steps * ln2_over_64[0], 0} +
                       Wide{0, bits::multiply_high(steps, ln2_over_64[2])};
  return k < 0 ? Wide{0, 0} - product : product;
}

// e^x rounded to the nearest double, for every double x whose e^x is further than 2^-122 of itself
// from the middle between two doubles, which holds for all that are known: none comes closer than
// 2^-113. Subnormal results, zero and infinity are included; a NaN gives a quiet NaN.
//
// Integer arithmetic, so that neither contraction nor rounding modes matter. k = floor(64·x/ln 2)
// is the one floating-point expression; it is 2^-17 low on purpose, so that r = x - k·ln(2)/64 is
// never negative: 0 <= r < ln(2)/64·(1 + 2^-16), and the result is 2^(k/64)·e^r.
constexpr double exp(double x) noexcept {
  constexpr double lowest = -0x1.74910d52d3051p+9;  // below it, e^x <= 2^-1075: zero
  constexpr double highest = 0x1.62e42fefa39efp+9;  // above it, e^x >= 2^1024 - 2^970: infinity
  constexpr double smallest_normal = -0x1.6232bdd7abcd2p+9;  // below it, e^x < 2^-1022: subnormal
  if (x != x) return bits::quiet(x);
  if (x > highest) return bits::infinity<double>;
  if (x < lowest) return 0;
  const uint64_t word = bits::bit_cast<uint64_t>(x);
  const int exponent = static_cast<int>(word >> 52 & 0x7ff) - 1075;
  if (exponent < -54 - 52) return 1;  // |x| < 2^-54: closer to 1 than half a unit below it
  const uint64_t magnitude = (word & 0xfffffffffffff) | 0x10000000000000;
  const bool negative = word >> 63;
  const int k = static_cast<int>(x * exp_tables::log2_e_times_64 - 0x1p-17) - negative;
  const uint64_t significand =
      exp_significand(fixed_point(negative, magnitude, exponent) - steps_of_ln2(k), k);
  return is_undecided(significand) || x < smallest_normal
             ? scaled_exp(wide_fixed_point(negative, magnitude, exponent) - wide_steps_of_ln2(k), k)
             : assembled(significand, k);
}

// 2^x rounded to the nearest double, in the same way; exact for integers x. k = floor(64·x) is
// exact, and r = (x - k/64)·ln 2 is rounded once.
constexpr double exp2(double x) noexcept {
  using namespace exp_tables;
  if (x != x) return bits::quiet(x);
  if (x >= 1024) return bits::infinity<double>;
  if (x <= -1075) return 0;  // 2^-1075 is the middle between 0 and the smallest number: to even
  const uint64_t word = bits::bit_cast<uint64_t>(x);
  const int exponent = static_cast<int>(word >> 52 & 0x7ff) - 1075;
  if (exponent < -54 - 52) return 1;
  const uint64_t magnitude = (word & 0xfffffffffffff) | 0x10000000000000;
  const bool negative = word >> 63;
  const uint64_t fraction = fixed_point(negative, magnitude, exponent);  // of 64·x, times 2^64
  const int k = static_cast<int>(x * 64) - (negative && fraction != 0);
  const uint64_t significand = exp_significand(bits::multiply_high(fraction, ln2_over_64[0]), k);
  return is_undecided(significand) || x < -1022
             ? scaled_exp(bits::multiply_high(wide_fixed_point(negative, magnitude, exponent),
                                              {ln2_over_64[0], ln2_over_64[1]}),
                          k)
             : assembled(significand, k);
}

}  // namespace attest
