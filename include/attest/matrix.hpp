// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Matrix<T, R, C>: a value of R rows of C numbers, its shape part of its type.
#pragma once
#include <stddef.h>

namespace attest {

using size_t = ::size_t;

// C++ has no arrays without an entry.
template <size_t R, size_t C>
concept matrix_has_a_row_and_a_column = R != 0 && C != 0;

// An aggregate over a built-in array: trivially copyable, sizeof == R·C·sizeof(T), and structural,
// so that a whole weight matrix can be a template argument. A row is handed out by reference:
// kernels hoist `const auto& q = Q[i];` and index it directly, which costs one call per row at
// compile time where an (i, j) operator costs one per entry. An index out of range is undefined at
// run time; in a constant expression the compiler rejects it.
template <class T, size_t R, size_t C>
struct Matrix {
  static_assert(matrix_has_a_row_and_a_column<R, C>);
  using value_type = T;
  static constexpr size_t rows = R;
  static constexpr size_t columns = C;

  T entries[R][C]{};

  constexpr T (&operator[](size_t i))[C] { return entries[i]; }
  constexpr const T (&operator[](size_t i) const)[C] { return entries[i]; }

  // Written out: a default == compares but the first row where GCC 14 evaluates it as a constant.
  friend constexpr bool operator==(const Matrix& a, const Matrix& b) {
    for (size_t i = 0; i < R; ++i)
      for (size_t j = 0; j < C; ++j)
        if (!(a.entries[i][j] == b.entries[i][j])) return false;
    return true;
  }
};

// The matrix written in braces: matrix({{1., 2.}, {3., 4.}}) is a Matrix<double, 2, 2>.
template <class T, size_t R, size_t C>
constexpr Matrix<T, R, C> matrix(const T (&rows)[R][C]) {
  Matrix<T, R, C> result;
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < C; ++j) result.entries[i][j] = rows[i][j];
  return result;
}

}  // namespace attest
