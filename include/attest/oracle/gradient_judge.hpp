// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The verdict on each gradient: of query, key, value, sinks and bias, given the derivatives by the
// output and possibly by the log-sum-exp.
//
// A key/value head at a time: every query that reads it adds to sums over keys, so that memory is
// in proportion to keys, never to queries times keys.
#pragma once
#include <attest/oracle/gradient_tolerance.hpp>
#include <attest/oracle/log_sum_exp.hpp>
#include <attest/oracle/report.hpp>
#include <attest/oracle/row_judge.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

namespace attest::oracle::detail {

struct GradientReports {
  OutputReport query, key, value, sinks, bias;

  void add(const GradientReports& other) {
    query.add(other.query);
    key.add(other.key);
    value.add(other.value);
    sinks.add(other.sinks);
    bias.add(other.bias);
  }
};

// Why nothing is certified about a sum; the gravest of what feeds it.
enum class Obstacle { none, vacuous, overflow, undefined };

// Sums of contributions: what is exact, its radius, and what the claimed arithmetic may lose.
template <class Real>
struct GradientSums {
  std::vector<Real> value;
  std::vector<double> radius, tolerance;

  void clear(std::size_t count) {
    value.assign(count, Real(0));
    radius.assign(count, 0);
    tolerance.assign(count, 0);
  }
};

// Adds up and judges in one arithmetic.
template <class Real>
class GradientJudge {
 public:
  GradientJudge(const Problem& problem, const Precision& claim)
      : problem_(problem),
        claim_(claim),
        keys_(problem.keys()),
        width_(problem.width()),
        columns_(problem.value_width()) {
    if (problem.d_sinks) {
      sinks_.clear(problem.query_heads());
      sink_obstacles_.assign(problem.query_heads(), Obstacle::none);
    }
    if (problem.d_bias) {
      bias_.clear(element_count(problem.d_bias_extents));
      bias_obstacles_.assign(bias_.value.size(), Obstacle::none);
      const Shape full{problem.batches(), problem.query_heads(), problem.queries(), keys_};
      for (std::size_t axis = 0; axis < 4; ++axis)
        if (problem.d_bias_extents[axis] == 1) bias_terms_ *= static_cast<double>(full[axis]);
    }
  }

  GradientReports reports;
  bool decided = true;  // whether a wider arithmetic could decide no more

  // One head of keys and values, and the query heads that read it.
  void judge_head(std::size_t b, std::size_t g) {
    read_head(b, g);
    const std::size_t heads = problem_.query_heads() / problem_.key_value_heads();
    const auto rows = static_cast<double>(heads * problem_.queries());
    d_key_.clear(keys_ * width_);
    d_value_.clear(keys_ * columns_);
    obstacle_ = Obstacle::none;
    for (std::size_t h = 0; h < problem_.query_heads(); ++h) {
      if (problem_.key_value_head_of(h) != g) continue;
      head_key_.clear(keys_ * width_);
      head_value_.clear(keys_ * columns_);
      for (std::size_t i = 0; i < problem_.queries(); ++i) add_row(b, h, i, rows);
      // heads computed apart may be rounded before they are summed
      add_head(head_key_, d_key_, heads, problem_.d_key);
      add_head(head_value_, d_value_, heads, problem_.d_value);
    }
    judge_keys(b, g);
  }

  // The sums over all heads, once each has been added.
  void judge_shared() {
    if (problem_.d_sinks)
      for (std::size_t h = 0; h < problem_.query_heads(); ++h)
        count(*problem_.d_sinks, {0, 0, 0, h}, sinks_, h, sink_obstacles_[h], reports.sinks);
    if (problem_.d_bias) {
      const Shape& extents = problem_.d_bias_extents;
      std::size_t n = 0;
      for (std::size_t b = 0; b < extents[0]; ++b)
        for (std::size_t h = 0; h < extents[1]; ++h)
          for (std::size_t i = 0; i < extents[2]; ++i)
            for (std::size_t j = 0; j < extents[3]; ++j, ++n)
              count(*problem_.d_bias, {b, h, i, j}, bias_, n, bias_obstacles_[n], reports.bias);
    }
  }

 private:
  static constexpr double u = Arithmetic<Real>::roundoff;
  static constexpr double smallest = Arithmetic<Real>::smallest;

  void read_head(std::size_t b, std::size_t g) {
    query_.resize(width_);
    key_.resize(keys_ * width_);
    value_.resize(keys_ * columns_);
    row_bias_.resize(keys_);
    d_output_.resize(columns_);
    for (std::size_t j = 0; j < keys_; ++j) {
      problem_.read_key(b, g, j, key_.data() + j * width_);
      problem_.read_value(b, g, j, value_.data() + j * columns_);
    }
    row_ = {query_.data(), key_.data(), value_.data(), row_bias_.data(), width_, columns_, keys_};
    finite_ = all_finite(key_.data(), key_.size()) && all_finite(value_.data(), value_.size());
    arithmetic_.emplace(problem_.rule, claim_, row_);
  }

  void add_row(std::size_t b, std::size_t h, std::size_t i, double rows) {
    if (problem_.padded(b, i)) {
      Special special;
      special.zero = problem_.padded_row == PaddedRow::zero;
      special.anything = !special.zero;
      if (problem_.padded_row != PaddedRow::absent) judge_special_query(b, h, i, special);
      return;
    }
    problem_.query.read_row(b, h, i, query_.data());
    problem_.d_output->read_row(b, h, i, d_output_.data());
    bool any_visible = false, finite = finite_ && all_finite(query_.data(), width_) &&
                                       all_finite(d_output_.data(), columns_);
    for (std::size_t j = 0; j < keys_; ++j) {
      row_bias_[j] = problem_.bias(b, h, i, j);
      any_visible = any_visible || row_.visible(j);
      finite = finite && (!row_.visible(j) || std::isfinite(row_bias_[j]));
    }
    const Rule& rule = problem_.rule;
    const double d_lse = problem_.d_log_sum_exp ? problem_.d_log_sum_exp->number(b, h, i, 0) : 0;
    const bool defined =
        finite && std::isfinite(d_lse) &&
        !(rule.scale_by_square_roots && !rule.scale.by_width && rule.scale.given < 0);
    if (defined && any_visible) {
      add_visible_row(b, h, i, d_lse, rows);
    } else if (defined && rule.empty_row == EmptyRow::zero) {
      Special zero;
      zero.zero = true;
      judge_special_query(b, h, i, zero);
    } else if (defined && rule.empty_row == EmptyRow::mean) {
      add_mean_row(rows);
      Special zero;
      zero.zero = true;
      judge_special_query(b, h, i, zero);
    } else {
      Special open;
      open.anything = true;
      judge_special_query(b, h, i, open);
      hinder(Obstacle::undefined, b, h, i);
    }
  }

  void add_visible_row(std::size_t b, std::size_t h, std::size_t i, double d_lse, double rows) {
    const Rule& rule = problem_.rule;
    EnclosedNumber<Real> d_natural{Real(d_lse), 0};
    if (d_lse != 0 && rule.log_sum_exp_base == LogBase::two) d_natural = in_base_two(d_natural);

    enclose_scores(rule, row_, false, exact_);
    arithmetic_->tolerate(row_, exact_, score_tolerance_);
    enclose_outputs(row_, exact_);
    enclose_row_gradient(rule, row_, exact_, d_output_.data(), d_natural, gradient_);
    const EnclosedNumber<Real> log_sum_exp =
        enclose_log_sum_exp(enclose_exponentials(row_, exact_.scores));
    if (!exact_.bounded || !gradient_.bounded ||
        !(log_sum_exp.radius < std::numeric_limits<double>::infinity())) {
      decided = false;
      Element element;
      element.verdict = Verdict::no_certificate;
      element.enclosed = false;
      element.open = not_enclosed;
      if (problem_.d_query)
        for (std::size_t t = 0; t < width_; ++t) {
          element.index = {b, h, i, t};
          element.got = problem_.d_query->got.number(b, h, i, t);
          reports.query.count(element);
        }
      hinder(Obstacle::undefined, b, h, i);
      return;
    }
    const auto lse = static_cast<double>(log_sum_exp.value);
    tolerate_outputs(claim_, row_, exact_, score_tolerance_.biased, forward_);
    tolerate_row_gradient(rule, claim_, row_, exact_, score_tolerance_, forward_, gradient_,
                          d_output_.data(), static_cast<double>(d_natural.value), lse,
                          tolerate_log_sum_exp(claim_, row_, exact_, score_tolerance_.biased, lse),
                          tolerance_);
    const Obstacle obstacle = tolerance_.overflows ? Obstacle::overflow
                              : tolerance_.vacuous ? Obstacle::vacuous
                                                   : Obstacle::none;
    hinder(obstacle, b, h, i);

    double visible = 0;
    for (std::size_t j = 0; j < keys_; ++j) visible += row_.visible(j);
    d_query_.clear(width_);
    const Sum of_keys = sum(visible), of_rows = sum(rows);
    for (std::size_t j = 0; j < keys_; ++j) {
      if (!row_.visible(j)) continue;
      if (j >= problem_.given_keys()) {
        if (problem_.d_sinks)
          add(gradient_.scores[j], gradient_.score_radius[j], tolerance_.scores[j], 1,
              sum(rows * static_cast<double>(problem_.batches())), sinks_, h);
        continue;
      }
      for (std::size_t t = 0; t < width_; ++t) {
        add(gradient_.products[j], gradient_.product_radius[j], tolerance_.products[j],
            row_.key(j)[t], of_keys, d_query_, t);
        add(gradient_.products[j], gradient_.product_radius[j], tolerance_.products[j], query_[t],
            of_rows, head_key_, j * width_ + t);
      }
      for (std::size_t t = 0; t < columns_; ++t)
        add(gradient_.weights[j], gradient_.weight_radius[j], tolerance_.weights[j], d_output_[t],
            of_rows, head_value_, j * columns_ + t);
      if (problem_.d_bias && j < problem_.mask->shape[3])
        add(gradient_.scores[j], gradient_.score_radius[j], tolerance_.scores[j],
            problem_.mask_slopes.empty() ? 1 : problem_.mask_slopes[h], sum(bias_terms_), bias_,
            bias_place(b, h, i, j));
    }
    if (problem_.d_query)
      for (std::size_t t = 0; t < width_; ++t)
        count(*problem_.d_query, {b, h, i, t}, d_query_, t, obstacle, reports.query);
  }

  // Every value weighs 1/T; hidden scores were replaced, so nothing else depends on the row.
  void add_mean_row(double rows) {
    if (problem_.given_keys() == 0) return;
    const Real weight = Real(1) / Real(static_cast<double>(problem_.given_keys()));
    const auto size = static_cast<double>(weight);
    const double u_p = std::max(claim_.weights.unit_roundoff(), claim_.softmax.unit_roundoff());
    const double tolerance =
        (compounded(static_cast<double>(keys_) * claim_.softmax.unit_roundoff()) + 4 * u_p) * size;
    for (std::size_t j = 0; j < problem_.given_keys(); ++j)
      for (std::size_t t = 0; t < columns_; ++t)
        add(weight, 2 * u * size, tolerance, d_output_[t], sum(rows), head_value_,
            j * columns_ + t);
  }

  // How many terms a sum has, as roundings of each: of ours, of the claimed accumulation.
  struct Sum {
    double ours, claimed;
  };
  Sum sum(double terms) const {
    return {1.01 * (terms + 2) * u, compounded((terms + 1) * std::max(claim_.accumulate_roundoff(),
                                                                      claim_.output_roundoff()) +
                                               2 * claim_.input_roundoff())};
  }
  // Adds factor·x, and what is lost of it.
  void add(const Real& x, double radius, double tolerance, double factor, const Sum& roundings,
           GradientSums<Real>& sums, std::size_t n) const {
    if (factor == 0) return;
    const double size = std::fabs(static_cast<double>(x)) + 0x1p-1074;
    const double f = std::fabs(factor) * (1 + 0x1p-48);  // for the rounding of these bounds
    sums.value[n] += x * Real(factor);
    sums.radius[n] += (radius + roundings.ours * size) * f + smallest;
    sums.tolerance[n] += (tolerance + roundings.claimed * (size + tolerance)) * f +
                         std::max(claim_.accumulate.smallest_subnormal(),
                                  claim_.output_accumulator().smallest_subnormal()) +
                         claim_.input_underflow() * (1 + f + size + tolerance);
  }

  void add_head(const GradientSums<Real>& head, GradientSums<Real>& all, std::size_t heads,
                const std::optional<Claim>& claimed) const {
    for (std::size_t n = 0; n < head.value.size(); ++n) {
      const double size = std::fabs(static_cast<double>(head.value[n]));
      all.value[n] += head.value[n];
      all.radius[n] += head.radius[n] * (1 + 0x1p-40);
      all.tolerance[n] += head.tolerance[n] * (1 + 0x1p-20);
      if (heads > 1 && claimed)
        all.tolerance[n] +=
            static_cast<double>(heads) *
            output_rounding(claim_, *claimed->got.format(), size + head.tolerance[n]);
    }
  }

  void hinder(Obstacle obstacle, std::size_t b, std::size_t h, std::size_t i) {
    obstacle_ = std::max(obstacle_, obstacle);
    if (problem_.d_sinks) sink_obstacles_[h] = std::max(sink_obstacles_[h], obstacle);
    if (problem_.d_bias && obstacle != Obstacle::none)
      for (std::size_t j = 0; j < problem_.d_bias_extents[3]; ++j) {
        Obstacle& of_bias = bias_obstacles_[bias_place(b, h, i, j)];
        of_bias = std::max(of_bias, obstacle);
      }
  }

  std::size_t bias_place(std::size_t b, std::size_t h, std::size_t i, std::size_t j) const {
    const Shape& extents = problem_.d_bias_extents;
    const auto at = [&](std::size_t axis, std::size_t n) { return extents[axis] == 1 ? 0 : n; };
    return ((at(0, b) * extents[1] + at(1, h)) * extents[2] + at(2, i)) * extents[3] + at(3, j);
  }

  void judge_special_query(std::size_t b, std::size_t h, std::size_t i, const Special& special) {
    if (!problem_.d_query) return;
    Element element;
    element.expected = special;
    for (std::size_t t = 0; t < width_; ++t) {
      element.index = {b, h, i, t};
      element.got = problem_.d_query->got.number(b, h, i, t);
      element.verdict = special.accepts(element.got) ? Verdict::pass : Verdict::fail;
      reports.query.count(element);
    }
  }

  // The new keys; those of a cache have no gradient.
  void judge_keys(std::size_t b, std::size_t g) {
    const std::size_t before =
        problem_.past_lengths.empty() ? problem_.past() : problem_.past_lengths[b];
    for (std::size_t j = 0; j < problem_.key.shape[2]; ++j) {
      const std::size_t k = before + j;
      if (!problem_.specifies_key(b, k)) {
        count_padded_key(b, g, j);
        continue;
      }
      if (problem_.d_key)
        for (std::size_t t = 0; t < width_; ++t)
          count(*problem_.d_key, {b, g, j, t}, d_key_, k * width_ + t, obstacle_, reports.key);
      if (problem_.d_value)
        for (std::size_t t = 0; t < columns_; ++t)
          count(*problem_.d_value, {b, g, j, t}, d_value_, k * columns_ + t, obstacle_,
                reports.value);
    }
  }

  void count_padded_key(std::size_t b, std::size_t g, std::size_t j) {
    if (problem_.padded_key == PaddedRow::absent) return;
    Element element;
    element.expected.anything = true;
    const auto count_row = [&](const Claim& claimed, std::size_t columns, OutputReport& report) {
      for (std::size_t t = 0; t < columns; ++t) {
        element.index = {b, g, j, t};
        element.got = claimed.got.number(b, g, j, t);
        report.count(element);
      }
    };
    if (problem_.d_key) count_row(*problem_.d_key, width_, reports.key);
    if (problem_.d_value) count_row(*problem_.d_value, columns_, reports.value);
  }

  void count(const Claim& claimed, const std::array<std::size_t, 4>& index,
             const GradientSums<Real>& sums, std::size_t n, Obstacle obstacle,
             OutputReport& report) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const NumberFormat& format = *claimed.got.format();
    Element element;
    element.index = index;
    element.got = claimed.got.number(index[0], index[1], index[2], index[3]);
    element.exact = enclosure(sums.value[n], sums.radius[n] * 1.001);
    const double error = sums.tolerance[n] * (1 + 0x1p-20);
    element.allowed =
        error + output_rounding(claim_, format,
                                std::fabs(element.exact.high) + element.exact.radius + error);
    const bool enclosed = std::isfinite(element.exact.high) && element.exact.radius < infinity;
    const Decision decision =
        enclosed ? decide(element.got, element.exact, element.allowed, format) : Decision::open;
    element.verdict = verdict_of(decision);
    if (obstacle == Obstacle::undefined || obstacle == Obstacle::overflow) {
      element.verdict = Verdict::no_certificate;
      element.enclosed = obstacle != Obstacle::undefined;
      element.open = obstacle == Obstacle::overflow
                         ? "a step may leave the range of its format"
                         : "a row that takes part is not defined or not enclosed";
    } else if (obstacle == Obstacle::vacuous && decision == Decision::within) {
      element.verdict = Verdict::no_certificate;
      element.open = "at this precision the scores decide nothing";
    } else if (enclosed && !(element.allowed < infinity)) {
      element.open = "this arithmetic has no bound over so many keys or rows";
    } else if (decision == Decision::open) {
      element.enclosed = enclosed;
      element.open = not_enclosed;
      decided = false;
    }
    report.count(element);
  }

  static constexpr const char* not_enclosed = "the exact value is not enclosed narrowly enough";

  const Problem& problem_;
  const Precision& claim_;
  std::size_t keys_, width_, columns_;
  double bias_terms_ = 1;  // of the sum that the derivative by one element of the mask is
  std::vector<double> query_, key_, value_, row_bias_, d_output_;
  RowData row_;
  bool finite_ = true;
  std::optional<ScoreArithmetic> arithmetic_;
  RowEnclosure<Real> exact_;
  ScoreTolerance score_tolerance_;
  RowTolerance forward_;
  RowGradient<Real> gradient_;
  RowGradientTolerance tolerance_;
  GradientSums<Real> d_query_, head_key_, head_value_, d_key_, d_value_, sinks_, bias_;
  Obstacle obstacle_ = Obstacle::none;
  std::vector<Obstacle> sink_obstacles_, bias_obstacles_;
};

}  // namespace attest::oracle::detail
