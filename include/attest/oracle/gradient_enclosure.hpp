// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What one query contributes to the gradients of attention, enclosed: its weights and the
// derivatives by its scores. docs/gradients.md derives the bounds.
//
// With a the derivatives by the outputs and l that by the log-sum-exp, of one query and key j:
//   d_p_j = a·v_j,  D = Σ p d_p,  d_s_j = p_j (d_p_j − D + l),
//   g_j = c d_s_j (1 − tanh²(c q·k_j/cap)), the derivative by q·k_j.
#pragma once
#include <attest/oracle/log_sum_exp.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace attest::oracle {

template <class Real>
struct RowGradient {
  // Of each key; 0 for a masked one.
  std::vector<Real> weights, scores, products;  // p, d_s, g
  std::vector<double> weight_radius, score_radius, product_radius;
  // Rounded, for the tolerances: d_p, Σ|a v|, the slope of the cap and tanh.
  std::vector<double> d_weights, d_weight_size, slope, tanh;
  double level = 0;  // D, rounded
  bool bounded = false;
};

// The slope of the softcap, 1 − tanh²(z) = 4w/(1 + w)², w = e^(−2|z|), and its relative error where
// z is off by `error` <= 0.01: the derivative of its logarithm is at most 2.
template <class Real>
EnclosedNumber<Real> slope_of_softcap(const Real& z, double error) {
  using A = Arithmetic<Real>;
  const Real size = Real(0) > z ? Real(-z) : z;
  const Real w = A::exp(Real(-2) * size);
  const Real one_and_w = Real(1) + w;
  EnclosedNumber<Real> result;
  result.value = Real(4) * w / (one_and_w * one_and_w);
  if (error <= 0.01) result.radius = 1.03 * (2 * error + A::exp_error + 8 * A::roundoff);
  return result;
}

// `exact`: its scores; `d_output`: d_v finite numbers; `d_log_sum_exp`: by the natural logarithm.
template <class Real>
void enclose_row_gradient(const Rule& rule, const RowData& row, const RowEnclosure<Real>& exact,
                          const double* d_output, const EnclosedNumber<Real>& d_log_sum_exp,
                          RowGradient<Real>& result) {
  using A = Arithmetic<Real>;
  constexpr double u = A::roundoff;
  constexpr double smallest = A::smallest;
  const std::size_t keys = row.key_count;
  const Exponentials<Real> exponentials = enclose_exponentials(row, exact.scores);
  const auto size_of = [](const Real& x) {  // rounded up
    return std::fabs(static_cast<double>(x)) * (1 + 0x1p-50) + 0x1p-1074;
  };

  result.weights.assign(keys, Real(0));
  result.scores.assign(keys, Real(0));
  result.products.assign(keys, Real(0));
  for (auto* zero : {&result.weight_radius, &result.score_radius, &result.product_radius,
                     &result.d_weights, &result.d_weight_size, &result.tanh})
    zero->assign(keys, 0);
  result.slope.assign(keys, 1);
  result.bounded = exponentials.bounded;
  if (!result.bounded) return;

  // p_j and d_p_j
  const auto columns = static_cast<double>(row.value_width);
  const double visible = exponentials.visible, lost = exponentials.lost;
  std::vector<Real> d_weight(keys, Real(0));
  std::vector<double> d_weight_radius(keys, 0);
  double mean_size = 0, mean_radius = 0, largest = 0;
  Real level = 0;
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.visible(j)) continue;
    result.weights[j] = exponentials.e[j] / exponentials.sum;
    const double p = size_of(result.weights[j]);
    result.weight_radius[j] = p * exponentials.weight_error(j) + A::neglected + smallest;
    const double* v = row.value(j);
    double size = 0;
    for (std::size_t t = 0; t < row.value_width; ++t) {
      d_weight[j] += Real(d_output[t]) * Real(v[t]);
      size += std::fabs(d_output[t] * v[t]);
    }
    d_weight_radius[j] = columns * (u * size * 1.001 + smallest);
    level += result.weights[j] * d_weight[j];
    const double d_size = size_of(d_weight[j]);
    mean_size += p * d_size;
    mean_radius += p * d_weight_radius[j];
    largest = std::max(largest, d_size + d_weight_radius[j]);
    result.d_weights[j] = static_cast<double>(d_weight[j]);
    result.d_weight_size[j] = size;
  }
  result.level = static_cast<double>(level);

  // D: an error of a weight acts through the centred d_p only
  double centred = 0;
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.visible(j)) continue;
    const double distance = std::fabs(result.d_weights[j] - result.level) +
                            0x1p-49 * (std::fabs(result.d_weights[j]) + std::fabs(result.level));
    centred += size_of(result.weights[j]) * exponentials.rho[j] * (distance + d_weight_radius[j]);
  }
  const double level_radius = 1.05 * (centred / (1 - exponentials.largest_rho) + mean_radius +
                                      (2 * visible + 6) * u * mean_size + 2 * lost * largest) +
                              (visible + 2) * smallest * (1 + largest);

  const Real c = scale_value<Real>(rule.scale, row.width);
  const double c_size = size_of(c);
  const double l_size = size_of(d_log_sum_exp.value);
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.visible(j)) continue;
    const double p = size_of(result.weights[j]);
    const Real y = (d_weight[j] - level) + d_log_sum_exp.value;
    const double y_size = size_of(y);
    const double y_radius = d_weight_radius[j] + level_radius + d_log_sum_exp.radius +
                            3.01 * u * (size_of(d_weight[j]) + std::fabs(result.level) + l_size);
    result.scores[j] = result.weights[j] * y;
    result.score_radius[j] =
        1.03 * p * (y_radius + (exponentials.weight_error(j) + 2 * u) * y_size) +
        (A::neglected + smallest) * (y_size + y_radius) + smallest;

    Real by_scaled = result.scores[j];
    double by_scaled_radius = result.score_radius[j];
    if (rule.softcap != 0) {
      const Real z = exact.scores[j].scaled / Real(rule.softcap);
      const EnclosedNumber<Real> slope = slope_of_softcap(
          z, 1.01 * (exact.scores[j].scaled_radius / rule.softcap + 2 * u * size_of(z)) + smallest);
      by_scaled = by_scaled * slope.value;
      result.slope[j] = static_cast<double>(slope.value);
      result.tanh[j] = std::fabs(static_cast<double>(exact.scores[j].capped)) / rule.softcap;
      by_scaled_radius =
          1.03 *
              (by_scaled_radius * size_of(slope.value) + (slope.radius + u) * size_of(by_scaled)) +
          (4 * A::neglected + smallest) * (size_of(result.scores[j]) + by_scaled_radius) + smallest;
    }
    result.products[j] = c * by_scaled;
    result.product_radius[j] =
        1.001 * (c_size * by_scaled_radius + 5 * u * size_of(result.products[j])) +
        (1 + c_size) * smallest;
    if (!std::isfinite(result.product_radius[j]) || !std::isfinite(result.score_radius[j]) ||
        !std::isfinite(static_cast<double>(result.products[j])))
      result.bounded = false;
  }
}

}  // namespace attest::oracle
