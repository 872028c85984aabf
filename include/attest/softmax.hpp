// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// softmax: scores in, a probability distribution out, e^{x_j} / Σ_k e^{x_k}, of a row and of each
// row of a matrix.
#pragma once
#include <attest/exp.hpp>
#include <attest/mask.hpp>
#include <attest/matrix.hpp>
#include <attest/special.hpp>
#include <attest/vectors.hpp>

namespace attest {

// Rows are worked on in 32 lanes: lane l takes x_l, x_{l+32}, x_{l+64}, … one after the other; then
// lane l takes lane l + 16, then l + 8, l + 4, l + 2, l + 1. Sums side by side are what the
// vectors of a processor add at once. A compiler may not make them of one sum, since the bits would
// not be those of constant evaluation; so this is the order everywhere, with vectors or without.
// (Of 16 lanes GCC 12 makes single numbers before it looks for vectors.)
inline constexpr size_t lanes = 32;

// The lanes of a row of N, those that would stay empty left out.
template <size_t N>
inline constexpr size_t used_lanes = N < lanes ? N : lanes;

template <size_t half, class T, size_t width, class Operation>
constexpr T folded(T (&lane)[width], Operation operation) {
  for (size_t l = 0; l < half && l + half < width; ++l)
    lane[l] = operation(lane[l], lane[l + half]);
  if constexpr (half == 1)
    return lane[0];
  else
    return folded<half / 2>(lane, operation);
}

// x_0 + x_1 + … in n − 1 additions, of which no entry meets more than ⌈n/32⌉ + 4. Adding +0 changes
// no bit of a sum that is not negative, so zeros at the end may as well be missing.
template <class T, size_t N>
constexpr T sum_in_lanes(const T (&x)[N]) {
  constexpr size_t width = used_lanes<N>, whole = N - N % width;
  T lane[width];
  if constexpr (whole > width)
    for (size_t l = 0; l < width; ++l) lane[l] = x[l] + x[width + l];
  else
    for (size_t l = 0; l < width; ++l) lane[l] = x[l];
  for (size_t turn = 2; turn < whole / width; ++turn)
    for (size_t l = 0; l < width; ++l) lane[l] = lane[l] + x[turn * width + l];
  for (size_t l = 0; l < N - whole; ++l) lane[l] = lane[l] + x[whole + l];
  return folded<lanes / 2>(lane, [](const T& a, const T& b) { return a + b; });
}

// The largest entry; any order finds it.
template <class T, size_t N>
constexpr T largest_in_lanes(const T (&x)[N]) {
  constexpr size_t width = used_lanes<N>, whole = N - N % width;
  T lane[width];
  if constexpr (whole > width)
    for (size_t l = 0; l < width; ++l) lane[l] = x[width + l] > x[l] ? x[width + l] : x[l];
  else
    for (size_t l = 0; l < width; ++l) lane[l] = x[l];
  for (size_t turn = 2; turn < whole / width; ++turn)
    for (size_t l = 0; l < width; ++l)
      lane[l] = x[turn * width + l] > lane[l] ? x[turn * width + l] : lane[l];
  for (size_t l = 0; l < N - whole; ++l) lane[l] = x[whole + l] > lane[l] ? x[whole + l] : lane[l];
  return folded<lanes / 2>(lane, [](const T& a, const T& b) { return b > a ? b : a; });
}

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

// What the weights of a row were divided by: total = Σ e^{x_j − largest}, over the visible entries
// and the sink. Where there is nothing to divide, total is 0.
template <class T>
struct SoftmaxDenominator {
  T largest{};
  T total{};
};

// What stands for a hidden score: −∞, whose exponential is zero, or else a visible score.
template <class T>
constexpr T hidden_score(const T& visible_score) {
  if constexpr (is_float_or_double<T>)
    return -bits::infinity<T>;
  else
    return visible_score;
}

// e^{x_j − largest} in place, for begin ≤ j < end; of floats, where the processor has vectors, for
// all lanes from the one of begin to the one of end − 1.
template <class T, size_t N>
constexpr void exp_of_differences(T (&x)[N], const T& largest, size_t begin, size_t end) {
  if constexpr (is_same_type<T, float> && processor_has_vectors) {
    constexpr size_t width = used_lanes<N>, rest = N % width, whole = N - rest;
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
      for (size_t j = 0; j < N; ++j) x[r][j] = T(0);
      if constexpr (has_score<Sink>) largest[r] = sink.score, total[r] = T(1);
      continue;
    }
    while (!sees(visible, i, to - 1)) --to;
    for (size_t j = 0; j < N; ++j)
      x[r][j] = sees(visible, i, j) ? x[r][j] : hidden_score(x[r][from]);
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
    if constexpr (is_float_or_double<T>) {
      for (size_t j = 0; j < begin[r]; ++j) x[r][j] = 0;
      for (size_t j = end[r]; j < N; ++j) x[r][j] = 0;
    } else {
      for (size_t j = 0; j < N; ++j) x[r][j] = sees(visible, first + r, j) ? x[r][j] : T(0);
    }
    if (begin[r] == end[r]) continue;
    total[r] = sum_in_lanes(x[r]);
    if constexpr (has_score<Sink>) total[r] = total[r] + exp(sink.score - largest[r]);
  }
  for (size_t r = 0; r < Rows; ++r)
    if (begin[r] == 0 && end[r] == N)
      for (size_t j = 0; j < N; ++j) x[r][j] = x[r][j] / total[r];
    else
      for (size_t j = begin[r]; j < end[r]; ++j) x[r][j] = x[r][j] / total[r];
}

// Row i alone.
template <class T, size_t N, class Visible, class Sink = NoSink>
constexpr SoftmaxDenominator<T> softmax_row(T (&x)[N], const Visible& visible, size_t i,
                                            const Sink& sink = {}) {
  T largest[1]{}, total[1]{};
  softmax_rows(&x, visible, i, sink, largest, total);
  return {largest[0], total[0]};
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
