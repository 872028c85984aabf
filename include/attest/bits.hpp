// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The bits of floating-point numbers, and unsigned integers of 128 bits for results that must be
// rounded once.
#pragma once
#include <stdint.h>

#include <attest/ieee.hpp>

namespace attest::bits {

// std::bit_cast, which bare tool chains have no <bit> for.
template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

template <class T>
inline constexpr T infinity{};
template <>
inline constexpr float infinity<float> = bit_cast<float>(0x7f800000u);
template <>
inline constexpr double infinity<double> = bit_cast<double>(uint64_t{0x7ff0000000000000u});

// The integer that holds the bits of a float or a double.
template <class T>
struct WordOf;
template <>
struct WordOf<float> {
  using type = uint32_t;
};
template <>
struct WordOf<double> {
  using type = uint64_t;
};
template <class T>
using Word = typename WordOf<T>::type;

// The quiet NaN without sign or payload, and any NaN made quiet.
template <class T>
inline constexpr T quiet_nan = bit_cast<T>(static_cast<Word<T>>(bit_cast<Word<T>>(infinity<T>) |
                                                                Word<T>{1}
                                                                    << (sizeof(T) == 4 ? 22 : 51)));
template <class T>
constexpr T quiet(T nan) noexcept {
  return bit_cast<T>(
      static_cast<Word<T>>(bit_cast<Word<T>>(nan) | bit_cast<Word<T>>(quiet_nan<T>)));
}

// high·2^64 + low. Arithmetic is modulo 2^128.
struct Wide {
  uint64_t high;
  uint64_t low;

  friend constexpr Wide operator+(Wide a, Wide b) noexcept {
    return {a.high + b.high + (a.low + b.low < a.low), a.low + b.low};
  }
  friend constexpr Wide operator-(Wide a, Wide b) noexcept {
    return {a.high - b.high - (a.low < b.low), a.low - b.low};
  }
  // Shifts by 0 <= n <= 127.
  friend constexpr Wide operator>>(Wide a, int n) noexcept {
    return n == 0   ? a
           : n < 64 ? Wide{a.high >> n, (a.low >> n) | (a.high << (64 - n))}
                    : Wide{0, a.high >> (n - 64)};
  }
  friend constexpr Wide operator<<(Wide a, int n) noexcept {
    return n == 0   ? a
           : n < 64 ? Wide{(a.high << n) | (a.low >> (64 - n)), a.low << n}
                    : Wide{a.low << (n - 64), 0};
  }
  friend constexpr bool operator==(Wide a, Wide b) noexcept = default;
};

// The whole product of two words, and its upper word.
#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 uint128;
constexpr Wide multiply(uint64_t a, uint64_t b) noexcept {
  return {static_cast<uint64_t>((static_cast<uint128>(a) * b) >> 64), a * b};
}
constexpr uint64_t multiply_high(uint64_t a, uint64_t b) noexcept {
  return static_cast<uint64_t>((static_cast<uint128>(a) * b) >> 64);
}
#else
constexpr uint64_t multiply_high(uint64_t a, uint64_t b) noexcept {
  const uint64_t a0 = static_cast<uint32_t>(a), a1 = a >> 32;
  const uint64_t b0 = static_cast<uint32_t>(b), b1 = b >> 32;
  const uint64_t middle = a1 * b0 + ((a0 * b0) >> 32);
  return a1 * b1 + (middle >> 32) + ((static_cast<uint32_t>(middle) + a0 * b1) >> 32);
}
constexpr Wide multiply(uint64_t a, uint64_t b) noexcept {
  return {multiply_high(a, b), a * b};
}
#endif

// floor(a·b / 2^128), or up to 3 less: the product of the low words and two carries are left out.
constexpr Wide multiply_high(Wide a, Wide b) noexcept {
  return multiply(a.high, b.high) + Wide{0, multiply_high(a.high, b.low)} +
         Wide{0, multiply_high(a.low, b.high)};
}

// How many bits above the highest set one; 63 for 0.
constexpr int leading_zeros(uint64_t word) noexcept {
  int zeros = 0;
  for (int step = 32; step > 0; step /= 2)
    if (word >> (64 - step) == 0) {
      word <<= step;
      zeros += step;
    }
  return zeros;
}

// ±significand·2^exponent rounded to nearest, for a result in the normal range and a significand
// that is not 0. Where the bits cut off are exactly one half the result is rounded up: an
// approximation this close to the middle has decided nothing, and an exact result never has so many
// bits.
template <class T>
constexpr T rounded(bool negative, Wide significand, int exponent) noexcept {
  constexpr int digits = sizeof(T) == 4 ? 24 : 53;
  constexpr int bias = sizeof(T) == 4 ? 127 : 1023;
  const int zeros =
      significand.high != 0 ? leading_zeros(significand.high) : 64 + leading_zeros(significand.low);
  const uint64_t top = (significand << zeros).high;
  const uint64_t kept = (top >> (64 - digits)) + (top >> (63 - digits) & 1);
  const uint64_t biased = static_cast<uint64_t>(127 - zeros + exponent + bias - 1);
  const uint64_t sign = negative ? 1 : 0;
  return bit_cast<T>(
      static_cast<Word<T>>((sign << (sizeof(T) * 8 - 1)) + (biased << (digits - 1)) + kept));
}

}  // namespace attest::bits
