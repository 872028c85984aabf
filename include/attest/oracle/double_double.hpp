// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// DoubleDouble: numbers of at least 100 bits as unevaluated sums of two doubles, and what their
// operations may lose. docs/enclosure.md derives the bounds.
//
// Each operation is right whether or not the compiler fuses products into sums: a product that is
// not exact is rounded behind a barrier before it enters a sum whose error is computed.
#pragma once
#include <attest/ieee.hpp>
#include <attest/oracle/arithmetic.hpp>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>

namespace attest::oracle {
namespace detail {

// x itself, of which the compiler no longer knows that it was a product.
inline double rounded(double x) {
#if defined(__x86_64__)
  asm("" : "+x"(x));
  return x;
#elif defined(__aarch64__)
  asm("" : "+w"(x));
  return x;
#else
  volatile double held = x;
  return held;
#endif
}

// x to 26 significant bits; the rest has 26 too, its sign being one.
inline double leading_bits(double x) {
  constexpr std::uint64_t half = std::uint64_t{1} << 26;
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(x) + half) & ~(2 * half - 1));
}

}  // namespace detail

// |low| is at most half a unit in the last place of high.
struct DoubleDouble {
  double high = 0, low = 0;

  constexpr DoubleDouble() = default;
  constexpr DoubleDouble(double value) : high(value) {}
  constexpr DoubleDouble(double leading, double rest) : high(leading), low(rest) {}
  constexpr DoubleDouble(std::integral auto number) : high(static_cast<double>(number)) {}
  constexpr explicit operator double() const { return high; }

  // a + b exactly (Knuth).
  static DoubleDouble sum_of(double a, double b) {
    const double sum = a + b;
    const double b_part = sum - a;
    return {sum, (a - (sum - b_part)) + (b - b_part)};
  }
  // The same where |a| >= |b| or a = 0 (Dekker).
  static DoubleDouble ordered_sum_of(double a, double b) {
    const double sum = a + b;
    return {sum, b - (sum - a)};
  }
  // a·b exactly, if nothing underflows (Dekker).
  static DoubleDouble product_of(double a, double b) {
    const double product = detail::rounded(a * b);
#if defined(__FMA__) || defined(__aarch64__)
    return {product, std::fma(a, b, -product)};
#else
    const double a1 = detail::leading_bits(a), b1 = detail::leading_bits(b);
    const double a2 = a - a1, b2 = b - b1;
    return {product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2};
#endif
  }

  friend DoubleDouble operator-(const DoubleDouble& a) {
    return {-a.high, -a.low};
  }
  friend DoubleDouble operator+(const DoubleDouble& a, const DoubleDouble& b) {
    const DoubleDouble leading = sum_of(a.high, b.high), trailing = sum_of(a.low, b.low);
    const DoubleDouble sum = ordered_sum_of(leading.high, leading.low + trailing.high);
    return ordered_sum_of(sum.high, sum.low + trailing.low);
  }
  friend DoubleDouble operator-(const DoubleDouble& a, const DoubleDouble& b) {
    return a + -b;
  }
  friend DoubleDouble operator*(const DoubleDouble& a, const DoubleDouble& b) {
    const DoubleDouble product = product_of(a.high, b.high);
    return ordered_sum_of(product.high, product.low + (a.high * b.low + a.low * b.high));
  }
  // One step of long division, the remainder by the divisor's leading part.
  friend DoubleDouble operator/(const DoubleDouble& a, const DoubleDouble& b) {
    const double quotient = a.high / b.high;
    const DoubleDouble product = product_of(quotient, b.high);
    const double remainder = (a.high - product.high) + ((a.low - product.low) - quotient * b.low);
    return ordered_sum_of(quotient, remainder / b.high);
  }
  DoubleDouble& operator+=(const DoubleDouble& other) {
    return *this = *this + other;
  }
  DoubleDouble& operator/=(const DoubleDouble& other) {
    return *this = *this / other;
  }

  // One step of Newton's iteration from the root of the leading part.
  friend DoubleDouble sqrt(const DoubleDouble& a) {
    const double root = std::sqrt(a.high);
    if (!(root > 0)) return root;
    const DoubleDouble square = product_of(root, root);
    return ordered_sum_of(root, ((a.high - square.high) + (a.low - square.low)) / (2 * root));
  }

  friend bool operator>(const DoubleDouble& a, const DoubleDouble& b) {
    return a.high > b.high || (a.high == b.high && a.low > b.low);
  }
};

template <>
struct Arithmetic<DoubleDouble> {
  // With u = 2^-53: sums 3.1 u², products 8.1 u², quotients 17 u², roots 11 u².
  static constexpr double roundoff = 0x1p-101;
  // Each of the few products inside an operation may lose half of 2^-1074.
  static constexpr double smallest = 0x1p-1070;
  static constexpr double exp_error = 0x1p-96;
  // Beyond, the low part of e^y would no longer be a multiple of 2^-1074.
  static constexpr double smallest_exponent = -650;
  static constexpr double neglected = 0x1p-937;
  static constexpr double tanh_error = 0x1p-88;

  // e^y = 2^k (1 + q(r/256))^256 with r = y − k ln 2, |r| <= 0.3467, and q the Taylor polynomial of
  // e^x − 1 of degree 10, whose remainder is below 2^-119 of it. As 1 + q, q is squared without its
  // 1: q(2x) = 2 q + q².
  static DoubleDouble exp(const DoubleDouble& y) {
    if (!(y.high >= smallest_exponent)) return 0;
    constexpr double shift = 0x1.8p52;
    const double shifted = y.high * 0x1.71547652b82fep+0 + shift;
    const double k = shifted - shift;
    // ln 2 = l1 + l2 + l3; k·l1 and k·l2 are exact, l1 and l2 having 33 bits, and so is the first
    // difference.
    constexpr double l1 = 0x1.62e42fef00000p-1, l2 = 0x1.473de6af00000p-34;
    constexpr double l3 = 0x1.3c7673007e5edp-69;
    DoubleDouble r = DoubleDouble::sum_of(y.high - k * l1, -(k * l2)) + y.low;
    r = r - DoubleDouble(detail::rounded(k * l3));
    r = {r.high * 0x1p-8, r.low * 0x1p-8};
    DoubleDouble q = inverse_factorial[8];
    for (int n = 7; n >= 0; --n) q = q * r + inverse_factorial[n];
    q = r + q * (r * r);
    for (int n = 0; n < 8; ++n) q = DoubleDouble{2 * q.high, 2 * q.low} + q * q;
    q = q + 1;
    const auto power =
        std::bit_cast<double>(static_cast<std::uint64_t>(1023 + static_cast<int>(k)) << 52);
    return {q.high * power, q.low * power};
  }

  // As in double: by w = e^(−2|z|), whose error 1 − w >= 2^-5 multiplies by 32 at most; below, sinh
  // z / cosh z by their series, each term being less than 2^-10 of the one before.
  static DoubleDouble tanh(const DoubleDouble& z) {
    const DoubleDouble size = z.high < 0 ? -z : z;
    if (size.high >= 0x1p-5) {
      const DoubleDouble w = exp({-2 * size.high, -2 * size.low});
      const DoubleDouble quotient = (1 - w) / (1 + w);
      return z.high < 0 ? -quotient : quotient;
    }
    const DoubleDouble s = z * z;
    DoubleDouble sinh_sum = 0, cosh_sum = 0, term = 1;
    for (int n = 0; n < 10; ++n) {
      cosh_sum += term;
      sinh_sum += term / (2 * n + 1);
      term = term * s / ((2 * n + 1) * (2 * n + 2));
    }
    return z * sinh_sum / cosh_sum;
  }

 private:
  // 1/2! to 1/10!, each as the nearest double and the nearest of the rest.
  static constexpr DoubleDouble inverse_factorial[9] = {
      {0x1.0000000000000p-1, 0},
      {0x1.5555555555555p-3, 0x1.5555555555555p-57},
      {0x1.5555555555555p-5, 0x1.5555555555555p-59},
      {0x1.1111111111111p-7, 0x1.1111111111111p-63},
      {0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65},
      {0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73},
      {0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76},
      {0x1.71de3a556c734p-19, -0x1.c154f8ddc6c00p-73},
      {0x1.27e4fb7789f5cp-22, 0x1.cbbc05b4fa99ap-76}};
};

inline Enclosure enclosure(const DoubleDouble& value, double radius) {
  return {value.high, value.low, radius};
}

}  // namespace attest::oracle
