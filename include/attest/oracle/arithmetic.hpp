// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The arithmetic an enclosure is computed in, tier by tier: a number type, and what each operation
// may lose.
#pragma once
#include <attest/ieee.hpp>
#include <attest/oracle/number_enclosure.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>

#include <bit>
#include <cmath>
#include <cstdint>

namespace attest::oracle {

// 240 significant bits and an exponent range no score leaves: the last word where double does not
// decide.
using Wide = boost::multiprecision::number<boost::multiprecision::backends::cpp_bin_float<
                                               240, boost::multiprecision::backends::digit_base_2>,
                                           boost::multiprecision::et_off>;

template <class Real>
struct Arithmetic;

template <>
struct Arithmetic<double> {
  // Relative error of + − × ÷ √, round to nearest.
  static constexpr double roundoff = 0x1p-53;
  // The smallest number, which an underflowing operation may lose.
  static constexpr double smallest = 0x1p-1074;
  // exp: relative error for smallest_exponent <= y <= 0; below, e^y < 2^-1020 is taken as 0.
  static constexpr double exp_error = 4 * 0x1p-53;
  static constexpr double smallest_exponent = -708;
  static constexpr double neglected = 0x1p-1020;
  // tanh: relative error.
  static constexpr double tanh_error = 256 * 0x1p-53;

  // e^y = 2^k e^r with k = rint(y/ln 2), |r| <= 0.3467, e^r by its Taylor polynomial of degree 13
  // in Horner's form. ln 2 = high + low, high of 33 bits, so that k·high is exact. Gappa bounds the
  // Horner evaluation by 1.91e-16 with each operation rounded and 1.58e-16 with each multiply-add
  // fused (proofs/gappa/); the argument adds 2^-55 and the remainder of the series 0.06 units: at
  // most 2.9 roundoffs of e^r >= 0.707. The addition of 1.5·2^52 rounds to an integer and must not
  // be simplified away: never compile the oracle with -ffast-math.
  static double exp(double y) {
    if (!(y >= smallest_exponent)) return 0;
    constexpr double shift = 0x1.8p52;
    const double shifted = y * 0x1.71547652b82fep+0 + shift;  // 1/ln 2
    const double k = shifted - shift;
    const double r = (y - k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33;
    double p = 1.0 / 6227020800;
    p = p * r + 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    // The low bits of `shifted` are k in two's complement; added to the exponent field they
    // multiply by 2^k.
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(p) +
                                 (std::bit_cast<std::uint64_t>(shifted) << 52));
  }

  // |z| < 2^-5: the odd Taylor polynomial of degree 9, whose remainder is below 2^-56 of z. Above:
  // (1 − w)/(1 + w) with w = e^(−2|z|) <= 0.94, where the error of w, 4 roundoffs and one for its
  // argument, grows by w/(1 − w) < 16.
  static double tanh(double z) {
    const double a = std::fabs(z);
    if (a < 0x1p-5) {
      const double s = z * z;
      return z * (1 + s * (-1.0 / 3 + s * (2.0 / 15 + s * (-17.0 / 315 + s * (62.0 / 2835)))));
    }
    const double w = exp(-2 * a);
    return std::copysign((1 - w) / (1 + w), z);
  }
};

template <>
struct Arithmetic<Wide> {
  // Boost rounds + − × ÷ √ to nearest; a factor of 2 is left for its guard. exp and tanh are held
  // to 2^-200, which tests/oracle/arithmetic.cpp checks against a type of 400 bits.
  static constexpr double roundoff = 0x1p-239;
  static constexpr double smallest = 0;  // its exponents do not end where ours do
  static constexpr double exp_error = 0x1p-200;
  static constexpr double smallest_exponent = -100000;
  static constexpr double neglected = 0;  // e^-100000 is far below half of double's smallest number
  static constexpr double tanh_error = 0x1p-190;

  static Wide exp(const Wide& y) {
    return y < smallest_exponent ? Wide(0) : Wide(boost::multiprecision::exp(y));
  }
  static Wide tanh(const Wide& z) {
    const Wide w = exp(-2 * abs(z));
    if (abs(z) < Wide(1) / 1024) {  // (1 − w)/(1 + w) would cancel; the remainder of the series is
                                    // below 2^-200 of z
      const Wide s = z * z;
      Wide sum = 0, term = 1;  // tanh z = sinh z / cosh z, both by their series
      Wide cosh_sum = 0;
      for (int n = 0; n < 24; ++n) {
        cosh_sum += term;
        sum += term / (2 * n + 1);
        term *= s / ((2 * n + 1) * (2 * n + 2));
      }
      return z * sum / cosh_sum;
    }
    return z < 0 ? Wide((w - 1) / (1 + w)) : Wide((1 - w) / (1 + w));
  }
};

inline Enclosure enclosure(const Wide& value, double radius) {
  const auto high = static_cast<double>(value);
  const Wide rest = value - high;
  const auto low = static_cast<double>(rest);
  return {high, low, radius + 0x1p-53 * std::fabs(low) + 0x1p-1074};
}

}  // namespace attest::oracle
