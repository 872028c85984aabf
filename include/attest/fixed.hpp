// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// fixed<Storage, F>: fixed-point numbers of 8, 16 or 32 bits, F of them behind the point (Q
// formats), that saturate instead of overflowing.
#pragma once
#include <stdint.h>

#include <attest/bits.hpp>
#include <attest/exp.hpp>
#include <attest/log.hpp>
#include <attest/sqrt.hpp>
#include <attest/tanh.hpp>

namespace attest {

// The integer that holds sums and products of two words.
template <class Storage>
struct TwiceAsWide;
template <>
struct TwiceAsWide<int8_t> {
  using type = int32_t;
};
template <>
struct TwiceAsWide<int16_t> {
  using type = int32_t;
};
template <>
struct TwiceAsWide<int32_t> {
  using type = int64_t;
};

template <class Storage>
concept holds_a_fixed_point_number = requires {
  typename TwiceAsWide<Storage>::type;
};

// value / 2^n rounded to nearest, ties to even, for 0 <= n < the width of the integer. (Ties go
// away from zero in gemmlowp and TensorFlow Lite, up in Arm's rounding shifts: sums of many such
// quotients drift. Ties to even do not, and are what the floating-point formats do.)
template <class Integer>
constexpr Integer rounding_shift(Integer value, int n) noexcept {
  if (n == 0) return value;
  const Integer below = value >> n;
  const Integer rest = value - below * (Integer{1} << n), half = Integer{1} << (n - 1);
  return below + (rest > half || (rest == half && (below & 1) != 0));
}

// The number word / 2^F, from -2^(W-1-F) to (2^(W-1) - 1)/2^F with W the bits of the storage.
//
// Every operation is the exact result rounded to nearest, ties to even, and then the nearest number
// of the range; so are conversions, of infinities too, and a NaN becomes 0. + and − are exact but
// for saturation, x/0 saturates by the sign of x, and 0/0 is 0. Integers only, and none overflows.
// The only floating-point operations are an integer's conversion and its product with a power of
// two, where a number leaves as float or double.
template <holds_a_fixed_point_number Storage, int F>
requires(F >= 0 && F < int{sizeof(Storage)} * 8) struct fixed {
  using word_type = Storage;
  using wide_type = typename TwiceAsWide<Storage>::type;
  static constexpr int fraction_bits = F;

  Storage word{};

  constexpr fixed() = default;
  explicit constexpr fixed(float x) noexcept : fixed(nearest<24>(bits::bit_cast<uint32_t>(x))) {}
  explicit constexpr fixed(double x) noexcept : fixed(nearest<53>(bits::bit_cast<uint64_t>(x))) {}
  explicit constexpr fixed(int i) noexcept : fixed(from_wide(int64_t{i} * (int64_t{1} << F))) {}
  template <class Storage2, int F2>
  explicit constexpr fixed(fixed<Storage2, F2> x) noexcept
      : fixed(F2 > F ? from_wide(rounding_shift(int64_t{x.word}, F2 > F ? F2 - F : 0))
                     : from_wide(int64_t{x.word} * (int64_t{1} << (F2 > F ? 0 : F - F2)))) {}

  static constexpr fixed from_word(Storage word) noexcept {
    fixed x;
    x.word = word;
    return x;
  }
  static constexpr fixed largest() noexcept { return from_word(highest); }
  static constexpr fixed lowest() noexcept { return from_word(-highest - 1); }

  // Exact, except that 32 bits are rounded to the 24 of a float.
  explicit constexpr operator float() const noexcept {
    return static_cast<float>(word) * (1.0f / static_cast<float>(int64_t{1} << F));
  }
  explicit constexpr operator double() const noexcept {
    return word * (1.0 / static_cast<double>(int64_t{1} << F));
  }

  friend constexpr fixed operator+(fixed a, fixed b) noexcept {
    return from_wide(wide_type{a.word} + b.word);
  }
  friend constexpr fixed operator-(fixed a, fixed b) noexcept {
    return from_wide(wide_type{a.word} - b.word);
  }
  friend constexpr fixed operator*(fixed a, fixed b) noexcept {
    return from_wide(rounding_shift(wide_type{a.word} * b.word, F));
  }
  friend constexpr fixed operator/(fixed a, fixed b) noexcept {
    if (b.word == 0) return a.word > 0 ? largest() : a.word < 0 ? lowest() : fixed{};
    const bool negative = (a.word < 0) != (b.word < 0);
    const uint64_t numerator = static_cast<uint64_t>(a.word < 0 ? -int64_t{a.word} : a.word) << F;
    const uint64_t divisor = static_cast<uint64_t>(b.word < 0 ? -int64_t{b.word} : b.word);
    const uint64_t below = numerator / divisor, rest = numerator % divisor;
    const bool up = rest > divisor - rest || (rest == divisor - rest && (below & 1) != 0);
    const int64_t magnitude = static_cast<int64_t>(below + up);
    return from_wide(negative ? -magnitude : magnitude);
  }
  friend constexpr fixed operator-(fixed a) noexcept { return from_wide(-wide_type{a.word}); }

  friend constexpr bool operator==(fixed a, fixed b) noexcept = default;
  friend constexpr bool operator<(fixed a, fixed b) noexcept { return a.word < b.word; }
  friend constexpr bool operator>(fixed a, fixed b) noexcept { return b < a; }
  friend constexpr bool operator<=(fixed a, fixed b) noexcept { return !(b < a); }
  friend constexpr bool operator>=(fixed a, fixed b) noexcept { return !(a < b); }

 private:
  static constexpr Storage highest =
      static_cast<Storage>((uint64_t{1} << (sizeof(Storage) * 8 - 1)) - 1);

  template <class Integer>
  static constexpr fixed from_wide(Integer word) noexcept {
    return from_word(word > highest        ? highest
                     : word < -highest - 1 ? static_cast<Storage>(-highest - 1)
                                           : static_cast<Storage>(word));
  }

  // The word of a float (24 digits) or of a double (53). What is 2^62 units or more saturates
  // anyway; what is less than half a unit is 0, a subnormal x among it.
  template <int digits, class Word>
  static constexpr fixed nearest(Word word_of_x) noexcept {
    constexpr int width = sizeof(Word) * 8;
    constexpr int exponents = 1 << (width - digits);
    const int exponent = static_cast<int>(word_of_x >> (digits - 1)) & (exponents - 1);
    const int64_t fraction = static_cast<int64_t>(word_of_x & ((Word{1} << (digits - 1)) - 1));
    const bool negative = word_of_x >> (width - 1) != 0;
    if (exponent == exponents - 1 && fraction != 0) return {};
    const int64_t significand = fraction | int64_t{1} << (digits - 1);
    const int shift = exponent - (exponents / 2 - 1) - (digits - 1) + F;
    const int64_t magnitude = shift > 62 - digits ? int64_t{1} << 62
                              : shift >= 0        ? significand << shift
                              : shift < -digits   ? 0
                                                  : rounding_shift(significand, -shift);
    return from_wide(negative ? -magnitude : magnitude);
  }
};

// Elementary functions, by double: e^x, ln x, √x and tanh x rounded to nearest, for 8 and 16 bits
// of every x (tests/fixed.cpp tries all) and for 32 bits unless double itself rounds onto the
// middle between two numbers. A logarithm of 0 is the lowest number; of x < 0, as √x, it is 0.
template <class Storage, int F>
constexpr fixed<Storage, F> exp(fixed<Storage, F> x) noexcept {
  return fixed<Storage, F>(exp(static_cast<double>(x)));
}
template <class Storage, int F>
constexpr fixed<Storage, F> log(fixed<Storage, F> x) noexcept {
  return fixed<Storage, F>(log(static_cast<double>(x)));
}
template <class Storage, int F>
constexpr fixed<Storage, F> sqrt(fixed<Storage, F> x) noexcept {
  return fixed<Storage, F>(sqrt(static_cast<double>(x)));
}
template <class Storage, int F>
constexpr fixed<Storage, F> tanh(fixed<Storage, F> x) noexcept {
  return fixed<Storage, F>(tanh(static_cast<double>(x)));
}

// a·b exactly: products of 8 or 16 bits fit in 32. Summed with + they are what an int8 path
// accumulates, and they saturate only beyond 2^31 units.
template <class A, int FA, class B, int FB>
requires(sizeof(A) <= 2 &&
         sizeof(B) <= 2) constexpr fixed<int32_t, FA + FB> exact_product(fixed<A, FA> a,
                                                                         fixed<B, FB> b) noexcept {
  return fixed<int32_t, FA + FB>::from_word(int32_t{a.word} * b.word);
}

}  // namespace attest
