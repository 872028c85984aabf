// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// softmax turns every row into a probability distribution that keeps the order of the scores and
// forgets their level. With exact fractions and the weight 2^x the laws hold with ==; with e^x in
// float and double they hold within the bounds of softmax.hpp, and the printed values to the
// decimals printed.
#include <attest/algebra.hpp>
#include <attest/exact.hpp>
#include <attest/softmax.hpp>
#include <limits>

#include "decimals.hpp"

namespace {
using namespace attest;
using proofs::decimals;
using Rational = small_rational;

// S6: the row [4, 16, 12] is almost a hard pick, its quotients by √3 a softer one.
constexpr auto printed = matrix({{4., 16., 12.}});
static_assert(decimals<3>(softmax(printed)) == matrix({{0, 982, 18}}),
              "S6: [0.000, 0.982, 0.018] unscaled");

// S21 in exact fractions: 2^3, 2^1, 2^0, 2^1 over their sum 13.
constexpr auto scores = matrix<Rational>({{3, 1, 0, 1}, {-2, 5, 5, -2}});
constexpr auto P = softmax(scores);
static_assert(P[0][0] == Rational(8, 13) && P[0][1] == Rational(2, 13) &&
              P[0][2] == Rational(1, 13));

template <class T, size_t R, size_t C>
constexpr bool rows_are_distributions(const Matrix<T, R, C>& p) {
  for (const auto& row : p.entries) {
    T sum(0);
    for (const T& x : row) {
      if (!(x >= T(0))) return false;
      sum = sum + x;
    }
    if (!(sum == T(1))) return false;
  }
  return true;
}
static_assert(rows_are_distributions(P), "S21: weights are not negative and sum to one");

// Shift invariance: softmax(x + c) = softmax(x), for every row a c of its own.
constexpr auto levels = matrix<Rational>({{7, 7, 7, 7}, {-3, -3, -3, -3}});
static_assert(softmax(scores + levels) == P, "softmax(x + c) = softmax(x)");
// Ratios: p_j / p_k = w(x_j − x_k), hence a larger score has the larger weight and equal scores
// share equally.
static_assert(P[0][0] / P[0][1] == Rational(4) && P[0][0] / P[0][2] == Rational(8),
              "p_j / p_k = w(x_j - x_k)");
static_assert(softmax(matrix<Rational>({{9, 9, 9}}))[0][2] == Rational(1, 3),
              "equal scores share equally");

// A hidden entry gets nothing, and the others are as if it were not there; a row that sees nothing
// is zero.
constexpr auto mask = matrix({{true, false, true, true}, {false, false, false, false}});
constexpr auto hidden = softmax(scores, mask);
static_assert(hidden[0][0] == Rational(8, 11) && hidden[0][1] == Rational(0) &&
                  hidden[0][2] == Rational(1, 11) && hidden[0][3] == Rational(2, 11),
              "2^3, 2^0, 2^1 over 11");
static_assert(hidden[1][0] == Rational(0) && hidden[1][3] == Rational(0),
              "nothing seen, nothing weighed");
static_assert(softmax(matrix({{1.f, 0.f, 3e38f}}), matrix({{true, true, false}})) ==
                  softmax(matrix({{1.f, 0.f, -3e38f}})),
              "however large it is");
static_assert(softmax(scores, causal)[0][0] == Rational(1), "S10: the first query sees one key");

// S5: without the subtraction the exponentials of large scores are infinite and their quotient is
// no number; with it they are those of the differences, which are exact here, so the bits are the
// same as without the large level.
constexpr auto level_1000 = matrix({{1000., 1001., 999.}});
static_assert(attest::exp(1000.) == std::numeric_limits<double>::infinity(),
              "S5: unshifted, e^1000 overflows");
static_assert(softmax(level_1000) == softmax(matrix({{0., 1., -1.}})),
              "S5: shifted, 1000 is as good as 0");
static_assert(attest::exp(89.f) == std::numeric_limits<float>::infinity(),
              "S5: in float e^89 is enough");
static_assert(softmax(matrix({{89.f, 90.f, -3e38f}})) == softmax(matrix({{-1.f, 0.f, -3e38f}})),
              "S5: any finite scores will do");

// S21 as computed: a row of n sums to one within n·u. The sum is taken in double, where n floats
// add exactly enough.
template <class T, size_t R, size_t C>
constexpr bool rows_sum_to_one(const Matrix<T, R, C>& p, double bound) {
  for (const auto& row : p.entries) {
    double error = -1;
    for (const T& x : row) error = error + static_cast<double>(x);
    if (error > bound || error < -bound) return false;
  }
  return true;
}
template <class T>
constexpr Matrix<T, 4, 37> spread_scores() {
  Matrix<T, 4, 37> s;
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 37; ++j) s[i][j] = T((i + 1) * ((j * 29) % 37)) / T(7) - T(3 * i);
  return s;
}
static_assert(rows_sum_to_one(softmax(spread_scores<float>()), 37 * 0x1p-24),
              "S21: |sum - 1| <= n u");
static_assert(!rows_sum_to_one(spread_scores<float>(), 37 * 0x1p-24), "the check can fail");

// The limits of one row: a lone key takes everything, and a key 2^7 below the largest underflows to
// nothing in float.
static_assert(softmax(matrix({{-5.f}, {3e38f}})) == matrix({{1.f}, {1.f}}),
              "one key takes everything");
static_assert(softmax(matrix({{128.f, 0.f}})) == matrix({{1.f, 0.f}}),
              "e^-128 < the smallest float");

// Of several rows at once, one that sees nothing leaves all to a sink, be it far below 0.
constexpr bool a_row_may_have_nothing_but_a_sink() {
  float x[2][3] = {{3e38f, 1.f, 2.f}, {-200.f, -200.f, 5.f}};
  float largest[2]{}, total[2]{};
  softmax_rows(x, matrix({{false, false, false}, {true, true, false}}), 0, Sink{-200.f}, largest,
               total);
  return x[0][0] == 0.f && x[0][1] == 0.f && x[0][2] == 0.f && largest[0] == -200.f &&
         total[0] == 1.f && x[1][0] == 1 / 3.f && x[1][2] == 0.f && total[1] == 3.f;
}
static_assert(a_row_may_have_nothing_but_a_sink(), "all to the sink");

}  // namespace
