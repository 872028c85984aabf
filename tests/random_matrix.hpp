// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Random matrices that shrink, of magnitudes attention meets, and how RapidCheck shows them.
#pragma once
#include "catch.hpp"
//
#include <attest/matrix.hpp>
#include <limits>
#include <ostream>
#include <vector>

namespace attest {

template <class T, size_t R, size_t C>
void showValue(const Matrix<T, R, C>& m, std::ostream& out) {
  out.precision(std::numeric_limits<T>::max_digits10);
  for (size_t i = 0; i < R; ++i) {
    out << (i == 0 ? "{{" : " {");
    for (size_t j = 0; j < C; ++j) out << m[i][j] << (j + 1 < C ? ", " : "}");
    out << (i + 1 < R ? ",\n" : "}");
  }
}

}  // namespace attest

namespace tests {

using attest::Matrix;
using std::size_t;

template <class T, size_t R, size_t C>
Matrix<T, R, C> filled(const std::vector<int>& numbers, T unit) {
  Matrix<T, R, C> m;
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < C; ++j) m[i][j] = static_cast<T>(numbers[i * C + j]) * unit;
  return m;
}

// Small integers: sums and products of a few are exact in float.
template <class T, size_t R, size_t C>
rc::Gen<Matrix<T, R, C>> integers(int bound = 20) {
  return rc::gen::map(
      rc::gen::container<std::vector<int>>(R * C, rc::gen::inRange(-bound, bound + 1)),
      [](const std::vector<int>& numbers) { return filled<T, R, C>(numbers, 1); });
}

// Numbers of 24 bits that fill a magnitude of 1/16, 1, 4 or 16: scores from nearly equal to
// saturated. They shrink towards zero.
template <class T, size_t R, size_t C>
rc::Gen<Matrix<T, R, C>> numbers() {
  constexpr int bits = 24;
  return rc::gen::apply(
      [](const std::vector<int>& entries, T magnitude) {
        return filled<T, R, C>(entries, magnitude / (1 << bits));
      },
      rc::gen::resize(rc::kNominalSize,
                      rc::gen::container<std::vector<int>>(
                          R * C, rc::gen::inRange(-(1 << bits), (1 << bits) + 1))),
      rc::gen::element(T(1), T(0.0625), T(4), T(16)));
}

template <size_t R, size_t C>
rc::Gen<Matrix<bool, R, C>> masks() {
  return rc::gen::map(rc::gen::container<std::vector<int>>(R * C, rc::gen::inRange(0, 3)),
                      [](const std::vector<int>& numbers) {
                        Matrix<bool, R, C> m;
                        for (size_t i = 0; i < R; ++i)
                          for (size_t j = 0; j < C; ++j) m[i][j] = numbers[i * C + j] != 0;
                        return m;
                      });
}

// Additive masks: small numbers, with −∞ in one place of four.
template <class T, size_t R, size_t C>
rc::Gen<Matrix<T, R, C>> biases() {
  return rc::gen::apply(
      [](Matrix<T, R, C> bias, const std::vector<int>& hidden) {
        for (size_t i = 0; i < R; ++i)
          for (size_t j = 0; j < C; ++j)
            if (hidden[i * C + j] == 3) bias[i][j] = -std::numeric_limits<T>::infinity();
        return bias;
      },
      numbers<T, R, C>(), rc::gen::container<std::vector<int>>(R * C, rc::gen::inRange(0, 4)));
}

// Each of the orders of N things, the identity first when shrinking.
template <size_t N>
rc::Gen<std::vector<size_t>> orders() {
  return rc::gen::map(rc::gen::container<std::vector<int>>(N, rc::gen::inRange(0, 1 << 20)),
                      [](const std::vector<int>& keys) {
                        std::vector<size_t> order;
                        for (size_t i = 0; i < N; ++i) {
                          auto place = order.begin();
                          while (place != order.end() && keys[*place] <= keys[i]) ++place;
                          order.insert(place, i);
                        }
                        return order;
                      });
}

template <class T, size_t R, size_t C>
Matrix<T, R, C> rows_of(const Matrix<T, R, C>& m, const std::vector<size_t>& order) {
  Matrix<T, R, C> result;
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < C; ++j) result[i][j] = m[order[i]][j];
  return result;
}

}  // namespace tests
