// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// e^x of several floats in one register, rounded to nearest, for x86 processors that fuse
// multiplication and addition and look numbers up in a register: all in float, in two thirds of the
// time that doubles take.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <attest/contraction.hpp>
#include <attest/exp_tables.hpp>
#include <attest/vectors.hpp>

namespace attest {

// How many of N numbers exp_in_vectors takes at once; 0 where it cannot.
template <size_t N>
constexpr size_t width_of_exp() {
#if defined(__AVX512F__) && defined(__AVX2__) && defined(__FMA__)
  if (N % 16 == 0) return 16;
#endif
#if defined(__AVX2__) && defined(__FMA__)
  if (N % 8 == 0) return 8;
#endif
  return 0;
}

#if defined(__AVX2__) && defined(__FMA__)

using Floats8 = VectorOf<float, 8>::type;
using Words8 = VectorOf<uint32_t, 8>::type;

inline Floats8 fused_multiply_add(const Floats8& a, const Floats8& b, const Floats8& c) {
#ifdef __clang__
  return __builtin_elementwise_fma(a, b, c);
#else
  return __builtin_ia32_vfmaddps256(a, b, c);
#endif
}
// The entries of a table at these places, modulo its length.
inline Floats8 looked_up(const float (&table)[8], const Words8& place) {
  using Places = VectorOf<int, 8>::type;
  return __builtin_ia32_permvarsf256(VectorOf<float, 8>::read(table),
                                     __builtin_bit_cast(Places, place));
}
inline bool any_bit_set(const Words8& word) {
  using Halves = VectorOf<long long, 4>::type;
  const auto halves = __builtin_bit_cast(Halves, word);
  return !__builtin_ia32_ptestz256(halves, halves);
}

// e^r − 1 = high + low.
template <class Floats>
struct ExpLess1 {
  Floats high;
  Floats low;
};

template <size_t Width>
struct ExpInVectors;

// Eight parts to an octave, |r| < 0.0434. high = r + r²/2, kept with all that its rounding leaves;
// what is added to it is below 2^-15.
template <>
struct ExpInVectors<8> {
  static constexpr int log2_parts = 3;
  static constexpr const float (&part)[8] = exp_tables::eighth;
  static constexpr const float (&part_rest)[8] = exp_tables::eighth_rest;
  static constexpr float doubt = 0x1p-36f;

  static ExpLess1<Floats8> exp_less_1(const Floats8& r, const Floats8& rest) {
    ATTEST_NO_CONTRACTION
    constexpr auto& c = exp_tables::cubic_of_eighths;
    const Floats8 zero{}, half = zero + 0.5f, square = r * r;
    const Floats8 high = fused_multiply_add(half, square, r);
    const Floats8 left_of_high = fused_multiply_add(half, square, r - high);
    const Floats8 left_of_square = fused_multiply_add(r, r, -square);
    const Floats8 cubic =
        fused_multiply_add(r, fused_multiply_add(r, zero + c[2], zero + c[1]), zero + c[0]);
    const Floats8 all_rest =
        fused_multiply_add(rest, high, fused_multiply_add(half, left_of_square, rest));
    return {high, fused_multiply_add(square * r, cubic, left_of_high + all_rest)};
  }
};

#ifdef __AVX512F__
using Floats16 = VectorOf<float, 16>::type;
using Words16 = VectorOf<uint32_t, 16>::type;

inline Floats16 fused_multiply_add(const Floats16& a, const Floats16& b, const Floats16& c) {
#ifdef __clang__
  return __builtin_elementwise_fma(a, b, c);
#else
  constexpr int all_of_them = -1, as_the_processor_rounds = 4;
  return __builtin_ia32_vfmaddps512_mask(a, b, c, all_of_them, as_the_processor_rounds);
#endif
}
inline Floats16 looked_up(const float (&table)[32], const Words16& place) {
  const Floats16 low = VectorOf<float, 16>::read(table),
                 high = VectorOf<float, 16>::read(table + 16);
#ifdef __clang__
  using Places = VectorOf<int, 16>::type;
  return __builtin_ia32_vpermi2varps512(low, __builtin_bit_cast(Places, place), high);
#else
  return __builtin_shuffle(low, high, place);
#endif
}
inline bool any_bit_set(const Words16& word) {
  return any_bit_set(__builtin_shufflevector(word, word, 0, 1, 2, 3, 4, 5, 6, 7) |
                     __builtin_shufflevector(word, word, 8, 9, 10, 11, 12, 13, 14, 15));
}

// Thirty-two parts, |r| < 0.0109. high = r, and what is added to it is below 2^-14.
template <>
struct ExpInVectors<16> {
  static constexpr int log2_parts = 5;
  static constexpr const float (&part)[32] = exp_tables::thirty_second;
  static constexpr const float (&part_rest)[32] = exp_tables::thirty_second_rest;
  static constexpr float doubt = 0x1p-34f;

  static ExpLess1<Floats16> exp_less_1(const Floats16& r, const Floats16& rest) {
    ATTEST_NO_CONTRACTION
    constexpr auto& c = exp_tables::square_of_thirty_seconds;
    const Floats16 zero{}, square = r * r;
    const Floats16 polynomial =
        fused_multiply_add(square, zero + c[2], fused_multiply_add(r, zero + c[1], zero + c[0]));
    return {r, fused_multiply_add(square, polynomial, fused_multiply_add(rest, r, rest))};
  }
};
#endif

// e^(x_j − largest) of each of N numbers not above `largest`, in place, if none of them is in doubt
// and no result subnormal or zero; else nothing is changed.
//
// Let d = x_j − largest and n the integer nearest to d·P/ln 2, or next to that where P/ln 2 as
// rounded makes a difference, P parts to an octave. n ends the bits of d·P/ln 2 + to_integer, there
// together with 127·P, which makes an exponent of n/P.
// r = d − n·ln2_short/P is exact: where n is not 0, both are multiples of 2^-28 (P = 8) or 2^-30
// (P = 32), and the difference has 24 bits. Then
//   e^d = 2^⌊n/P⌋ · part·(1 + part_rest) · e^{−n·ln2_left/P} · e^r,
// and the product of all but the power of two is taken as an unevaluated sum of two floats, `sum`
// and `left`; part − sum is exact. It errs by less than `doubt`: over all floats by 2^-36.08
// (P = 8) and 2^-34.28 (P = 32) at most. If both ends of that interval round to the same float, the
// exact value does. That they do so rightly has been seen of every float there is
// (tests/exhaustive). Products are added to others by fused_multiply_add alone, so that a compiler
// that contracts changes nothing.
template <size_t N>
inline bool exp_in_vectors(float* x, float largest) noexcept {
  ATTEST_NO_CONTRACTION
  constexpr size_t width = width_of_exp<N>();
  using Of = VectorOf<float, width>;
  using Floats = typename Of::type;
  using Words = typename VectorOf<uint32_t, width>::type;
  using Exp = ExpInVectors<width>;
  constexpr int parts = 1 << Exp::log2_parts;
  constexpr float to_integer = 0x1.8p+23f + 127 * parts;
  constexpr float ln2_short = exp_tables::ln2_of_21_bits / parts;
  constexpr float ln2_left = exp_tables::ln2_after_21_bits / parts;
  constexpr float parts_over_ln2 = static_cast<float>(exp_tables::log2_e) * parts;
  constexpr float lowest = -0x1.5d589ep+6f;  // below it, e^x is subnormal

  const Floats zero{};
  Floats result[N / width], smallest = zero;
  Words differ{};
#pragma GCC unroll 8
  for (size_t j = 0; j < N / width; ++j) {
    const Floats difference = Of::read(x + j * width) - largest;
    smallest = difference < smallest ? difference : smallest;
    const Floats shifted = fused_multiply_add(difference, zero + parts_over_ln2, zero + to_integer);
    const Floats minus_n = to_integer - shifted;
    const Words word = __builtin_bit_cast(Words, shifted);
    const Floats part = looked_up(Exp::part, word);
    const auto exp_less_1 = Exp::exp_less_1(
        fused_multiply_add(minus_n, zero + ln2_short, difference),
        fused_multiply_add(minus_n, zero + ln2_left, looked_up(Exp::part_rest, word)));
    const Floats sum = fused_multiply_add(part, exp_less_1.high, part);
    const Floats left = fused_multiply_add(part, exp_less_1.low,
                                           fused_multiply_add(part, exp_less_1.high, part - sum));
    const Floats from_above = sum + (left + Exp::doubt), from_below = sum + (left - Exp::doubt);
    differ |= __builtin_bit_cast(Words, from_above) ^ __builtin_bit_cast(Words, from_below);
    result[j] = from_above * __builtin_bit_cast(Floats, word >> Exp::log2_parts << 23);
  }
  differ |= __builtin_bit_cast(Words, smallest < lowest);
  if (any_bit_set(differ)) [[unlikely]]
    return false;
#pragma GCC unroll 8
  for (size_t j = 0; j < N / width; ++j) Of::write(result[j], x + j * width);
  return true;
}

#else

template <size_t N>
inline bool exp_in_vectors(float*, float) noexcept {
  return false;
}

#endif

}  // namespace attest
