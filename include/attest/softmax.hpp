// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// softmax: scores in, a probability distribution out, e^{x_j} / Σ_k e^{x_k}, of a row and of each
// row of a matrix.
#pragma once
#include <attest/concepts.hpp>
#include <attest/exp.hpp>
#include <attest/lanes.hpp>
#include <attest/mask.hpp>
#include <attest/matrix.hpp>
#include <attest/quotient.hpp>
#include <attest/special.hpp>
#include <attest/vectors.hpp>

namespace attest {

// A score without a key: it takes its share of the weight and hands over nothing, so that a query
// may attend to nothing in particular (Xiao et al., "Efficient streaming language models with
// attention sinks", ICLR 2024; the learned logit of gpt-oss). Finite.
template <class T>
struct Sink {
  T score;
};
template <class T>
Sink(T) -> Sink<T>;
struct NoSink {};
template <class S>
concept has_score = requires(const S& sink) {
  sink.score;
};
template <class S, class T>
concept sink_has_the_number_type_of_the_scores =
    is_same_type<S, NoSink> || is_same_type<S, Sink<T>>;

// What the weights of a row were divided by: total = Σ e^{x_j − largest}, over the visible entries
// and the sink. Where there is nothing to divide, total is 0.
template <class T>
struct SoftmaxDenominator {
  T largest{};
  T total{};
};

// Scores are weighed by e^x, and exp returns the number type of its argument: float, double, the
// types of formats.hpp and fixed.hpp, or one that brings an exp along. Integers have none, and exp
// of a long double would be that of a double.
template <class T>
concept number_type_has_an_exp_of_its_own = requires(const T& x) {
  requires is_same_type<decltype(by_value(exp(x))), T>;
};

// Whether −∞ stands for a hidden score, whose exponential is zero. Else a visible score does, and
// the weight is set to zero: of numbers without infinity, and of floats where exp_in_vectors would
// leave a row with a zero to others.
template <class T>
inline constexpr bool hidden_scores_vanish = is_same_type<T, float> ? width_of_exp<lanes>() == 0
                                                                    : is_float_or_double<T>;

// e^{x_j − largest} in place, for begin ≤ j < end; of floats, where the processor has vectors, for
// all lanes from the one of begin to the one of end − 1.
template <class T, size_t N>
constexpr void exp_of_differences(T (&x)[N], const T& largest, size_t begin, size_t end) {
  if constexpr (is_same_type<T, float> && processor_has_vectors) {
    constexpr size_t width = used_lanes<N>, rest = N % width, whole = N - rest;
    if constexpr (N % (2 * width) == 0)
      if (begin == 0 && end == N) {
        for (size_t j = 0; j < N; j += 2 * width) exp_side_by_side<2 * width>(x + j, largest);
        return;
      }
    for (size_t j = begin - begin % width; j < whole && j < end; j += width)
      exp_side_by_side<width>(x + j, largest);
    if constexpr (rest != 0)
      if (end > whole) exp_side_by_side<rest>(x + whole, largest);
  } else {
    for (size_t j = begin; j < end; ++j) x[j] = exp(x[j] - largest);
  }
}

// The same of short rows of floats, whose lanes would stay empty: Rows of them side by side.
template <size_t Rows, size_t N>
constexpr void exp_of_short_rows(float (*x)[N], const float (&largest)[Rows]) {
  constexpr size_t all = Rows * N, width = used_lanes<all>, rest = all % width, whole = all - rest;
  float difference[all];
  for (size_t r = 0; r < Rows; ++r)
    for (size_t j = 0; j < N; ++j) difference[r * N + j] = x[r][j] - largest[r];
  for (size_t j = 0; j < whole; j += width) exp_side_by_side<width>(difference + j, 0);
  if constexpr (rest != 0) exp_side_by_side<rest>(difference + whole, 0);
  for (size_t r = 0; r < Rows; ++r)
    for (size_t j = 0; j < N; ++j) x[r][j] = difference[r * N + j];
}

// The weights of a row over the entries it may see, in place; an entry it may not see gets weight
// zero, and a row that sees nothing is all zeros. Between the first and the last visible entry the
// hidden ones are computed with: loops without branches are what a compiler makes vectors of.
// Scores are finite: e^{x_j − max} with the row's maximum subtracted is then in (0, 1] or
// underflows to 0, the sum is in [1, n], and nothing overflows whatever the size of the scores.
// Shifting all scores by one number changes nothing but their rounding.
//
// Error. Let g_j be the exact softmax of the given scores, a_j = max − x_j ≥ 0, u the unit
// roundoff, n the number of visible entries, and exp correctly rounded. The subtraction errs by
// u·a_j in the exponent, that is by a factor e^{±u·a_j}; exp by 1 ± u; the sum of n positive terms
// by (1 ± u)^{n−1}, or h in place of n − 1 if more than h = ⌈N/32⌉ + 4; the division by 1 ± u. The
// denominator inherits the weighted mean of its terms' errors, u·(1 + Σ_k g_k a_k), and Σ_k g_k a_k
// = H(g) − ln Σ_k e^{−a_k} ≤ ln n, the entropy of n outcomes. Together, up to terms in u²,
//   |computed_j − g_j| ≤ (min(n, h + 1) + 2 + a_j + ln n)·u·g_j,
// and 2 smallest subnormals more where e^{−a_j} or the quotient underflows. The terms as computed
// are summed and divided, so that
//   |Σ_j computed_j − 1| ≤ min(n, h + 1)·u.
// A sink is one entry more, added last: n, h and the entropy count it.
// Blanchard, D. J. Higham & N. J. Higham, "Accurately computing the log-sum-exp and softmax
// functions", IMA J. Numer. Anal. 41(4), 2021, analyse the same computation and find that
// subtracting the maximum costs no accuracy, while e^{x_j − ln Σ e^{x_k}} may lose some.
//
// These are rows first … first + Rows − 1. Each step is taken by all of them before the next: the
// largest entry and the sum of a row end in steps that wait for one another, and while one row
// waits the others go on.
template <size_t Rows, class T, size_t N, class Visible, class Sink>
constexpr void softmax_rows(T (*x)[N], const Visible& visible, size_t first, const Sink& sink,
                            T (&largest)[Rows], T (&total)[Rows]) {
  size_t begin[Rows]{}, end[Rows]{};
  for (size_t r = 0; r < Rows; ++r) {
    const size_t i = first + r;
    size_t from = 0, to = N;
    while (from < N && !sees(visible, i, from)) ++from;
    if (from == N) {
      largest[r] = total[r] = T(0);
      if constexpr (has_score<Sink>) largest[r] = sink.score, total[r] = T(1);
      for (size_t j = 0; j < N; ++j) x[r][j] = largest[r];  // becomes 0, as all that is hidden
      continue;
    }
    while (!sees(visible, i, to - 1)) --to;
    T hidden = x[r][from];
    if constexpr (hidden_scores_vanish<T>) hidden = -bits::infinity<T>;
    for (size_t j = 0; j < N; ++j) x[r][j] = sees(visible, i, j) ? x[r][j] : hidden;
    largest[r] = largest_in_lanes(x[r]);
    if constexpr (has_score<Sink>) largest[r] = sink.score > largest[r] ? sink.score : largest[r];
    begin[r] = from;
    end[r] = to;
  }
  if constexpr (Rows > 1 && N < lanes && is_same_type<T, float>)
    exp_of_short_rows(x, largest);
  else
    for (size_t r = 0; r < Rows; ++r) exp_of_differences(x[r], largest[r], begin[r], end[r]);
  for (size_t r = 0; r < Rows; ++r) {
    if constexpr (hidden_scores_vanish<T>) {
      for (size_t j = 0; j < begin[r]; ++j) x[r][j] = 0;
      for (size_t j = end[r]; j < N; ++j) x[r][j] = 0;
    } else {
      for (size_t j = 0; j < N; ++j) x[r][j] = sees(visible, first + r, j) ? x[r][j] : T(0);
    }
    if (begin[r] == end[r]) continue;
    total[r] = sum_in_lanes(x[r]);
    if constexpr (has_score<Sink>) total[r] = total[r] + exp(sink.score - largest[r]);
  }
  for (size_t r = 0; r < Rows; ++r) divide(x[r], total[r], begin[r], end[r]);
}

// Row i alone.
template <class T, size_t N, class Visible, class Sink = NoSink>
constexpr SoftmaxDenominator<T> softmax_row(T (&x)[N], const Visible& visible, size_t i,
                                            const Sink& sink = {}) {
  T largest[1]{}, total[1]{};
  softmax_rows(&x, visible, i, sink, largest, total);
  return {largest[0], total[0]};
}

// Each row of the scores becomes a distribution over the columns; see softmax_rows for masks and
// the error.
template <class T, size_t R, size_t C, class Visible = Everything>
requires number_type_has_an_exp_of_its_own<T> && fits<Visible, R, C>
constexpr Matrix<T, R, C> softmax(const Matrix<T, R, C>& scores, const Visible& visible = {}) {
  Matrix<T, R, C> weights = scores;
  for (size_t i = 0; i < R; ++i) softmax_row(weights.entries[i], visible, i);
  return weights;
}

}  // namespace attest
