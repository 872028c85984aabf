// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The log-sum-exp of a row, ln Σ e^{x_j} or log₂ Σ e^{x_j}: its enclosure, and what the claimed
// arithmetic may lose of it.
//
// Enclosure. With m the computed maximum, an exact shift, and L̂ the computed sum of exponentials,
//   lse = m + ln L, |L̂/L − 1| <= Σ p ρ + N u (exponentials.hpp).
// Tolerance, of a subject that computes m + ln Σ e^{x_j − m} or the same in base two, possibly by
//   tiles, from weights ê_j = e_j + deviation_j (tolerance.hpp, scale folded into the exponent):
//   |ln Σ ê − ln Σ e| <= −ln(1 − r), r = Σ deviation/Σ e, or, where scores are known to no better
//   than their own size, the largest error of one;
//   the sum of N exponentials and T rescales loses (N + 1 + 2T) u_s of it;
//   ln has a relative error of at most 4 units in the last place and near 1, where hardware
//   computes log₂ by a table, an absolute one of as many (CUDA C++ programming guide, intrinsic
//   functions: __logf 2^-21.41);
//   m by the constant log₂ e or its inverse, the sum and the result once more: 4 roundings of
//   numbers no larger than |m| + |lse|.
#pragma once
#include <attest/oracle/exponentials.hpp>
#include <attest/oracle/tolerance.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace attest::oracle {

inline constexpr double log2_e = 0x1.71547652b82fep+0;

template <class Real>
struct EnclosedNumber {
  Real value{};
  double radius = std::numeric_limits<double>::infinity();
};

// ln x for 1 <= x <= 2^64. Whatever a library's logarithm returns is the start s: x e^−s = 1 + δ
// with a small δ, and ln x = s + δ − δ²/2 + δ³/3 − …, the remainder being below δ^10.
template <class Real>
EnclosedNumber<Real> logarithm(const Real& x) {
  using A = Arithmetic<Real>;
  const double start = std::log(static_cast<double>(x));
  const Real delta = x * A::exp(Real(-start)) - Real(1);
  const double size = std::fabs(static_cast<double>(delta));
  if (!(size < 0x1p-30)) return {};
  Real series = 0;
  for (int n = 9; n >= 1; --n) series = delta * (Real(1) / Real(n) - series);
  EnclosedNumber<Real> result;
  result.value = Real(start) + series;
  result.radius =
      1.01 * (A::exp_error + A::roundoff * (4 + std::fabs(start) + 4 * size)) + 0x1p-300;
  return result;
}

// By the natural logarithm, of a row with a visible key.
template <class Real>
EnclosedNumber<Real> enclose_log_sum_exp(const Exponentials<Real>& row) {
  using A = Arithmetic<Real>;
  EnclosedNumber<Real> result;
  if (!row.bounded) return result;
  const EnclosedNumber<Real> of_sum = logarithm(row.sum);
  const double relative =
      row.mean_rho / (1 - row.largest_rho) + row.visible * A::roundoff + row.lost;
  result.value = row.maximum + of_sum.value;
  // −ln(1 − x) <= 1.02 x, x being at most 0.0105
  result.radius = 1.03 * relative + of_sum.radius +
                  1.01 * A::roundoff * std::fabs(static_cast<double>(result.value));
  if (!std::isfinite(static_cast<double>(result.value)))
    result.radius = std::numeric_limits<double>::infinity();
  return result;
}

// x/ln 2.
template <class Real>
EnclosedNumber<Real> in_base_two(const EnclosedNumber<Real>& x) {
  const EnclosedNumber<Real> ln2 = logarithm(Real(2));
  EnclosedNumber<Real> result;
  result.value = x.value / ln2.value;
  const double size = std::fabs(static_cast<double>(result.value));
  result.radius =
      1.01 * (log2_e * x.radius + size * (log2_e * ln2.radius + Arithmetic<Real>::roundoff));
  return result;
}

// The error of each score of a subject that folds the scale into the exponent or subtracts a
// log-sum-exp: numbers of the scores' own size are rounded.
template <class Real>
std::vector<double> folded_score_errors(const Precision& claim, const RowData& row,
                                        const RowEnclosure<Real>& exact,
                                        const std::vector<double>& score_error) {
  const double u_s = claim.softmax.unit_roundoff();
  double largest = 0;
  for (std::size_t j = 0; j < row.key_count; ++j)
    if (row.visible(j) && exact.below_maximum[j] == 0)
      largest = std::fabs(static_cast<double>(exact.scores[j].biased));
  std::vector<double> folded = score_error;
  for (std::size_t j = 0; j < row.key_count; ++j)
    if (row.visible(j))
      folded[j] += 2 * u_s *
                   (std::fabs(static_cast<double>(exact.scores[j].biased)) +
                    std::fabs(row.bias[j]) + largest);
  return folded;
}

// What the claimed arithmetic may lose of the log-sum-exp by the natural logarithm, before it is
// rounded to its own format. ∞: void.
template <class Real>
double tolerate_log_sum_exp(const Precision& claim, const RowData& row,
                            const RowEnclosure<Real>& exact, const std::vector<double>& score_error,
                            double log_sum_exp) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double u_s = claim.softmax.unit_roundoff();
  const std::vector<double> folded = folded_score_errors(claim, row, exact, score_error);
  const double rescale_count = detail::rescales(claim, row, exact.below_maximum, score_error);
  const detail::WeightDeviations weights =
      detail::weight_deviations(claim, row, exact.below_maximum, folded, rescale_count);
  double visible = 0, sum = 0, deviation = 0, largest_error = 0, maximum = 0;
  for (std::size_t j = 0; j < row.key_count; ++j) {
    if (!row.visible(j)) continue;
    ++visible;
    sum += weights.e[j];
    deviation += weights.deviation[j];
    largest_error = std::max(largest_error, folded[j] + (2 + claim.exp_argument_error) * u_s *
                                                            (exact.below_maximum[j] + folded[j]));
    if (exact.below_maximum[j] == 0)
      maximum = std::fabs(static_cast<double>(exact.scores[j].biased));
  }
  const auto of_ratio = [](double r) { return r < 1 ? -std::log1p(-r) : infinity; };
  const double exp_error =
      std::expm1((claim.exp_error * (1 + rescale_count) + rescale_count) * u_s);
  const double flushed = visible * std::ldexp(1.0, claim.softmax.min_exponent);
  const double of_weights =
      std::min(of_ratio(deviation / sum), largest_error + of_ratio(exp_error) + of_ratio(flushed));
  const double of_sum = of_ratio(detail::compounded((visible + 1 + 2 * rescale_count) * u_s));
  const double error = of_weights + of_sum;
  const double logarithm = std::log(sum) + error;
  return (error + 8 * u_s * (std::fabs(logarithm) + 1) +
          4 * u_s * (maximum + largest_error + std::fabs(log_sum_exp) + error)) *
             (1 + 0x1p-20) +
         claim.softmax.smallest_subnormal();
}

}  // namespace attest::oracle
