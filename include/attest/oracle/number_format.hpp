// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The binary floating-point formats a captured call may hold, as numbers: precision, range,
// rounding and unit in the last place, all within double.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

namespace attest::oracle {

// A binary format with `precision` significant bits. Normal numbers are 1.f·2^e with
// min_exponent <= e <= max_exponent; below lie subnormals, spaced 2^(min_exponent − precision + 1).
struct NumberFormat {
  std::string_view name;
  int precision;
  int min_exponent;
  int max_exponent;
  double largest;  // the largest finite number
  bool has_infinity;

  friend constexpr bool operator==(const NumberFormat&, const NumberFormat&) = default;

  // Half the distance from 1 to the next number: the largest relative error of one rounding to
  // nearest.
  constexpr double unit_roundoff() const {
    return std::bit_cast<double>(static_cast<std::uint64_t>(1023 - precision) << 52);
  }
  // The spacing of the subnormal numbers.
  double smallest_subnormal() const { return std::ldexp(1.0, min_exponent - precision + 1); }

  // The largest error of rounding a number of magnitude |x| to nearest: half a unit in the last
  // place, taken in the binade of |x|. At the top of a binade the rounded number may be the next
  // power of two; the error bound is the same.
  double half_ulp(double x) const {
    int exponent = min_exponent;
    if (x != 0) exponent = std::ilogb(x) < min_exponent ? min_exponent : std::ilogb(x);
    return std::ldexp(1.0, exponent - precision);
  }

  // x rounded to nearest, ties to even; what exceeds the range by half a unit or more becomes an
  // infinity (a NaN where the format has no infinity). Exact for every double: the scaling is by a
  // power of two and the one rounding is nearbyint's.
  double round(double x) const {
    if (!std::isfinite(x) || x == 0) return x;
    int exponent = std::ilogb(x);
    if (exponent < min_exponent) exponent = min_exponent;
    const int shift = precision - 1 - exponent;
    const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, shift)), -shift);
    if (std::fabs(rounded) <= largest) return rounded;
    return has_infinity ? std::copysign(std::numeric_limits<double>::infinity(), x)
                        : std::numeric_limits<double>::quiet_NaN();
  }

  // Whether x is a number of this format.
  bool holds(double x) const { return std::isfinite(x) && round(x) == x; }
};

namespace formats {

inline constexpr NumberFormat float64{
    "float64", 53, -1022, 1023, std::numeric_limits<double>::max(), true};
inline constexpr NumberFormat float32{"float32", 24, -126, 127, 0x1.fffffep127, true};
inline constexpr NumberFormat float16{"float16", 11, -14, 15, 65504, true};
inline constexpr NumberFormat bfloat16{"bfloat16", 8, -126, 127, 0x1.fep127, true};
// OCP 8-bit floating point, revision 1.0: e4m3fn has no infinity, its top mantissa pattern is NaN.
inline constexpr NumberFormat float8_e4m3fn{"float8_e4m3fn", 4, -6, 8, 448, false};
inline constexpr NumberFormat float8_e5m2{"float8_e5m2", 3, -14, 15, 57344, true};

// What tensor cores read of float32 operands, and what those of Hopper hold sums of 8-bit products
// in. No array of a capture has them.
inline constexpr NumberFormat tensorfloat32{"tensorfloat32", 11, -126, 127, 0x1.ffcp127, true};
inline constexpr NumberFormat e8m13{"e8m13", 14, -126, 127, 0x1.fff8p127, true};

}  // namespace formats

// The format called `name`, or null.
inline const NumberFormat* number_format(std::string_view name) {
  for (const NumberFormat* format :
       {&formats::float64, &formats::float32, &formats::float16, &formats::bfloat16,
        &formats::float8_e4m3fn, &formats::float8_e5m2, &formats::tensorfloat32, &formats::e8m13})
    if (format->name == name) return format;
  return nullptr;
}

// The number that `bits` (sign, exponent, fraction, from the top) mean in a format of at most 16
// bits.
inline double decode(std::uint16_t bits, const NumberFormat& format, int total_bits) {
  const int fraction_bits = format.precision - 1;
  const int exponent_bits = total_bits - 1 - fraction_bits;
  const unsigned fraction = unsigned{bits} & ((1u << fraction_bits) - 1);
  const unsigned exponent = (unsigned{bits} >> fraction_bits) & ((1u << exponent_bits) - 1);
  const double sign = (unsigned{bits} >> (total_bits - 1)) & 1 ? -1.0 : 1.0;
  const unsigned top = (1u << exponent_bits) - 1;
  if (exponent == top && format.has_infinity)
    return fraction ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  if (exponent == top && fraction == (1u << fraction_bits) - 1)  // e4m3fn's only NaN
    return std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0)
    return sign * std::ldexp(static_cast<double>(fraction), format.min_exponent - fraction_bits);
  return sign * std::ldexp(static_cast<double>(fraction + (1u << fraction_bits)),
                           static_cast<int>(exponent) - 1 + format.min_exponent - fraction_bits);
}

// The exponent of the last place of a number of magnitude 2^exponent.
constexpr int last_place(int exponent, const NumberFormat& format) {
  return (exponent < format.min_exponent ? format.min_exponent : exponent) - format.precision + 1;
}

// The bits of a number of a format of at most 16 bits; the inverse of decode.
inline std::uint16_t encode(double x, const NumberFormat& format, int total_bits) {
  const int fraction_bits = format.precision - 1;
  const unsigned sign = std::signbit(x) ? 1u << (total_bits - 1) : 0;
  const unsigned top = ((1u << (total_bits - 1 - fraction_bits)) - 1) << fraction_bits;
  const unsigned fraction_mask = (1u << fraction_bits) - 1;
  unsigned bits = 0;
  if (std::isnan(x)) {
    bits = format.has_infinity ? top | (1u << (fraction_bits - 1)) : top | fraction_mask;
  } else if (std::isinf(x)) {
    bits = top;
  } else if (x != 0) {
    const int exponent = std::ilogb(x);
    const auto significand =
        static_cast<unsigned>(std::ldexp(std::fabs(x), -last_place(exponent, format)));
    // A normal number's leading bit carries into the exponent field.
    bits = exponent < format.min_exponent
               ? significand
               : significand +
                     (static_cast<unsigned>(exponent - format.min_exponent) << fraction_bits);
  }
  return static_cast<std::uint16_t>(sign | bits);
}

}  // namespace attest::oracle
