// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What the table generators share: numbers of 100 digits, polynomials through Chebyshev points, and
// the printing of floating-point and fixed-point constants.
#pragma once
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace tables {

using boost::multiprecision::cpp_int;
using Real = boost::multiprecision::cpp_bin_float_100;

inline Real ln2() {
  return log(Real(2));
}

// Coefficients, lowest power first, of the polynomial of the given degree that equals f at the
// Chebyshev points of [low, high]. Its largest error is within a small factor of the least
// possible.
template <class Function>
std::vector<Real> interpolate(Function f, Real low, Real high, std::size_t degree) {
  const Real pi = 4 * atan(Real(1));
  const std::size_t n = degree + 1;
  std::vector<Real> point, difference;
  for (std::size_t i = 0; i < n; ++i) {
    point.push_back((low + high) / 2 + (high - low) / 2 * cos(pi * (2 * i + 1) / (2 * n)));
    difference.push_back(f(point.back()));
  }
  for (std::size_t order = 1; order < n; ++order)  // Newton's divided differences
    for (std::size_t i = n - 1; i >= order; --i)
      difference[i] = (difference[i] - difference[i - 1]) / (point[i] - point[i - order]);
  std::vector<Real> coefficient(n, Real(0));
  for (std::size_t i = n; i-- > 0;) {  // coefficient = coefficient·(x − point) + difference
    for (std::size_t power = n - 1; power > 0; --power)
      coefficient[power] = coefficient[power - 1] - point[i] * coefficient[power];
    coefficient[0] = difference[i] - point[i] * coefficient[0];
  }
  return coefficient;
}

// A function with a removable singularity at 0, given by its Taylor series: Σ term(n)·xⁿ.
template <class Term>
auto series(Term term) {
  std::vector<Real> terms;
  for (int n = 0; n <= 120; ++n) terms.push_back(term(n));
  return [terms](const Real& x) {
    Real sum = 0;
    for (std::size_t n = terms.size(); n-- > 0;) sum = sum * x + terms[n];
    return sum;
  };
}

// The value at x of the polynomial with these coefficients, lowest power first.
inline Real evaluate(const std::vector<Real>& coefficients, const Real& x) {
  Real sum = 0;
  for (std::size_t i = coefficients.size(); i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

// The coefficients as doubles or floats hold them.
inline std::vector<Real> rounded(std::vector<Real> coefficients) {
  for (Real& coefficient : coefficients) coefficient = coefficient.convert_to<double>();
  return coefficients;
}

inline std::vector<Real> rounded_to_float(std::vector<Real> coefficients) {
  for (Real& coefficient : coefficients) coefficient = coefficient.convert_to<float>();
  return coefficients;
}

// The largest |f| over 1001 points of [low, high], as a power of two.
template <class Function>
double largest_log2(Function f, const Real& low, const Real& high) {
  Real largest = 0;
  for (int i = 0; i <= 1000; ++i) {
    const Real value = abs(f(Real(low + (high - low) * i / 1000)));
    if (value > largest) largest = value;
  }
  return log2(largest).convert_to<double>();
}

inline Real factorial(int n) {
  Real product = 1;
  for (int i = 2; i <= n; ++i) product *= i;
  return product;
}

// x truncated to a multiple of 2^-bits.
inline Real truncate(const Real& x, int bits) {
  return ldexp(trunc(ldexp(x, bits)), -bits);
}

inline std::string hex(double x) {
  char text[64];
  std::snprintf(text, sizeof text, "%a", x);
  return text;
}
inline std::string hex(const Real& x) {
  return hex(x.convert_to<double>());
}

inline std::string hex_float(const Real& x) {
  return hex(static_cast<double>(x.convert_to<float>())) + "f";
}

// The words of floor(x·2^bits), most significant first.
inline std::vector<std::uint64_t> words(const Real& x, int bits, std::size_t count) {
  cpp_int fixed = floor(ldexp(x, bits)).convert_to<cpp_int>();
  std::vector<std::uint64_t> result(count);
  for (std::size_t i = count; i-- > 0;) {
    result[i] = static_cast<std::uint64_t>(fixed & ~std::uint64_t(0));
    fixed >>= 64;
  }
  return result;
}

inline std::string hex(std::uint64_t word) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(word));
  return text;
}

// A braced list of one or two words: {high, low}.
inline std::string braced(const std::vector<std::uint64_t>& list) {
  std::string text = "{";
  for (std::size_t i = 0; i < list.size(); ++i) text += (i ? ", " : "") + hex(list[i]);
  return text + "}";
}

}  // namespace tables
