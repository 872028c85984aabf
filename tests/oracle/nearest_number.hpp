// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Rounding by search: of all numbers of a format the nearest, and of two equally near the one with
// an even bit pattern. Slow, obvious, and without a line of the code under test.
#pragma once
#include <attest/oracle/number_format.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

namespace attest::test {

// The number with these bits, in the order of magnitudes; the bits beyond the largest finite number
// are read as one more step of its binade.
inline double magnitude(std::uint64_t bits, const oracle::NumberFormat& format) {
  const int fraction_bits = format.precision - 1;
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << fraction_bits) - 1);
  const auto exponent = static_cast<int>(bits >> fraction_bits);
  if (exponent == 0)
    return std::ldexp(static_cast<double>(fraction), format.min_exponent - fraction_bits);
  return std::ldexp(static_cast<double>(fraction | (std::uint64_t{1} << fraction_bits)),
                    exponent - 1 + format.min_exponent - fraction_bits);
}

// x rounded; ∞ beyond the range, NaN in a format without it. Not for float64, whose halfway points
// are no doubles.
template <class Number>
double nearest_number(const Number& x, const oracle::NumberFormat& format) {
  const Number size = abs(x);
  std::uint64_t low = 0, high = 1;  // magnitude(low) <= size < magnitude(high)
  const auto beyond = [&](std::uint64_t bits) { return magnitude(bits, format) > format.largest; };
  while (!beyond(high) && Number(magnitude(high, format)) <= size) high *= 2;
  while (beyond(high - 1)) --high;  // at most one step beyond the largest
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (Number(magnitude(middle, format)) <= size ? low : high) = middle;
  }
  const Number below = size - Number(magnitude(low, format));
  const Number above = Number(magnitude(high, format)) - size;
  const std::uint64_t bits = below < above || (below == above && low % 2 == 0) ? low : high;
  double result = magnitude(bits, format);
  if (result > format.largest)
    result = format.has_infinity ? std::numeric_limits<double>::infinity()
                                 : std::numeric_limits<double>::quiet_NaN();
  return x < 0 ? -result : result;
}

}  // namespace attest::test
