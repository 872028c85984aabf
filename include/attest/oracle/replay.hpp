// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Replay: where it is known how a subject rounds its weights, they are rounded again in the same
// way, and what that rounding loses is no longer part of the tolerance.
//
// Notation as in tolerance.hpp; rd rounds to the format of weights.
// Running maximum m_j of the tiles up to that of key j, in the order claimed: the subject
// multiplies
//   v_j by ŵ_j = rd(ê_j) f̂_j,  ê_j = e^(x_j − m_j) (1 + φ_j),  f̂_j = e^(m_j − m) (1 + ψ_j),
//   and divides by Σ e_j (1 + θ_j): by the sum of weights that are not rounded. Where all of
//   [e (1 − φ), e (1 + φ)] rounds to one number w_j, that is the subject's; elsewhere it differs by
//   at most Δ_j. With o' = Σ w_j f_j v_j/Σ e_j,
//     |o − o'| <= (Σ f_j (Δ_j + (w_j + Δ_j) ψ_j)|v_j|/L + D (|o'|)) / (1 − D),  D >= |Σ e θ|/Σ e.
//   Errors of f do not cancel here against those of the sum; they are those of a few exponentials.
// Normalized: ŵ_j = rd(p_j + ρ_j), nothing is divided afterwards.
#pragma once
#include <attest/oracle/tolerance.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace attest::oracle {

struct Replay {
  bool known = false;  // whether it bounds anything
  std::vector<Enclosure> outputs;
  std::vector<double> tolerance;  // before a result is rounded to its own format
};

namespace detail {

// The weight that a number within `error` of e is rounded to, and how far another may lie.
struct ReplayedWeight {
  double weight, error;
};
inline ReplayedWeight replayed_weight(double e, double error, const NumberFormat& format) {
  const double weight = format.round(e);
  const double low = format.round(std::max(0.0, e - error)), high = format.round(e + error);
  return {weight, std::max(high - weight, weight - low)};
}

// For each key the distance of its tile's running maximum below the row's, and how often it rises
// from there on.
struct RunningMaximum {
  std::vector<double> below;
  std::vector<double> rises;
};
inline RunningMaximum running_maximum(const RowData& row, const std::vector<double>& below_maximum,
                                      std::size_t tile, bool from_last) {
  const std::size_t keys = row.key_count;
  if (tile == 0) tile = keys;
  const std::size_t tiles = (keys + tile - 1) / tile;
  RunningMaximum result{std::vector<double>(keys, 0), std::vector<double>(keys, 0)};
  std::vector<double> risen(keys, 0);
  double maximum = std::numeric_limits<double>::infinity(), count = 0;
  for (std::size_t n = 0; n < tiles; ++n) {
    const std::size_t at = from_last ? tiles - 1 - n : n;
    const std::size_t begin = at * tile, end = std::min(keys, begin + tile);
    const double before = maximum;
    for (std::size_t j = begin; j < end; ++j)
      if (row.visible(j)) maximum = std::min(maximum, below_maximum[j]);
    count += maximum < before;
    for (std::size_t j = begin; j < end; ++j) {
      result.below[j] = maximum;
      risen[j] = count;
    }
  }
  for (std::size_t j = 0; j < keys; ++j) result.rises[j] = count - risen[j];
  return result;
}

}  // namespace detail

// `score_error`: of each biased score.
template <class Real>
Replay replay_outputs(const Precision& claim, const RowData& row, const RowEnclosure<Real>& exact,
                      const std::vector<double>& score_error, const RowTolerance& tolerance) {
  Replay result;
  const std::size_t keys = row.key_count, columns = row.value_width;
  if (!claim.weight_rounding || claim.weights.precision >= claim.softmax.precision) return result;
  const double u_s = claim.softmax.unit_roundoff();
  const double per_distance = (2 + claim.exp_argument_error) * u_s;

  // errors of arguments, that of the enclosure's own scores included
  double visible = 0, largest_score = 0, largest_radius = 0, sum = 0;
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.visible(j)) continue;
    ++visible;
    sum += std::exp(-exact.below_maximum[j]);
    largest_radius = std::max(largest_radius, exact.scores[j].biased_radius);
    largest_score = std::max(largest_score, std::fabs(static_cast<double>(exact.scores[j].biased)));
  }
  std::vector<double> argument(keys, 0);
  double largest_argument = 0;
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.visible(j)) continue;
    argument[j] = score_error[j] + 2 * largest_radius + 0x1p-50 * exact.below_maximum[j] +
                  2 * u_s * (2 * largest_score + std::fabs(row.bias[j]));
    largest_argument = std::max(largest_argument, argument[j]);
  }
  const double rescales = detail::rescales(claim, row, exact.below_maximum, argument);
  const detail::WeightDeviations deviations =
      detail::weight_deviations(claim, row, exact.below_maximum, argument, rescales);
  double deviation = 0;
  for (const double of_key : deviations.deviation) deviation += of_key;
  const double sums = detail::compounded((visible + 1 + 2 * rescales) * u_s);
  const double of_sum = deviation / sum + sums + 0x1p-40;
  if (!(of_sum < 0.25) || !(deviations.smallest_sum > 0)) return result;

  const bool normalized = *claim.weight_rounding == WeightRounding::normalized;
  const double denominator = normalized ? 1 : sum;
  detail::RunningMaximum running;
  if (!normalized)
    running = detail::running_maximum(
        row, exact.below_maximum, *claim.tile,
        *claim.weight_rounding == WeightRounding::running_maximum_from_last);
  std::vector<double> output(columns, 0), size(columns, 0), error(columns, 0);
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.visible(j)) continue;
    const double exp_error = std::expm1(claim.exp_error * u_s);
    detail::ReplayedWeight of_key{};
    double factor = 1, of_factor = 0;
    if (normalized) {
      const double p = exact.weights[j];
      const double raw =
          (deviations.deviation[j] / deviations.smallest_sum + p * of_sum) * (1 + of_sum);
      of_key = detail::replayed_weight(p, raw + exact.weight_radius[j], claim.weights);
    } else {
      const double y = std::max(0.0, exact.below_maximum[j] - running.below[j]);
      const double e = std::exp(-y);
      const double of_argument =
          argument[j] + largest_argument + per_distance * (y + 2 * largest_argument);
      if (!(of_argument < 0.5)) return result;
      const double flushed = std::ldexp(1.0, claim.softmax.min_exponent);
      of_key = detail::replayed_weight(
          e, e * (std::expm1(of_argument) * (1 + exp_error) + exp_error + 0x1p-50) + 2 * flushed,
          claim.weights);
      factor = std::exp(-running.below[j]);
      of_factor = running.below[j] == 0 && running.rises[j] == 0
                      ? 0
                      : std::expm1(2 * largest_argument +
                                   per_distance * (running.below[j] + 2 * largest_argument) +
                                   running.rises[j] * (claim.exp_error + 1) * u_s) +
                            0x1p-50;
    }
    const double weight = of_key.weight * factor;
    const double weight_error =
        factor * (of_key.error * (1 + of_factor) + of_key.weight * of_factor);
    const double* v = row.value(j);
    for (std::size_t t = 0; t < columns; ++t) {
      output[t] += weight * v[t];
      size[t] += weight * std::fabs(v[t]);
      error[t] += weight_error * std::fabs(v[t]);
    }
  }
  const double products = detail::compounded((visible + 2 * rescales) * claim.output_roundoff() +
                                             claim.input_roundoff());
  if (!(products < 0.25)) return result;
  for (std::size_t t = 0; t < columns; ++t) {
    const double o = output[t] / denominator;
    const double of_numerator = (error[t] + products * (size[t] + error[t])) / denominator;
    const double of_division = normalized ? 0 : of_sum * (std::fabs(o) + of_numerator);
    result.outputs.push_back(
        enclosure(o, (visible + 8) * 0x1p-52 * size[t] / denominator + 0x1p-1000));
    result.tolerance.push_back((of_numerator + of_division) / (1 - of_sum) * (1 + 0x1p-20) +
                               tolerance.underflow[t]);
  }
  result.known = true;
  return result;
}

}  // namespace attest::oracle
