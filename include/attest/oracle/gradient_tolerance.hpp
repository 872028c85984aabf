// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What the claimed arithmetic may lose of one query's contribution to the gradients.
// docs/gradients.md derives the bounds and lists the implementations they hold for.
#pragma once
#include <attest/oracle/gradient_enclosure.hpp>
#include <attest/oracle/score_tolerance.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace attest::oracle {

struct RowGradientTolerance {
  std::vector<double> weights, scores, products;  // of p, d_s and g, as a sum reads them
  bool vacuous = false;                           // the weights may be anything
  bool overflows = false;                         // a step may leave the range of its format
};

// Roundoff, or 0 where `format` is not coarser than `than`.
inline double coarser_roundoff(const NumberFormat& format, const NumberFormat& than) {
  return format.precision < than.precision ? format.unit_roundoff() : 0;
}

// `forward`: the tolerance of weights and outputs; `log_sum_exp_error`: of the natural logarithm
// `log_sum_exp`.
template <class Real>
void tolerate_row_gradient(const Rule& rule, const Precision& claim, const RowData& row,
                           const RowEnclosure<Real>& exact, const ScoreTolerance& score_tolerance,
                           const RowTolerance& forward, const RowGradient<Real>& gradient,
                           const double* d_output, double d_log_sum_exp, double log_sum_exp,
                           double log_sum_exp_error, RowGradientTolerance& result) {
  const std::size_t keys = row.key_count;
  const double u_a = std::max(claim.accumulate_roundoff(), claim.output_roundoff());
  const double u_s = claim.softmax.unit_roundoff(), u_i = claim.input_roundoff();
  const double u = std::max(u_a, u_s);
  // d_p and D may be stored as scores are, d_s as weights are
  const double u_stored = std::max(coarser_roundoff(claim.scores, claim.accumulate),
                                   coarser_roundoff(claim.softmax, claim.accumulate));
  const double u_weights = coarser_roundoff(claim.weights, claim.softmax);
  const double u_d_scores = std::max(u_stored, coarser_roundoff(claim.weights, claim.accumulate));
  const double smallest =
      std::max({claim.accumulate.smallest_subnormal(), claim.softmax.smallest_subnormal(),
                claim.output_accumulator().smallest_subnormal(), claim.input_underflow(),
                u_d_scores > 0 ? claim.scores.smallest_subnormal() : 0,
                u_d_scores > 0 ? claim.weights.smallest_subnormal() : 0});
  const double range =
      std::min({claim.accumulate.largest, claim.output_accumulator().largest,
                claim.input ? claim.input->largest : HUGE_VAL, claim.softmax.largest,
                claim.scores.largest, claim.weights.largest});
  const double exp_error = std::expm1(claim.exp_error * u_s);
  const double normal = std::ldexp(1.0, claim.softmax.min_exponent);
  const double c = std::fabs(scale_value<double>(rule.scale, row.width)) * (1 + 0x1p-50);

  for (auto* zero : {&result.weights, &result.scores, &result.products}) zero->assign(keys, 0);
  result.vacuous = false;
  // inputs rounded to a format of less range than float32 may underflow as well: not bounded here
  result.overflows = score_tolerance.may_overflow ||
                     (claim.input && claim.input->min_exponent > formats::float32.min_exponent);

  // p_j: e_j/Σ e as in the forward pass, or exp(x_j − lse) by a stored log-sum-exp
  const std::vector<double> folded = folded_score_errors(claim, row, exact, score_tolerance.biased);
  double visible = 0, moved = 0;
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.visible(j)) continue;
    ++visible;
    const double p = exact.weights[j];
    const double argument = folded[j] + log_sum_exp_error +
                            (2 + claim.exp_argument_error) * u_s *
                                (std::fabs(log_sum_exp) + exact.below_maximum[j] + folded[j]);
    double again = p == 0 ? 0 : p * (std::expm1(argument) * (1 + exp_error) + exp_error);
    again += std::min(p + again, normal);
    again += u_weights * (p + again) + smallest;
    result.weights[j] = std::max(forward.weights[j], again) * (1 + 0x1p-20);
    moved += std::min(1.0, result.weights[j]);
  }
  result.vacuous = moved >= 1;

  // d_p_j and D: Σ p d_p, or rowsum(d_output ∘ output) of the output as it is stored
  const auto columns = static_cast<double>(row.value_width);
  std::vector<double> d_weight_error(keys, 0);
  const double products_u = detail::compounded(columns * u_a + 2 * u_i);
  const double sums_u = detail::compounded((visible + 4) * u + u_stored);
  double of_weights = (visible + 1) * smallest;
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.visible(j)) continue;
    const double size = std::fabs(gradient.d_weights[j]);
    double error = products_u * gradient.d_weight_size[j] + columns * smallest;
    error += u_stored * (size + error) + smallest;
    d_weight_error[j] = error;
    const double p = exact.weights[j] + result.weights[j];
    of_weights += result.weights[j] * size + p * error + sums_u * p * (size + error);
    if (gradient.d_weight_size[j] > claim.accumulate.largest || size + error > range)
      result.overflows = true;
  }
  double of_output = (columns + 1) * smallest;
  for (std::size_t t = 0; t < row.value_width; ++t) {
    const double a = std::fabs(d_output[t]), o = std::fabs(exact.outputs[t].high);
    double error = forward.folded_outputs[t];
    error += output_rounding(claim, claim.output, o + error);
    of_output +=
        a == 0 ? 0 : a * (error + detail::compounded(columns * u + u_stored) * (o + error));
  }
  double level_error = std::max(of_weights, of_output);
  level_error += (u_stored + 2 * u) * (std::fabs(gradient.level) + level_error);

  const double l = std::fabs(d_log_sum_exp);
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.visible(j)) continue;
    const double p = exact.weights[j], p_error = result.weights[j];
    const double y = std::fabs(gradient.d_weights[j] - gradient.level + d_log_sum_exp);
    const double y_error = d_weight_error[j] + level_error +
                           3 * u *
                               (std::fabs(gradient.d_weights[j]) + std::fabs(gradient.level) + l +
                                d_weight_error[j] + level_error);
    const double d_score = std::fabs(static_cast<double>(gradient.scores[j]));
    double error = (p + p_error) * y_error + p_error * y;
    error += (3 * u + u_d_scores) * (d_score + error) + (2 + y + y_error) * smallest;
    result.scores[j] = error * (1 + 0x1p-20);

    double d_scaled = d_score;
    if (rule.softcap != 0) {
      // 1 − tanh², computed as it is written: an absolute error
      const double u_x = std::max({u, claim.scores.unit_roundoff(), claim.weights.unit_roundoff()});
      const double slope_error = std::min(
          1.0,
          2 * gradient.tanh[j] * (score_tolerance.capped[j] / rule.softcap + 2 * u_x) + 4 * u_x);
      error = error * std::min(1.0, gradient.slope[j] + slope_error) + d_score * slope_error;
      d_scaled = d_score * gradient.slope[j];
      error += (2 * u + u_d_scores) * (d_scaled + error) + 2 * smallest;
    }
    const double product = c * d_scaled;
    error = c * error + (2 * u_d_scores + 8 * u) * (product + c * error) + (2 + c) * smallest;
    result.products[j] = error * (1 + 0x1p-20);
    if (std::max({d_score, d_scaled, product}) + error > range) result.overflows = true;
  }
}

}  // namespace attest::oracle
