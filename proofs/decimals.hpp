// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// decimals<n>(A): the entries of A rounded to n decimals, as the integers a printed table shows:
// 0.982 is 982.
#pragma once
#include <attest/matrix.hpp>

namespace proofs {

template <int n, class T, attest::size_t R, attest::size_t C>
constexpr attest::Matrix<int, R, C> decimals(const attest::Matrix<T, R, C>& a) {
  T unit = 1;
  for (int k = 0; k < n; ++k) unit = unit * 10;
  attest::Matrix<int, R, C> rounded;
  for (attest::size_t i = 0; i < R; ++i)
    for (attest::size_t j = 0; j < C; ++j) {
      const T x = a[i][j] * unit;
      rounded[i][j] = static_cast<int>(x < 0 ? x - T(0.5) : x + T(0.5));
    }
  return rounded;
}

}  // namespace proofs
