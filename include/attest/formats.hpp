// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// float16, bfloat16, float8_e4m3fn, float8_e5m2: small floating-point numbers to store and to
// calculate with, the same bits at compile time and at run time.
#pragma once
#include <stdint.h>

#include <attest/exp.hpp>
#include <attest/log.hpp>
#include <attest/sincos.hpp>
#include <attest/sqrt.hpp>
#include <attest/tanh.hpp>

namespace attest {

template <bool fits_a_byte>
struct SmallWord {
  using type = uint16_t;
};
template <>
struct SmallWord<true> {
  using type = uint8_t;
};

template <class I>
concept is_an_integer = requires(I i) {
  uint64_t(i);
  1 << i;
};

// A sign, E bits of exponent, F bits of fraction, from the top, as IEEE 754 has them: subnormal
// numbers, two zeros, infinities, NaNs. Finite, the "fn" of e4m3fn, trades the infinities for one
// more binade: only the word of all ones, with either sign, is no number.
//
// Construction rounds to nearest, ties to even, and rounds once, from double as well: through float
// it could round twice. What rounds to more than the largest number becomes an infinity, in a
// Finite format a NaN; saturating() returns the largest number instead, of infinities too. These
// are the two conversions of the OCP 8-bit Floating Point Specification, revision 1.0. A NaN stays
// a NaN with its sign, made quiet, its payload cut to what there is room for.
//
// + − × ÷ are the exact result rounded once to this format. They are carried out in float and
// rounded again, which is the same: with p digits here and 24 in float, 24 ≥ 2p + 2, no result
// rounded to 24 digits is moved onto the middle between two numbers of p digits (S. A. Figueroa,
// "When is double rounding innocuous?", ACM SIGNUM Newsletter 30(3), 1995; also for √). Nor where
// float itself runs out of digits, which only formats with E = 8 can reach, bfloat16 the longest of
// them, in products and quotients below 2^-126: products of two numbers of 8 digits are exact in
// float down to 2^-134, half the smallest bfloat16, and none below that is within 2^-150 of it; a
// quotient and the middle of two results differ by a multiple of 2^-135/255 that is not 0, and float
// errs by 2^-150. Each operation of a sum is rounded to this format, so a sum of many is better kept in float. A NaN that arithmetic
// returns is quiet_nan(), where the float arithmetic of one processor has another than the next; in
// a constant expression a result that is a NaN or that float has no room for is an error, as it is
// for float.
template <int E, int F, bool Finite = false>
requires(E >= 2 && E + Finite <= 8 && F >= 1 && F <= 10 && 1 + E + F <= 16) struct small_float {
  using word_type = typename SmallWord<1 + E + F <= 8>::type;
  static constexpr int precision = F + 1;
  static constexpr int bias = (1 << (E - 1)) - 1;
  static constexpr int min_exponent = 1 - bias;  // of normal numbers, 1.f·2^exponent
  static constexpr int max_exponent = Finite ? bias + 1 : bias;

  word_type word{};

  constexpr small_float() = default;
  explicit constexpr small_float(float x) noexcept : small_float(non_saturating(x)) {}
  explicit constexpr small_float(double x) noexcept : small_float(non_saturating(x)) {}
  // Beyond 53 bits the last one of the double collects all that follow it, so that it is on the
  // same side of every middle as the integer.
  template <is_an_integer I>
  explicit constexpr small_float(I i) noexcept {
    const bool negative = i < I(0);
    const uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(i) : static_cast<uint64_t>(i);
    const double x =
        magnitude >> 53 == 0
            ? static_cast<double>(magnitude)
            : static_cast<double>(magnitude >> 11 | ((magnitude & 0x7ff) != 0)) * 0x1p11;
    *this = small_float(negative ? -x : x);
  }
  template <int E2, int F2, bool Finite2>
  explicit constexpr small_float(small_float<E2, F2, Finite2> x) noexcept
      : small_float(static_cast<float>(x)) {}

  static constexpr small_float non_saturating(float x) noexcept {
    return rounded<24>(__builtin_bit_cast(uint32_t, x), false);
  }
  static constexpr small_float non_saturating(double x) noexcept {
    return rounded<53>(__builtin_bit_cast(uint64_t, x), false);
  }
  static constexpr small_float saturating(float x) noexcept {
    return rounded<24>(__builtin_bit_cast(uint32_t, x), true);
  }
  static constexpr small_float saturating(double x) noexcept {
    return rounded<53>(__builtin_bit_cast(uint64_t, x), true);
  }

  static constexpr small_float from_word(word_type word) noexcept { return of(word); }
  static constexpr small_float infinity() noexcept requires(!Finite) { return of(infinity_word); }
  static constexpr small_float quiet_nan() noexcept { return of(nan_word); }
  static constexpr small_float largest() noexcept { return of(largest_word); }
  static constexpr small_float smallest_normal() noexcept { return of(uint32_t{1} << F); }
  static constexpr small_float smallest_subnormal() noexcept { return of(1); }

  // Exact: every number of this format is a float.
  explicit constexpr operator float() const noexcept {
    const uint32_t magnitude = word & magnitude_mask;
    const uint32_t sign = static_cast<uint32_t>(word >> (E + F)) << 31;
    if ((E == 8 || magnitude >> F != 0) && magnitude <= largest_word)
      return __builtin_bit_cast(
          float, sign | ((magnitude << (23 - F)) + (static_cast<uint32_t>(127 - bias) << 23)));
    if (magnitude > largest_word)
      return __builtin_bit_cast(float, sign | 0x7f800000 | (magnitude << (23 - F) & 0x7fffff) |
                                           (magnitude > infinity_word ? 0x400000 : 0));
    constexpr float unit = __builtin_bit_cast(
        float, static_cast<uint32_t>(E == 8 ? 127 : 127 + min_exponent - F) << 23);
    const float x = static_cast<float>(magnitude) * unit;
    return sign != 0 ? -x : x;
  }
  // A NaN keeps sign and payload, which the conversion of a processor need not leave (RISC-V).
  explicit constexpr operator double() const noexcept {
    const float x = static_cast<float>(*this);
    const uint64_t bits_of_x = __builtin_bit_cast(uint32_t, x);
    return x == x ? static_cast<double>(x)
                  : __builtin_bit_cast(double, bits_of_x >> 31 << 63 | 0x7ff0000000000000 |
                                                   (bits_of_x & 0x7fffff) << 29);
  }

  friend constexpr small_float operator+(small_float a, small_float b) noexcept {
    return result(static_cast<float>(a) + static_cast<float>(b));
  }
  friend constexpr small_float operator-(small_float a, small_float b) noexcept {
    return result(static_cast<float>(a) - static_cast<float>(b));
  }
  friend constexpr small_float operator*(small_float a, small_float b) noexcept {
    return result(static_cast<float>(a) * static_cast<float>(b));
  }
  friend constexpr small_float operator/(small_float a, small_float b) noexcept {
    return result(static_cast<float>(a) / static_cast<float>(b));
  }
  // The other sign, a NaN's too.
  friend constexpr small_float operator-(small_float a) noexcept {
    return of(a.word ^ (uint32_t{1} << (E + F)));
  }

  // As numbers: -0 == 0, and a NaN is not even equal to itself.
  friend constexpr bool operator==(small_float a, small_float b) noexcept {
    return static_cast<float>(a) == static_cast<float>(b);
  }
  friend constexpr bool operator<(small_float a, small_float b) noexcept {
    return static_cast<float>(a) < static_cast<float>(b);
  }
  friend constexpr bool operator>(small_float a, small_float b) noexcept { return b < a; }
  friend constexpr bool operator<=(small_float a, small_float b) noexcept {
    return static_cast<float>(a) <= static_cast<float>(b);
  }
  friend constexpr bool operator>=(small_float a, small_float b) noexcept { return b <= a; }

 private:
  static constexpr uint32_t magnitude_mask = (uint32_t{1} << (E + F)) - 1;
  static constexpr uint32_t infinity_word = ((uint32_t{1} << E) - 1) << F;
  static constexpr uint32_t nan_word =
      Finite ? magnitude_mask : infinity_word | uint32_t{1} << (F - 1);
  static constexpr uint32_t largest_word = (Finite ? nan_word : infinity_word) - 1;

  // Few statements and few calls: clang's budget for a constant expression counts them.
  struct Raw {
    uint32_t word;
  };
  explicit constexpr small_float(Raw raw) noexcept : word(static_cast<word_type>(raw.word)) {}
  static constexpr small_float of(uint32_t word) noexcept { return small_float(Raw{word}); }
  static constexpr small_float result(float x) noexcept {
    return x != x ? quiet_nan() : rounded<24>(__builtin_bit_cast(uint32_t, x), false);
  }

  // word / 2^n rounded to nearest, ties to even; n > 0.
  template <class Word>
  static constexpr Word shifted(Word word, int n) noexcept {
    return (word + (Word{1} << (n - 1)) - 1 + (word >> n & 1)) >> n;
  }

  // The word of a float (24 digits) or of a double (53), rounded to this format. Exponent and
  // fraction are rounded as one integer, whose carry is what rounding up to a power of two needs.
  template <int digits, class Word>
  static constexpr small_float rounded(Word word, bool saturate) noexcept {
    constexpr int width = sizeof(Word) * 8, drop = digits - 1 - F;
    constexpr int word_bias = (1 << (width - digits - 1)) - 1;
    constexpr Word word_infinity = static_cast<Word>(2 * word_bias + 1) << (digits - 1);
    constexpr Word lowest_normal = static_cast<Word>(word_bias + min_exponent) << (digits - 1);
    constexpr Word rebias = static_cast<Word>(word_bias - bias) << (digits - 1);
    // What rounds to more than the largest number: half a unit above it, or more where it is even.
    constexpr Word overflow =
        (Word{largest_word} << drop) + rebias + (Word{1} << (drop - 1)) + (~largest_word & 1);
    const Word magnitude = word & ((Word{1} << (width - 1)) - 1);
    const uint32_t sign = static_cast<uint32_t>(word >> (width - 1)) << (E + F);
    if (magnitude >= lowest_normal && magnitude < overflow)
      return of(sign | static_cast<uint32_t>(shifted(magnitude - rebias, drop)));
    if (magnitude > word_infinity)
      return of(sign | (static_cast<uint32_t>(magnitude >> drop) & magnitude_mask) | nan_word);
    if (magnitude >= overflow)
      return of(sign | (saturate ? largest_word : Finite ? nan_word : infinity_word));
    const int exponent = static_cast<int>(magnitude >> (digits - 1));
    const Word fraction = magnitude & ((Word{1} << (digits - 1)) - 1);
    const Word significand = exponent == 0 ? fraction : fraction | Word{1} << (digits - 1);
    const int shift = drop + word_bias + min_exponent - (exponent == 0 ? 1 : exponent);
    if (shift > digits) return of(sign);  // less than half the smallest number
    return of(sign | static_cast<uint32_t>(shifted(significand, shift)));
  }
};

using float16 = small_float<5, 10>;  // IEEE 754 binary16
using bfloat16 = small_float<8, 7>;
using float8_e4m3fn = small_float<4, 3, true>;  // largest 448
using float8_e5m2 = small_float<5, 2>;          // largest 57344

// Elementary functions of these formats, rounded to nearest for every x. What is within reach of
// float is computed there and rounded again: √ by the theorem above, the others because none of
// their values rounded to float is the middle between two numbers of the format without being it
// exactly. In float16 that fails for 2 arguments of exp, one each of exp2 and log, 4 of sin and 2
// of cos, so these are computed in double, where it never fails. tests/formats.cpp tries every x.
template <bool fits_float>
struct Between {
  using type = float;
};
template <>
struct Between<false> {
  using type = double;
};
template <int F>
using between = typename Between<F <= 7>::type;

template <int E, int F, bool Finite>
constexpr small_float<E, F, Finite> exp(small_float<E, F, Finite> x) noexcept {
  return small_float<E, F, Finite>(exp(static_cast<between<F>>(x)));
}
template <int E, int F, bool Finite>
constexpr small_float<E, F, Finite> exp2(small_float<E, F, Finite> x) noexcept {
  return small_float<E, F, Finite>(exp2(static_cast<between<F>>(x)));
}
template <int E, int F, bool Finite>
constexpr small_float<E, F, Finite> log(small_float<E, F, Finite> x) noexcept {
  return small_float<E, F, Finite>(log(static_cast<between<F>>(x)));
}
template <int E, int F, bool Finite>
constexpr small_float<E, F, Finite> log2(small_float<E, F, Finite> x) noexcept {
  return small_float<E, F, Finite>(log2(static_cast<float>(x)));
}
template <int E, int F, bool Finite>
constexpr small_float<E, F, Finite> sqrt(small_float<E, F, Finite> x) noexcept {
  return small_float<E, F, Finite>(sqrt(static_cast<float>(x)));
}
template <int E, int F, bool Finite>
constexpr small_float<E, F, Finite> rsqrt(small_float<E, F, Finite> x) noexcept {
  return small_float<E, F, Finite>(rsqrt(static_cast<float>(x)));
}
template <int E, int F, bool Finite>
constexpr small_float<E, F, Finite> tanh(small_float<E, F, Finite> x) noexcept {
  return small_float<E, F, Finite>(tanh(static_cast<float>(x)));
}
template <int E, int F, bool Finite>
constexpr small_float<E, F, Finite> sin(small_float<E, F, Finite> x) noexcept {
  return small_float<E, F, Finite>(sin(static_cast<between<F>>(x)));
}
template <int E, int F, bool Finite>
constexpr small_float<E, F, Finite> cos(small_float<E, F, Finite> x) noexcept {
  return small_float<E, F, Finite>(cos(static_cast<between<F>>(x)));
}

}  // namespace attest
