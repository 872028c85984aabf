// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// softmax: scores in, a probability distribution out, e^{x_j} / Σ_k e^{x_k}, of a row and of each
// row of a matrix.
#pragma once
#include <attest/exp.hpp>
#include <attest/mask.hpp>
#include <attest/matrix.hpp>

namespace attest {

// The weights of row i over the entries it may see, in place; an entry it may not see gets weight
// zero, and a row that sees nothing is all zeros. Scores are finite: e^{x_j − max} with the row's
// maximum subtracted is then in (0, 1] or underflows to 0, the sum is in [1, n], and nothing
// overflows whatever the size of the scores. Shifting all scores by one number changes nothing but
// their rounding.
//
// Error. Let g_j be the exact softmax of the given scores, a_j = max − x_j ≥ 0, u the unit
// roundoff, n the number of visible entries, and exp correctly rounded. The subtraction errs by
// u·a_j in the exponent, that is by a factor e^{±u·a_j}; exp by 1 ± u; the sum of n positive terms
// by (1 ± u)^{n−1}; the division by 1 ± u. The denominator inherits the weighted mean of its terms'
// errors, u·(1 + Σ_k g_k a_k), and Σ_k g_k a_k = H(g) − ln Σ_k e^{−a_k} ≤ ln n, the entropy of n
// outcomes. Together, up to terms in u²,
//   |computed_j − g_j| ≤ (n + 2 + a_j + ln n)·u·g_j,
// and 2 smallest subnormals more where e^{−a_j} or the quotient underflows. The terms as computed
// are summed and divided, so that
//   |Σ_j computed_j − 1| ≤ n·u.
// Blanchard, D. J. Higham & N. J. Higham, "Accurately computing the log-sum-exp and softmax
// functions", IMA J. Numer. Anal. 41(4), 2021, analyse the same computation and find that
// subtracting the maximum costs no accuracy, while e^{x_j − ln Σ e^{x_k}} may lose some.
template <class T, size_t N, class Visible>
constexpr void softmax_row(T (&x)[N], const Visible& visible, size_t i) {
  size_t first = 0;
  while (first < N && !sees(visible, i, first)) x[first++] = T(0);
  if (first == N) return;
  T largest = x[first];
  for (size_t j = first + 1; j < N; ++j)
    if (sees(visible, i, j) && x[j] > largest) largest = x[j];
  T total(0);
  for (size_t j = first; j < N; ++j)
    if (sees(visible, i, j))
      total = total + (x[j] = exp(x[j] - largest));
    else
      x[j] = T(0);
  for (size_t j = first; j < N; ++j)
    if (sees(visible, i, j)) x[j] = x[j] / total;
}

// Each row of the scores becomes a distribution over the columns; see softmax_row for masks and the
// error.
template <class T, size_t R, size_t C, class Visible = Everything>
  requires fits<Visible, R, C>
constexpr Matrix<T, R, C> softmax(const Matrix<T, R, C>& scores, const Visible& visible = {}) {
  Matrix<T, R, C> weights = scores;
  for (size_t i = 0; i < R; ++i) softmax_row(weights.entries[i], visible, i);
  return weights;
}

}  // namespace attest
