// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Matrices of a number type of few bits, and the doubles that their entries are.
#pragma once
#include <attest/matrix.hpp>
#include <cstddef>

namespace tests {

template <class T, std::size_t R, std::size_t C>
attest::Matrix<T, R, C> rounded(const attest::Matrix<double, R, C>& m) {
  attest::Matrix<T, R, C> result;
  for (std::size_t i = 0; i < R; ++i)
    for (std::size_t j = 0; j < C; ++j) result[i][j] = T(m[i][j]);
  return result;
}
template <class T, std::size_t R, std::size_t C>
attest::Matrix<double, R, C> widened(const attest::Matrix<T, R, C>& m) {
  attest::Matrix<double, R, C> result;
  for (std::size_t i = 0; i < R; ++i)
    for (std::size_t j = 0; j < C; ++j) result[i][j] = static_cast<double>(m[i][j]);
  return result;
}

}  // namespace tests
