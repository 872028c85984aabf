// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Random matrices that shrink, of magnitudes attention meets, for properties. RapidCheck draws and
// shows matrices of double whose size is known at run time, which hold what they are made into
// exactly: for those its templates are compiled once, in compiled_once/random_matrix.cpp.
#pragma once
#include "catch.hpp"
//
#include <attest/matrix.hpp>
#include <limits>
#include <ostream>
#include <vector>

namespace tests {

using attest::Matrix;
using std::size_t;

// Rows one after the other; `digits` tell its numbers apart.
struct RandomMatrix {
  size_t rows, columns;
  int digits;
  std::vector<double> entries;

  template <class T, size_t R, size_t C>
  Matrix<T, R, C> as() const {
    Matrix<T, R, C> m;
    for (size_t i = 0; i < R; ++i)
      for (size_t j = 0; j < C; ++j) m[i][j] = static_cast<T>(entries[i * C + j]);
    return m;
  }
};
void showValue(const RandomMatrix& m, std::ostream& out);

RandomMatrix random_integers(size_t rows, size_t columns, int bound, double unit = 1);
RandomMatrix random_numbers(size_t rows, size_t columns, int digits);
RandomMatrix random_mask(size_t rows, size_t columns);
RandomMatrix random_bias(size_t rows, size_t columns, int digits);

// A number in [low, end), near low at first and when shrinking.
int integer_in(int low, int end);
// A number below n; as likely any, whatever the size RapidCheck has come to.
size_t index_below(size_t n);
size_t any_of(size_t n);

// Small integers: sums and products of a few are exact in float.
template <class T, size_t R, size_t C>
Matrix<T, R, C> integers(int bound = 20) {
  return random_integers(R, C, bound).as<T, R, C>();
}

// Numbers of 24 bits that fill a magnitude of 1/16, 1, 4 or 16: scores from nearly equal to
// saturated. They shrink towards zero.
template <class T, size_t R, size_t C>
Matrix<T, R, C> numbers() {
  return random_numbers(R, C, std::numeric_limits<T>::max_digits10).template as<T, R, C>();
}

template <size_t R, size_t C>
Matrix<bool, R, C> masks() {
  return random_mask(R, C).as<bool, R, C>();
}

// Additive masks: small numbers, with −∞ in one place of four.
template <class T, size_t R, size_t C>
Matrix<T, R, C> biases() {
  return random_bias(R, C, std::numeric_limits<T>::max_digits10).template as<T, R, C>();
}

// Each of the orders of n things, the identity first when shrinking.
std::vector<size_t> order_of(size_t n);

template <class T, size_t R, size_t C>
Matrix<T, R, C> rows_of(const Matrix<T, R, C>& m, const std::vector<size_t>& order) {
  Matrix<T, R, C> result;
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < C; ++j) result[i][j] = m[order[i]][j];
  return result;
}

}  // namespace tests

namespace attest {

template <class T, size_t R, size_t C>
void showValue(const Matrix<T, R, C>& m, std::ostream& out) {
  tests::RandomMatrix shown{R, C, std::numeric_limits<T>::max_digits10, {}};
  for (const auto& row : m.entries)
    for (const T& entry : row) shown.entries.push_back(static_cast<double>(entry));
  tests::showValue(shown, out);
}

}  // namespace attest
