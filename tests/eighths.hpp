// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Random matrices of −7/8, −6/8, … 7/8, which every number type holds: floats of eight bits, fixed
// point, exact fractions.
#pragma once
#include "random_matrix.hpp"

namespace tests {

template <class T, size_t R, size_t C>
Matrix<T, R, C> eighths(int largest = 7) {
  const auto entries =
      *rc::gen::container<std::vector<int>>(R * C, rc::gen::inRange(-largest, largest + 1));
  Matrix<T, R, C> m;
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < C; ++j) m[i][j] = T(entries[i * C + j] * 0.125);
  return m;
}

}  // namespace tests
