// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The enclosure of one row of attention: intervals that certainly hold its exact scores, weights
// and outputs.
//
// Notation: u the roundoff of the arithmetic, η its smallest number; for one query and the keys j
// it sees,
//   s_j = c q·k_j,  x_j = cap(s_j) + bias_j,  e_j = exp(x_j − m),  L = Σ e_j,  p_j = e_j / L,  o =
//   Σ p_j v_j.
// Softmax is shift invariant, so the computed maximum m is an exact shift and has no error of its
// own.
//
// Scores. Any order of summation, fused or not: |fl(q·k) − q·k| <= d u Σ|q k| (Jeannerod and Rump,
// SIAM J. Matrix Anal.
//   Appl. 34, 2013, without a term in u²). With the product by c and, where c = 1/√d_k, two
//   roundings of c itself, |ŝ − s| <= (d + 4) u |c| Σ|q k| + (d |c| + 1) η. tanh has derivative at
//   most 1.
// Weights. With D_j the error of the argument and ε that of exp, e_j = ê_j (1 + φ_j), |φ_j| <= ρ_j
// = 1.01 D_j + 1.0001 ε
//   for D_j <= 0.01. Let õ = Σ ê_j v_j / Σ ê_j, exact sums of computed weights. Because Σ ê_j (v_j
//   − õ) = 0, o − õ = Σ ê_j φ_j (v_j − õ) / Σ ê_j (1 + φ_j): an error of a weight acts only through
//   the centred value.
// Sums. |n̂ − Σ ê v| <= N u Σ ê|v|, |L̂ − Σ ê| <= (N − 1) u Σ ê, and one division.
#pragma once
#include <attest/oracle/arithmetic.hpp>
#include <attest/rule.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace attest::oracle {

// One query and the keys and values of its head; all finite.
struct RowData {
  const double* query = nullptr;   // d numbers
  const double* keys = nullptr;    // T rows of d
  const double* values = nullptr;  // T rows of d_v
  const double* bias = nullptr;    // T numbers; −∞: masked
  std::size_t width = 0, value_width = 0, key_count = 0;

  bool visible(std::size_t j) const { return bias[j] != -std::numeric_limits<double>::infinity(); }
  const double* key(std::size_t j) const { return keys + j * width; }
  const double* value(std::size_t j) const { return values + j * value_width; }
};

// The score of one key, stage by stage, and how far each may be from the exact one.
template <class Real>
struct ScoreEnclosure {
  Real scaled{}, capped{}, biased{};
  double scaled_radius = 0, capped_radius = 0, biased_radius = 0;
  double product_size = 0;  // Σ|q k|, rounded: what the errors of every arithmetic scale with
};

template <class Real>
struct RowEnclosure {
  std::vector<ScoreEnclosure<Real>> scores;  // of each key; of masked keys only when asked for
  std::vector<double> below_maximum;         // m − x_j, ∞ for a masked key
  std::vector<double> weights;               // p_j rounded
  std::vector<double> weight_radius;
  std::vector<Enclosure> outputs;
  bool bounded = false;  // whether weights and outputs are enclosed at all in this arithmetic
};

template <class Real>
Real scale_value(const Scale& scale, std::size_t width) {
  using std::sqrt;
  return scale.by_width ? Real(1 / sqrt(Real(width))) : Real(scale.given);
}

// Encloses the scores of a row; those of masked keys too if `of_masked_keys`.
template <class Real>
void enclose_scores(const Rule& rule, const RowData& row, bool of_masked_keys,
                    RowEnclosure<Real>& result) {
  using A = Arithmetic<Real>;
  constexpr double u = A::roundoff;
  constexpr double smallest = A::smallest;
  const Real c = scale_value<Real>(rule.scale, row.width);
  const double c_size = std::fabs(static_cast<double>(c)) * (1 + 0x1p-50);
  const auto d = static_cast<double>(row.width);

  result.scores.assign(row.key_count, {});
  for (std::size_t j = 0; j < row.key_count; ++j) {
    if (!row.visible(j) && !of_masked_keys) continue;
    const double* k = row.key(j);
    Real product = 0;
    double size = 0;
    for (std::size_t t = 0; t < row.width; ++t) {
      product += Real(row.query[t]) * Real(k[t]);
      size += std::fabs(row.query[t] * k[t]);
    }
    ScoreEnclosure<Real>& score = result.scores[j];
    score.product_size = size;
    score.scaled = c * product;
    score.scaled_radius = (d + 4) * u * c_size * size * 1.001 + (d * c_size + 1) * smallest;
    score.capped = score.scaled;
    score.capped_radius = score.scaled_radius;
    if (rule.softcap != 0) {
      score.capped = rule.softcap * A::tanh(Real(score.scaled / rule.softcap));
      // the quotient may underflow, and the cap multiplies what it loses
      score.capped_radius +=
          (A::tanh_error + 3 * u) * std::fabs(static_cast<double>(score.capped)) * 1.001 +
          (rule.softcap + 1) * smallest;
    }
    score.biased = score.capped;
    score.biased_radius = score.capped_radius;
    if (row.visible(j) && row.bias[j] != 0) {
      score.biased = score.capped + row.bias[j];
      score.biased_radius += u * std::fabs(static_cast<double>(score.biased)) * 1.001;
    }
  }
}

// Encloses weights and outputs from the scores in `result` (their `biased` stage).
template <class Real>
void enclose_outputs(const RowData& row, RowEnclosure<Real>& result) {
  using A = Arithmetic<Real>;
  constexpr double u = A::roundoff;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double smallest = A::smallest;
  const std::size_t keys = row.key_count;

  result.below_maximum.assign(keys, infinity);
  result.weights.assign(keys, 0);
  result.weight_radius.assign(keys, 0);
  result.outputs.assign(row.value_width, {});
  result.bounded = true;

  const Real* maximum = nullptr;
  for (std::size_t j = 0; j < keys; ++j)
    if (row.visible(j) && (!maximum || result.scores[j].biased > *maximum))
      maximum = &result.scores[j].biased;
  if (!maximum) return;

  std::vector<Real> e(keys, Real(0));
  std::vector<double> rho(keys, 0);
  Real sum = 0;
  double visible = 0, neglected = 0, largest_rho = 0;
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.visible(j)) continue;
    ++visible;
    const Real y = result.scores[j].biased - *maximum;
    const auto distance = -static_cast<double>(y);
    result.below_maximum[j] = distance;
    const double argument_error = (result.scores[j].biased_radius + u * distance) * 1.001;
    // exp returns 0 below its smallest exponent, where the exact weight is below `neglected` still
    if (-distance + argument_error < A::smallest_exponent ||
        (-distance < A::smallest_exponent && argument_error <= 0.01)) {
      ++neglected;
      continue;
    }
    if (!(argument_error <= 0.01)) result.bounded = false;
    e[j] = A::exp(y);
    rho[j] = 1.01 * argument_error + 1.0001 * A::exp_error;
    largest_rho = std::max(largest_rho, rho[j]);
    sum += e[j];
  }
  // neglected weights are below this share of the row
  const double lost = neglected * A::neglected;
  double mean_rho = 0;
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.visible(j)) continue;
    result.weights[j] = static_cast<double>(Real(e[j] / sum));
    mean_rho += result.weights[j] * rho[j];
  }
  for (std::size_t j = 0; j < keys; ++j)
    if (row.visible(j))
      result.weight_radius[j] =
          1.03 * result.weights[j] * (rho[j] + mean_rho + (visible + 3) * u + lost + 0x1p-53) +
          A::neglected + 0x1p-1074;  // the weight rounded to double may underflow

  const std::size_t columns = row.value_width;
  std::vector<Real> outputs(columns, Real(0));
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.visible(j)) continue;
    const double* v = row.value(j);
    for (std::size_t t = 0; t < columns; ++t) outputs[t] += e[j] * Real(v[t]);
  }
  std::vector<double> centre(columns), centred(columns), size(columns), largest(columns);
  for (std::size_t t = 0; t < columns; ++t) {
    outputs[t] /= sum;
    centre[t] = static_cast<double>(outputs[t]);
  }
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.visible(j)) continue;
    const double* v = row.value(j);
    const double weight = result.weights[j] + 0x1p-1074;  // rounded up where it underflows
    const double weight_error = weight * rho[j];
    for (std::size_t t = 0; t < columns; ++t) {
      const double v_size = std::fabs(v[t]);
      // a difference of two doubles, with its own rounding
      centred[t] += weight_error * (std::fabs(v[t] - centre[t]) + 0x1p-50 * v_size +
                                    0x1p-50 * std::fabs(centre[t]));
      size[t] += weight * v_size;
      largest[t] = largest[t] < v_size ? v_size : largest[t];
    }
  }
  for (std::size_t t = 0; t < columns; ++t) {
    const double bound = centred[t] / (1 - largest_rho) + visible * u * size[t] +
                         (visible + 2) * u * std::fabs(centre[t]) + 2 * lost * largest[t];
    // 2 %: ρ at most 0.0102 times the sums' own errors, and the rounding of this bound
    const double radius = 1.02 * bound + (visible + 2) * smallest;
    result.outputs[t] = enclosure(outputs[t], radius);
    if (!std::isfinite(centre[t]) || !std::isfinite(radius)) result.bounded = false;
  }
}

}  // namespace attest::oracle
