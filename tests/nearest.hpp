// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// is_nearest(y, exact): whether y is the exact value rounded to nearest, ties to even. The exact
// value comes with 50 digits from Boost.Multiprecision; y's neighbours, and the middle between
// them, decide.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "decimal.hpp"

namespace tests {

using Exact = Decimal<50>;

template <class T>
using word_of = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// A floating-point value as a number of its own range, beyond the largest one as if the range went
// on.
template <class T>
Exact extended(T y) {
  if (std::isfinite(y)) return Exact(y);
  const Exact beyond = ldexp(Exact(1), std::numeric_limits<T>::max_exponent);
  return y > 0 ? beyond : Exact(-beyond);
}

template <class T>
bool is_nearest(T y, const Exact& exact) {
  if (std::isnan(y)) return false;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const Exact value = extended(y);
  const bool even = (std::bit_cast<word_of<T>>(y) & 1) == 0;
  if (y != -infinity) {
    const Exact low = (extended(std::nextafter(y, -infinity)) + value) / 2;
    if (even ? exact < low : exact <= low) return false;
  }
  if (y != infinity) {
    const Exact high = (value + extended(std::nextafter(y, infinity))) / 2;
    if (even ? exact > high : exact >= high) return false;
  }
  return true;
}

template <class T>
T from_bits(word_of<T> word) {
  return std::bit_cast<T>(word);
}

// The same bits, so that a NaN equals itself and -0 differs from 0.
template <class T>
bool same_bits(T a, T b) {
  return std::bit_cast<word_of<T>>(a) == std::bit_cast<word_of<T>>(b);
}

// |y - exact| in units of 2^-53 of the exact value: how far a double is from what it approximates.
inline double error(double y, const Exact& exact) {
  return static_cast<double>(ldexp(abs((Exact(y) - exact) / exact), 53));
}

// The same with 100 digits, for results of 128 bits; and high·2^64 + low of such a result.
using Exacter = Decimal<100>;
template <class Wide>
Exacter number(const Wide& wide) {
  return ldexp(Exacter(wide.high), 64) + Exacter(wide.low);
}

// |y - exact| relative to the exact value, as a power of two.
inline double relative_error_log2(const Exacter& y, const Exacter& exact) {
  const Exacter difference = abs((y - exact) / exact);
  return difference == 0 ? -1000.0 : static_cast<double>(log2(difference));
}

// The bits of f(x) for every float x whose own bits are a multiple of the stride, as one number.
template <class Function>
std::uint64_t fingerprint(Function f, std::uint64_t stride) {
  std::uint64_t hash = 0;
  for (std::uint64_t word = 0; word < (std::uint64_t{1} << 32); word += stride) {
    hash = (hash ^
            std::bit_cast<std::uint32_t>(f(from_bits<float>(static_cast<std::uint32_t>(word))))) *
           0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace tests
