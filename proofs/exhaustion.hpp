// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Proof by trying all cases: every order, every mask, every tiling, every matrix of small integers.
#pragma once
#include <attest/matrix.hpp>

namespace proofs {

using attest::Matrix;
using size_t = attest::size_t;

constexpr size_t factorial(size_t n) {
  return n == 0 ? 1 : n * factorial(n - 1);
}

// Whether holds(order) for all N! orders of N things.
template <size_t N>
constexpr bool for_all_orders(const auto& holds) {
  for (size_t code = 0; code < factorial(N); ++code) {
    size_t left[N], order[N]{};
    for (size_t i = 0; i < N; ++i) left[i] = i;
    for (size_t i = 0, rest = code; i < N; ++i) {
      const size_t choices = N - i, pick = rest % choices;
      rest /= choices;
      order[i] = left[pick];
      for (size_t j = pick; j + 1 < choices; ++j) left[j] = left[j + 1];
    }
    if (!holds(order)) return false;
  }
  return true;
}

// Whether holds(mask) for all masks from number `first` on, `count` of them; there are 2^(R·C).
template <size_t R, size_t C>
constexpr bool for_masks(size_t first, size_t count, const auto& holds) {
  for (size_t code = first; code < first + count; ++code) {
    Matrix<bool, R, C> mask;
    for (size_t i = 0; i < R; ++i)
      for (size_t j = 0; j < C; ++j) mask.entries[i][j] = code >> (i * C + j) & 1;
    if (!holds(mask)) return false;
  }
  return true;
}
template <size_t R, size_t C>
constexpr bool for_all_masks(const auto& holds) {
  return for_masks<R, C>(0, size_t{1} << R * C, holds);
}

// Whether holds(m) for all matrices whose entries are integers from lowest to highest.
template <class T, size_t R, size_t C>
constexpr bool for_all_integers(int lowest, int highest, const auto& holds) {
  Matrix<T, R, C> m;
  int entry[R * C];
  for (size_t e = 0; e < R * C; ++e) m.entries[e / C][e % C] = T(entry[e] = lowest);
  for (;;) {
    if (!holds(m)) return false;
    size_t e = 0;
    while (e < R * C && entry[e] == highest) m.entries[e / C][e % C] = T(entry[e] = lowest), ++e;
    if (e == R * C) return true;
    m.entries[e / C][e % C] = T(++entry[e]);
  }
}

}  // namespace proofs
