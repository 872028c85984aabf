// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Sums, scaling and product of matrices, and the two row kernels every product is made of: dot and
// axpy.
#pragma once
#include <attest/concepts.hpp>
#include <attest/contraction.hpp>
#include <attest/ieee.hpp>
#include <attest/matrix.hpp>
#include <attest/transpose.hpp>

// Before a loop over entries that do not overlap with what they are computed from: GCC need not
// check at run time, and makes vectors of few entries before it unrolls them.
#if defined(__GNUC__) && !defined(__clang__)
#define ATTEST_ENTRIES_SIDE_BY_SIDE _Pragma("GCC unroll 1") _Pragma("GCC ivdep")
#else
#define ATTEST_ENTRIES_SIDE_BY_SIDE
#endif

namespace attest {

// x·y = ((0 + x₀y₀) + x₁y₁) + …, strictly from left to right. Eight terms stand in one statement
// because constant evaluation is paid by the statement; + associates to the left, so the bits are
// those of the plain loop. Error: |computed − x·y| ≤ n·u·Σ|x_k y_k| (Jeannerod & Rump 2013), plus
// n/2 times the smallest subnormal.
template <class T, size_t N>
constexpr T dot(const T (&x)[N], const T (&y)[N]) {
  ATTEST_NO_CONTRACTION
  T sum{};
  size_t k = 0;
  for (; k + 8 <= N; k += 8)
    sum = sum + x[k] * y[k] + x[k + 1] * y[k + 1] + x[k + 2] * y[k + 2] + x[k + 3] * y[k + 3] +
          x[k + 4] * y[k + 4] + x[k + 5] * y[k + 5] + x[k + 6] * y[k + 6] + x[k + 7] * y[k + 7];
  for (; k < N; ++k) sum = sum + x[k] * y[k];
  return sum;
}

// y ← y + x₀a₀ + x₁a₁ + … + x₇a₇ for rows a_k: every entry on its own, for begin ≤ j < end, and in
// the order of dot, so that a compiler can make vectors of neighbouring entries. y is read and
// written once for eight rows.
template <class T, size_t N>
constexpr void add_eight_rows(const T* x, const T (*a)[N], T (&y)[N], size_t begin = 0,
                              size_t end = N) {
  ATTEST_NO_CONTRACTION
  const T x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3], x4 = x[4], x5 = x[5], x6 = x[6], x7 = x[7];
  const T(&a0)[N] = a[0], (&a1)[N] = a[1], (&a2)[N] = a[2], (&a3)[N] = a[3], (&a4)[N] = a[4],
        (&a5)[N] = a[5], (&a6)[N] = a[6], (&a7)[N] = a[7];
  ATTEST_ENTRIES_SIDE_BY_SIDE
  for (size_t j = begin; j < end; ++j)
    y[j] = y[j] + x0 * a0[j] + x1 * a1[j] + x2 * a2[j] + x3 * a3[j] + x4 * a4[j] + x5 * a5[j] +
           x6 * a6[j] + x7 * a7[j];
}
// y ← y + a·x for one row x, every entry on its own, for begin ≤ k < end. Eight at a time: in a
// constant expression, paid by the statement, in one; at run time in vectors, at -O2 as well.
template <class T, size_t N>
constexpr void axpy(const T& a, const T (&x)[N], T (&y)[N], size_t begin = 0, size_t end = N) {
  ATTEST_NO_CONTRACTION
  size_t k = begin;
  if (__builtin_is_constant_evaluated())
    for (; k + 8 <= end; k += 8)
      y[k] = y[k] + a * x[k], y[k + 1] = y[k + 1] + a * x[k + 1],
      y[k + 2] = y[k + 2] + a * x[k + 2], y[k + 3] = y[k + 3] + a * x[k + 3],
      y[k + 4] = y[k + 4] + a * x[k + 4], y[k + 5] = y[k + 5] + a * x[k + 5],
      y[k + 6] = y[k + 6] + a * x[k + 6], y[k + 7] = y[k + 7] + a * x[k + 7];
  else {
    for (; k + 8 <= end; k += 8) {
      ATTEST_ENTRIES_SIDE_BY_SIDE
      for (size_t e = 0; e < 8; ++e) y[k + e] = y[k + e] + a * x[k + e];
    }
    // Counted, so that GCC 14 for Arm does not warn of entries beyond the array where none is left.
    for (size_t left = end > begin ? (end - begin) % 8 : 0; left > 0; --left, ++k)
      y[k] = y[k] + a * x[k];
  }
  for (; __builtin_is_constant_evaluated() && k < end; ++k) y[k] = y[k] + a * x[k];
}

// (AB)_ij = Σ_k A_ik B_kj, the sum in the order of dot. Row i of AB is the combination of the rows
// of B that row i of A prescribes, so B is read by rows and no entry of it is visited out of order.
template <class T, size_t R, size_t K, class U, size_t L, size_t C>
requires same_number_type<T, U> && inner_dimensions_agree<K, L>
constexpr Matrix<T, R, C> operator*(const Matrix<T, R, K>& a, const Matrix<U, L, C>& b) {
  Matrix<T, R, C> product;
  for (size_t i = 0; i < R; ++i)
    for (size_t k = 0; k < K; ++k) axpy(a.entries[i][k], b.entries[k], product.entries[i]);
  return product;
}

template <class T, size_t R, size_t C, class U, size_t S, size_t D>
requires same_number_type<T, U> && same_shape<R, C, S, D>
constexpr Matrix<T, R, C> operator+(const Matrix<T, R, C>& a, const Matrix<U, S, D>& b) {
  Matrix<T, R, C> sum;
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < C; ++j) sum.entries[i][j] = a.entries[i][j] + b.entries[i][j];
  return sum;
}

template <class T, size_t R, size_t C, class U, size_t S, size_t D>
requires same_number_type<T, U> && same_shape<R, C, S, D>
constexpr Matrix<T, R, C> operator-(const Matrix<T, R, C>& a, const Matrix<U, S, D>& b) {
  Matrix<T, R, C> difference;
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < C; ++j) difference.entries[i][j] = a.entries[i][j] - b.entries[i][j];
  return difference;
}

// The number comes first, as in print; it takes the type of the entries.
template <class T, size_t R, size_t C>
constexpr Matrix<T, R, C> operator*(typename Matrix<T, R, C>::value_type number,
                                    const Matrix<T, R, C>& a) {
  Matrix<T, R, C> scaled;
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < C; ++j) scaled.entries[i][j] = number * a.entries[i][j];
  return scaled;
}

// Ones on the diagonal: IA = A = AI.
template <class T, size_t N>
constexpr Matrix<T, N, N> identity() {
  Matrix<T, N, N> result;
  for (size_t i = 0; i < N; ++i) result.entries[i][i] = T(1);
  return result;
}

template <class A, class B>
concept can_multiply = requires(const A& a, const B& b) {
  a* b;
};

template <class A, class B>
concept can_add = requires(const A& a, const B& b) {
  a + b;
};

}  // namespace attest

#undef ATTEST_ENTRIES_SIDE_BY_SIDE
