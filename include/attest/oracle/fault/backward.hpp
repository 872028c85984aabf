// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The gradients an implementation returns, added up row by row, and about what the claimed
// arithmetic may lose of each.
#pragma once
#include <attest/oracle/fault/row_evaluator.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

namespace attest::oracle {

struct GradientArray {
  const NumberFormat* format = nullptr;  // null: the call has no such output
  std::vector<double> sums, allowed;

  std::vector<double> values(bool rounds) const {
    if (!format) return {};
    std::vector<double> result = sums;
    if (rounds)
      for (double& x : result) x = format->round(x);
    return result;
  }
};

class BackwardSums {
 public:
  BackwardSums(const Problem& problem, const Precision& claim, bool rounds)
      : problem_(problem), claim_(claim) {
    if (rounds) round_ = detail::Rounder(claim.accumulate);
    const auto begin = [](GradientArray& array, const std::optional<Claim>& claimed) {
      if (!claimed) return;
      array.format = claimed->got.format();
      array.sums.assign(element_count(claimed->got.shape), 0);
      array.allowed.assign(array.sums.size(), 0);
    };
    begin(d_query, problem.d_query);
    begin(d_key, problem.d_key);
    begin(d_value, problem.d_value);
    begin(d_sinks, problem.d_sinks);
    begin(d_bias, problem.d_bias);
  }

  GradientArray d_query, d_key, d_value, d_sinks, d_bias;

  // A row that was computed forward.
  void add(const RowEvaluator& forward) {
    const RowIndex at = forward.row.place;
    if (problem_.padded(at.batch, at.row)) return;
    const Steps& steps = forward.implementation().steps;
    const std::size_t keys = std::min(problem_.keys(), forward.row.size());
    const std::size_t dv = problem_.value_width(), d = problem_.width();
    d_output_.resize(dv);
    const RowIndex from = steps.d_output ? steps.d_output(problem_, at) : at;
    problem_.d_output->read_row(from.batch, from.head, from.row, d_output_.data());
    double d_lse =
        problem_.d_log_sum_exp ? problem_.d_log_sum_exp->number(at.batch, at.head, at.row, 0) : 0;
    if (problem_.rule.log_sum_exp_base == LogBase::two) d_lse /= 0x1.62e42fefa39efp-1;
    const double u = std::max(claim_.accumulate.unit_roundoff(), claim_.softmax.unit_roundoff());
    const double u_p = claim_.weights.unit_roundoff();  // of weights and of what multiplies them
    BackwardRow row;
    row.scale = forward.scale * steps.product_factor;
    row.weights.assign(forward.row.weights.begin(),
                       forward.row.weights.begin() + static_cast<std::ptrdiff_t>(keys));
    row.d_weights.assign(keys, 0);
    row.d_scores.assign(keys, 0);
    row.slopes.assign(keys, 1);
    std::vector<double> size(keys, 0);
    double level_size = std::fabs(d_lse), largest = 0;
    row.level = -d_lse;
    for (std::size_t j = 0; j < keys; ++j) {
      if (const double* v = forward.row.values[j])
        for (std::size_t t = 0; t < dv; ++t) {
          row.d_weights[j] += d_output_[t] * v[t];
          size[j] += std::fabs(d_output_[t] * v[t]);
        }
      if (row.weights[j] != 0) {
        row.level += row.weights[j] * row.d_weights[j];
        level_size += std::fabs(row.weights[j]) * size[j];
        largest = std::max(largest, std::fabs(forward.row.scores[j]));
      }
      const double softcap = forward.problem().rule.softcap;
      if (softcap != 0 && !forward.implementation().steps.cap) {
        const double tanh = std::tanh(forward.scaled[j] / softcap);
        row.slopes[j] = 1 - tanh * tanh;
      }
    }
    for (std::size_t j = 0; j < keys; ++j)
      if (forward.row.constant[j]) row.slopes[j] = 0;
    if (forward.empty) row.level = 0;
    for (std::size_t j = 0; j < keys; ++j)
      row.d_scores[j] = forward.empty || row.weights[j] == 0
                            ? 0
                            : row.weights[j] * (row.d_weights[j] - row.level);
    const std::vector<double> before_change = row.d_scores;
    if (steps.on_backward) steps.on_backward(problem_, forward.row, row);

    const std::size_t g = problem_.key_value_head_of(at.head);
    const std::size_t before =
        problem_.past_lengths.empty() ? problem_.past() : problem_.past_lengths[at.batch];
    const std::size_t new_keys = problem_.key.shape[2];
    const std::size_t queries = problem_.queries();
    const double n = static_cast<double>(keys + d + dv);
    const std::size_t query_at =
        ((at.batch * problem_.query_heads() + at.head) * queries + at.row) * d;
    const std::vector<double>& q = forward.query();
    const std::vector<double>& k = forward.key_rows().keys;
    if (steps.keeps_last_group_member) clear_group(at, g);
    const double mean = mean_error(forward, u, largest, n);
    for (std::size_t j = 0; j < keys; ++j) {
      const double p = row.weights[j];
      const double weight_error =
          std::fabs(p) * (std::expm1(argument_error(forward, j, u, largest)) +
                          (n + 4 * claim_.exp_error) * u + 2 * u_p);
      // what was changed may be so much larger, and what is lost of it too
      const double larger =
          before_change[j] == 0 ? 1 : std::max(1.0, std::fabs(row.d_scores[j] / before_change[j]));
      const double score_error =
          larger * (2 * weight_error * (std::fabs(row.d_weights[j] - row.level)) +
                    2 * ((n + 8) * u + u_p) * std::fabs(p) * (size[j] + level_size) +
                    std::fabs(p) * level_size * mean);
      const double g_j = row.d_scores[j] * row.slopes[j] * row.scale;
      const double g_error =
          (score_error * row.slopes[j] + ((n + 8) * u + 2 * u_p) * std::fabs(row.d_scores[j])) *
          std::fabs(row.scale);
      if (j >= problem_.given_keys()) {
        if (d_sinks.format) accumulate(d_sinks, at.head, row.d_scores[j], score_error);
        continue;
      }
      if (p == 0 && row.d_scores[j] == 0) continue;
      const bool is_new = j >= before && j - before < new_keys;
      const std::size_t head = at.batch * problem_.key_value_heads() + g;
      for (std::size_t t = 0; t < d; ++t) {
        if (d_query.format)
          accumulate(d_query, query_at + t, row.d_query * g_j * k[j * d + t],
                     std::fabs(row.d_query * k[j * d + t]) * g_error);
        if (d_key.format && is_new)
          accumulate(d_key, (head * new_keys + j - before) * d + t, row.d_key * g_j * q[t],
                     std::fabs(row.d_key * q[t]) * g_error);
      }
      if (d_value.format && is_new)
        for (std::size_t t = 0; t < dv; ++t)
          accumulate(d_value, (head * new_keys + j - before) * dv + t,
                     row.d_value * p * d_output_[t],
                     std::fabs(row.d_value * d_output_[t]) * weight_error);
      if (d_bias.format && j < problem_.mask->shape[3]) {
        const Shape& extents = problem_.d_bias_extents;
        const auto along = [&](std::size_t axis, std::size_t x) {
          return extents[axis] == 1 ? 0 : x;
        };
        const std::size_t place =
            ((along(0, at.batch) * extents[1] + along(1, at.head)) * extents[2] +
             along(2, at.row)) *
                extents[3] +
            along(3, j);
        const double slope = problem_.mask_slopes.empty() ? 1 : problem_.mask_slopes[at.head];
        accumulate(d_bias, place, slope * row.d_scores[j], std::fabs(slope) * score_error);
      }
    }
  }

  // Half a unit in the last place of each result, and what its summation loses.
  void finish() {
    for (GradientArray* array : {&d_query, &d_key, &d_value, &d_sinks, &d_bias})
      for (std::size_t n = 0; n < array->sums.size(); ++n)
        if (std::isfinite(array->sums[n]))
          array->allowed[n] += array->format->half_ulp(array->sums[n]);
  }

 private:
  // Of a score that is exact nothing is lost when it is folded into the exponent either.
  static double argument_error(const RowEvaluator& forward, std::size_t j, double u,
                               double largest) {
    const double error = forward.row.errors[j];
    return error > 0 ? std::min(600.0, error + 4 * u * largest) : 0;
  }
  double mean_error(const RowEvaluator& forward, double u, double largest, double n) const {
    double error = 0;
    for (std::size_t j = 0; j < forward.row.size(); ++j)
      if (forward.row.weights[j] != 0)
        error +=
            std::fabs(forward.row.weights[j]) * std::expm1(argument_error(forward, j, u, largest));
    return error + (n + 4 * claim_.exp_error) * u;
  }
  void accumulate(GradientArray& array, std::size_t n, double term, double error) {
    array.sums[n] = round_(array.sums[n] + term);
    array.allowed[n] += error + static_cast<double>(problem_.queries() + problem_.keys() + 2) *
                                    claim_.accumulate.unit_roundoff() * std::fabs(term);
  }
  // A later head of a group writes over the sums of those before it.
  void clear_group(const RowIndex& at, std::size_t g) {
    if (at.row != 0) return;
    const std::size_t head = at.batch * problem_.key_value_heads() + g;
    for (GradientArray* array : {&d_key, &d_value}) {
      if (!array->format) continue;
      const std::size_t size =
          array->sums.size() / (problem_.batches() * problem_.key_value_heads());
      const auto from = static_cast<std::ptrdiff_t>(head * size);
      std::fill_n(array->sums.begin() + from, size, 0.0);
      std::fill_n(array->allowed.begin() + from, size, 0.0);
    }
  }

  const Problem& problem_;
  Precision claim_;
  detail::Rounder round_;
  std::vector<double> d_output_;
};

}  // namespace attest::oracle
