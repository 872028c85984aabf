// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Rounding to nearest, ties to even, with one rounding: numbers of any precision, and exact ratios,
// become numbers of a format.
#pragma once
#include <attest/oracle/number_format.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/cpp_int.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

namespace attest::oracle {

template <unsigned Bits>
using Float =
    boost::multiprecision::number<boost::multiprecision::backends::cpp_bin_float<
                                      Bits, boost::multiprecision::backends::digit_base_2>,
                                  boost::multiprecision::et_off>;

using Integer = boost::multiprecision::cpp_int;

// ±significand·2^exponent, which has at most the format's digits, or what stands for it beyond the
// format's range.
inline double in_range(double significand, int exponent, bool negative,
                       const NumberFormat& format) {
  double value = std::ldexp(significand, exponent);
  if (!(value <= format.largest))
    value = format.has_infinity ? std::numeric_limits<double>::infinity()
                                : std::numeric_limits<double>::quiet_NaN();
  return negative ? -value : value;
}

template <unsigned Bits>
double round_to(const Float<Bits>& x, const NumberFormat& format) {
  if (x == 0) return 0;
  const bool negative = x < 0;
  const Float<Bits> size = abs(x);
  // Beyond every format, and below half of every format's smallest number: no exponent of `int`.
  if (size > Float<Bits>(0x1p1023) * 4) return in_range(1, 1024, negative, format);
  if (size < ldexp(Float<Bits>(1), -1100)) return negative ? -0.0 : 0.0;
  const int last = last_place(static_cast<int>(ilogb(size)), format);
  const Float<Bits> scaled = ldexp(size, -last);
  const Float<Bits> whole = floor(scaled);
  const Float<Bits> rest = scaled - whole;  // exact
  auto significand = static_cast<double>(whole);
  const bool odd = std::fmod(significand, 2) != 0;
  if (rest > 0.5 || (rest == 0.5 && odd)) significand += 1;
  return in_range(significand, last, negative, format);
}

// numerator / denominator·2^exponent; the denominator is positive.
inline double round_ratio(Integer numerator, Integer denominator, int exponent,
                          const NumberFormat& format) {
  if (numerator == 0) return 0;
  const bool negative = numerator < 0;
  if (negative) numerator = -numerator;
  // 2^magnitude <= numerator/denominator < 2^(magnitude + 1)
  int magnitude = static_cast<int>(msb(numerator)) - static_cast<int>(msb(denominator));
  const bool smaller = magnitude >= 0 ? numerator < (denominator << magnitude)
                                      : (numerator << -magnitude) < denominator;
  magnitude -= smaller;
  const int last = last_place(magnitude + exponent, format);
  const int shift = exponent - last;  // numerator/denominator·2^shift in units of the last place
  (shift >= 0 ? numerator : denominator) <<= std::abs(shift);
  Integer whole, rest;
  divide_qr(numerator, denominator, whole, rest);
  rest <<= 1;
  if (rest > denominator || (rest == denominator && bit_test(whole, 0))) ++whole;
  return in_range(static_cast<double>(whole), last, negative, format);
}

// x·2^1074, an integer for every finite double.
inline Integer in_smallest_units(double x) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(x), &exponent);
  Integer units = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  const int shift = exponent - 53 + 1074;
  if (shift >= 0)
    units <<= shift;
  else
    units >>= -shift;  // a subnormal number: zeros only
  return x < 0 ? Integer(-units) : units;
}

}  // namespace attest::oracle
