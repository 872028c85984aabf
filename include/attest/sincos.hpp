// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// sin x and cos x rounded to nearest, for arguments of any size, the same bits at compile time and
// at run time: the angles of positions.
#pragma once
#include <stdint.h>

#include <attest/bits.hpp>
#include <attest/sincos_tables.hpp>

namespace attest {

// x = quadrant·π/2 ± significand·2^exponent + a multiple of 2π, the second term at most π/4.
struct Angle {
  int quadrant;
  bool negative;
  bits::Wide significand;
  int exponent;
};

// The angle x = magnitude·2^exponent >= 1/2, magnitude a number of 53 bits. Of the bits of 2/π
// those that make multiples of 4 with x are left out, and so are those after the next 256, which
// leaves x·2/π modulo 4 with an error below 2^-200. No double comes closer than 2^-61 to a multiple
// of π/2 other than 0, so that this is 2^-138 of what remains, and its first word is never 0;
// rounding to 128 bits and the product with π/2 cost less than 2^-124.
constexpr Angle reduced(uint64_t magnitude, int exponent) noexcept {
  using namespace sincos_tables;
  using bits::Wide;
  const int start = exponent - 2 + 64;  // the first bit wanted, from the front of the table
  uint64_t turns[4]{};                  // x/2π modulo 1, the highest word first
  uint64_t carry = 0;
  for (int i = 3; i >= 0; --i) {
    const Wide two_words{two_over_pi[start / 64 + i], two_over_pi[start / 64 + i + 1]};
    const Wide product = bits::multiply((two_words << start % 64).high, magnitude) + Wide{0, carry};
    turns[i] = product.low;
    carry = product.high;
  }
  // The nearest quadrant: from the middle on the next one, with what is missing to it.
  const bool negative = (turns[0] >> 61 & 1) != 0;
  const int quadrant = static_cast<int>(turns[0] >> 62) + negative;
  for (uint64_t& word : turns) word = negative ? ~word : word;
  turns[0] &= 0x3fffffffffffffff;
  const int zeros = bits::leading_zeros(turns[0]);
  const Wide fraction{(Wide{turns[0], turns[1]} << zeros).high,
                      (Wide{turns[1], turns[2]} << zeros).high};
  return {quadrant, negative, bits::multiply_high(fraction, {half_pi[0], half_pi[1]}),
          -125 - zeros};
}

// (-1)^0·c(n) - c(n + 2)·z + c(n + 4)·z^2 - ..., c(n) = 1/n!, for z <= 0.617 with 128 bits behind
// the point: cos √z for n = 0, sin(√z)/√z for n = 1. The result has 127 bits behind the point and
// is off by less than 2^-62 or, with 128 bits, 2^-124 (proofs/gappa/sincos.g); the terms left out
// are below 2^-77 or 2^-139.
template <int precision>
constexpr bits::Wide alternating_series(int n, bits::Wide z) noexcept {
  using bits::Wide;
  using sincos_tables::one_over_factorial;
  if constexpr (precision == 64) {
    uint64_t sum = one_over_factorial[n + 20][0];
    for (int i = n + 18; i >= n; i -= 2)
      sum = one_over_factorial[i][0] - bits::multiply_high(z.high, sum);
    return {sum, 0};
  } else {
    Wide sum{one_over_factorial[n + 32][0], one_over_factorial[n + 32][1]};
    for (int i = n + 30; i >= n; i -= 2)
      sum = Wide{one_over_factorial[i][0], one_over_factorial[i][1]} - bits::multiply_high(z, sum);
    return sum;
  }
}

// sin(x + quarters·π/2) for a finite |x| >= 2^-27.
template <class T>
constexpr T shifted_sin(double x, int quarters) noexcept {
  using bits::Wide;
  const uint64_t word = bits::bit_cast<uint64_t>(x);
  const int exponent = static_cast<int>(word >> 52 & 0x7ff) - 1075;
  const uint64_t magnitude = (word & 0xfffffffffffff) | 0x10000000000000;
  const Angle angle = exponent < -53 ? Angle{0, false, Wide{magnitude << 11, 0}, exponent - 75}
                                     : reduced(magnitude, exponent);
  const bool x_negative = word >> 63;
  const int quadrant = (x_negative ? -angle.quadrant : angle.quadrant) + quarters;
  const Wide square = bits::multiply_high(angle.significand, angle.significand);
  const int shift = -(2 * angle.exponent + 256);
  const Wide z = shift < 128 ? square >> shift : Wide{0, 0};
  constexpr int precision = sizeof(T) == 4 ? 64 : 128;
  const bool half_turn = (quadrant & 2) != 0;
  if (quadrant & 1) return bits::rounded<T>(half_turn, alternating_series<precision>(0, z), -127);
  return bits::rounded<T>(
      half_turn != (angle.negative != x_negative),
      bits::multiply_high(angle.significand, alternating_series<precision>(1, z)),
      angle.exponent + 1);
}

// sin x and cos x rounded to the nearest float, for every float x, and to the nearest double, for
// every double x whose result is further than 2^-122 of itself from the middle between two doubles.
// For an infinite x and for a NaN the result is a quiet NaN. Integer arithmetic: neither
// contraction nor rounding modes matter. proofs/gappa/sincos.g adds up what each step loses.
template <class T>
constexpr T sin_of(T x) noexcept {
  constexpr T small = static_cast<T>(0x1p-27);
  if (x != x) return bits::quiet(x);
  if (x == bits::infinity<T> || x == -bits::infinity<T>) return bits::quiet_nan<T>;
  if (-small < x && x < small) return x;  // x^3/6 is less than half a unit
  return shifted_sin<T>(static_cast<double>(x), 0);
}
template <class T>
constexpr T cos_of(T x) noexcept {
  constexpr T small = static_cast<T>(0x1p-27);
  if (x != x) return bits::quiet(x);
  if (x == bits::infinity<T> || x == -bits::infinity<T>) return bits::quiet_nan<T>;
  if (-small < x && x < small) return 1;  // x^2/2 is less than half a unit
  return shifted_sin<T>(static_cast<double>(x), 1);
}
constexpr float sin(float x) noexcept {
  return sin_of(x);
}
constexpr double sin(double x) noexcept {
  return sin_of(x);
}
constexpr float cos(float x) noexcept {
  return cos_of(x);
}
constexpr double cos(double x) noexcept {
  return cos_of(x);
}

}  // namespace attest
