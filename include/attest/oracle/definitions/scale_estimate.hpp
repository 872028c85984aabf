// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The fit of a scale, and the name of a usual one near it.
#pragma once
#include <attest/oracle/judge_rows.hpp>
#include <attest/oracle/scale_estimate.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attest::oracle {
namespace detail {

// Rows of a call, and what o(c) needs of them.
class ScaleSample {
 public:
  explicit ScaleSample(const Problem& problem, const Precision& claim)
      : problem_(problem), claim_(claim) {
    // numbers held: keys of some rows, values of some heads; 16 MiB of each at most
    constexpr std::size_t most = std::size_t{1} << 20;
    const std::size_t keys = std::max<std::size_t>(problem.keys(), 1);
    const std::size_t heads = problem.batches() * problem.query_heads();
    const std::size_t some_heads =
        std::clamp<std::size_t>(most / (keys * std::max<std::size_t>(problem.value_width(), 1)), 1,
                                std::min<std::size_t>(heads, 16));
    const std::size_t rows = std::clamp<std::size_t>(most / keys, 1, 512);
    const std::size_t rows_per_head =
        std::clamp<std::size_t>(rows / some_heads, 1, std::max<std::size_t>(problem.queries(), 1));
    for (std::size_t n = 0; n < some_heads; ++n) {
      const std::size_t head = n * heads / some_heads;
      read_head(head / problem.query_heads(), head % problem.query_heads(), rows_per_head);
    }
  }

  std::size_t size() const { return rows_.size(); }
  std::size_t columns() const { return problem_.value_width(); }

  // The squares of y − o over all rows and columns, and what the filter needs.
  struct Sums {
    double squares = 0, product = 0, gradient = 0, of_rows = 0, fourth = 0;
  };
  Sums sums(double scale, std::size_t step) const {
    Sums result;
    std::vector<double> e, o(columns()), g(columns()), squared(columns()), size(columns());
    for (std::size_t n = 0; n < rows_.size(); n += step) {
      const Row& row = rows_[n];
      double mean = 0;
      weights(row, scale, e, mean);
      evaluate(row, scale, e, mean, o, g, squared, size);
      double of_row = 0;
      for (std::size_t t = 0; t < columns(); ++t) {
        const double variance = noise(row.visible, o[t], squared[t], size[t]);
        const double difference = row.got[t] - o[t];
        result.squares += difference * difference / variance;
        of_row += g[t] * difference / variance;
        const double weight = g[t] * g[t] / variance;
        result.gradient += weight;
        result.fourth += weight * weight;
      }
      result.product += of_row;
      result.of_rows += of_row * of_row;
    }
    return result;
  }

 private:
  struct Row {
    std::vector<double> products, bias, got;  // −∞: hidden
    std::size_t values = 0;                   // of which head
    double visible = 0;
  };

  void read_head(std::size_t b, std::size_t h, std::size_t count) {
    const std::size_t keys = problem_.keys(), width = problem_.width(), columns = this->columns();
    const std::size_t g = problem_.key_value_head_of(h);
    std::vector<double> key(width), values(keys * columns);
    for (std::size_t j = 0; j < keys; ++j)
      problem_.read_value(b, g, j, values.data() + j * columns);
    std::vector<double> queries;
    std::vector<Row> rows;
    for (std::size_t n = 0; n < count; ++n) {
      const std::size_t i = (2 * n + 1) * problem_.queries() / (2 * count);
      if (problem_.padded(b, i)) continue;
      Row row;
      row.values = values_.size();
      row.got.resize(columns);
      problem_.output->got.read_row(b, h, i, row.got.data());
      row.bias.resize(keys);
      for (std::size_t j = 0; j < keys; ++j) {
        row.bias[j] = problem_.bias(b, h, i, j);
        row.visible += row.bias[j] != -std::numeric_limits<double>::infinity();
      }
      row.products.resize(keys);
      std::vector<double> query(width);
      problem_.query.read_row(b, h, i, query.data());
      queries.insert(queries.end(), query.begin(), query.end());
      rows.push_back(std::move(row));
    }
    for (std::size_t j = 0; j < keys; ++j) {
      problem_.read_key(b, g, j, key.data());
      for (std::size_t n = 0; n < rows.size(); ++n) {
        double product = 0;
        for (std::size_t t = 0; t < width; ++t) product += queries[n * width + t] * key[t];
        rows[n].products[j] = product;
      }
    }
    for (Row& row : rows)
      if (row.visible > 1 && usable(row, values)) rows_.push_back(std::move(row));
    values_.push_back(std::move(values));
  }

  bool usable(const Row& row, const std::vector<double>& values) const {
    if (!all_finite(row.got.data(), row.got.size())) return false;
    for (std::size_t j = 0; j < row.bias.size(); ++j)
      if (row.bias[j] != -std::numeric_limits<double>::infinity() &&
          (!std::isfinite(row.bias[j]) || !std::isfinite(row.products[j]) ||
           !all_finite(values.data() + j * columns(), columns())))
        return false;
    return true;
  }

  // e: the weights, and Σ p r.
  void weights(const Row& row, double scale, std::vector<double>& e, double& mean) const {
    constexpr double hidden = -std::numeric_limits<double>::infinity();
    const double cap = problem_.rule.softcap;
    e.assign(row.bias.size(), hidden);
    double maximum = hidden, sum = 0;
    for (std::size_t j = 0; j < e.size(); ++j) {
      if (row.bias[j] == hidden) continue;
      const double s = scale * row.products[j];
      e[j] = (cap == 0 ? s : cap * std::tanh(s / cap)) + row.bias[j];
      maximum = std::max(maximum, e[j]);
    }
    for (double& x : e) sum += x = x == hidden ? 0 : std::exp(x - maximum);
    mean = 0;
    for (std::size_t j = 0; j < e.size(); ++j) {
      e[j] /= sum;
      if (e[j] != 0) mean += e[j] * slope(row, scale, j);
    }
  }
  // r_j.
  double slope(const Row& row, double scale, std::size_t j) const {
    const double cap = problem_.rule.softcap;
    if (cap == 0) return row.products[j];
    const double tanh = std::tanh(scale * row.products[j] / cap);
    return row.products[j] * (1 - tanh * tanh);
  }
  // o, g, Σ p² v² and Σ p|v|.
  void evaluate(const Row& row, double scale, const std::vector<double>& p, double mean,
                std::vector<double>& o, std::vector<double>& g, std::vector<double>& squared,
                std::vector<double>& size) const {
    for (auto* zero : {&o, &g, &squared, &size}) std::fill(zero->begin(), zero->end(), 0);
    const double* v = values_[row.values].data();
    for (std::size_t j = 0; j < p.size(); ++j, v += columns()) {
      if (p[j] == 0) continue;
      const double of_gradient = p[j] * (slope(row, scale, j) - mean);  // Σ p (r − r̄) v
      for (std::size_t t = 0; t < columns(); ++t) {
        o[t] += p[j] * v[t];
        g[t] += of_gradient * v[t];
        squared[t] += p[j] * p[j] * v[t] * v[t];
        size[t] += p[j] * std::fabs(v[t]);
      }
    }
  }
  // About the square of what the claimed arithmetic rounds an output by.
  double noise(double keys, double o, double squared, double size) const {
    const NumberFormat& format = *problem_.output->got.format();
    const double u_p = std::max(claim_.weights.unit_roundoff(), claim_.scores.unit_roundoff());
    const double u_a = claim_.output_roundoff();
    const double rounding = format.half_ulp(std::fabs(o));
    return rounding * rounding + u_p * u_p * squared + keys * u_a * u_a * size * size +
           std::numeric_limits<double>::min();
  }

  const Problem& problem_;
  const Precision& claim_;
  std::vector<std::vector<double>> values_;
  std::vector<Row> rows_;
};

// A usual scale within `reach` of the given one, and its name.
struct NamedScale {
  double scale;
  std::string name;
};

inline std::optional<NamedScale> named_scale(const Problem& problem, double scale, double expected,
                                             double reach) {
  if (std::fabs(scale) <= reach) return NamedScale{0, "0"};
  const auto near = [&](double usual) { return std::fabs(scale - usual) <= reach; };
  if (near(1)) return NamedScale{1, "1"};
  const auto root = [](double n) { return 1 / std::sqrt(n); };
  const auto count = [](double n) { return std::to_string(static_cast<long>(n)); };
  // extents of the call first: mistaken for the width more often than any other number
  const auto width = static_cast<double>(problem.width());
  const auto query_heads = static_cast<double>(problem.query_heads());
  const auto key_heads = static_cast<double>(problem.key_value_heads());
  for (const double n :
       {width, static_cast<double>(problem.value_width()), width * query_heads, width * key_heads,
        static_cast<double>(problem.keys()), static_cast<double>(problem.queries())}) {
    if (near(root(n))) return NamedScale{root(n), "1/√" + count(n)};
    if (near(1 / n)) return NamedScale{1 / n, "1/" + count(n)};
  }
  if (near(expected * expected)) return NamedScale{expected * expected, "the scale applied twice"};
  constexpr double log2_of_e = 1.4426950408889634;
  for (const auto& [factor, words] :
       {std::pair{log2_of_e, "log₂e times the scale"},
        std::pair{1 / log2_of_e, "ln 2 times the scale"}, std::pair{2.0, "twice the scale"},
        std::pair{0.5, "half the scale"}})
    if (near(factor * expected)) return NamedScale{factor * expected, words};
  // any whole number, where the fit tells it from its neighbours
  if (scale <= 0 || scale >= 1) return std::nullopt;
  const double n = std::round(1 / (scale * scale));
  if (n <= 1 << 20 && near(root(n)) && reach < scale / (8 * n))
    return NamedScale{root(n), "1/√" + count(n)};
  const double m = std::round(1 / scale);
  if (near(1 / m) && reach < scale / (8 * m)) return NamedScale{1 / m, "1/" + count(m)};
  return std::nullopt;
}

// Six digits.
inline std::string short_decimal(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", x);
  return text;
}

}  // namespace detail

ATTEST_ORACLE_INLINE std::string in_words(const ScaleEstimate& estimate) {
  const auto equals = [](const std::string& name) { return name.empty() ? "" : " = " + name; };
  return "the output fits a scale of " + detail::short_decimal(estimate.scale) +
         equals(estimate.named) + " instead of " + detail::short_decimal(estimate.fit.expected) +
         equals(estimate.expected_named);
}

ATTEST_ORACLE_INLINE std::optional<ScaleFit> fit_scale(const Problem& problem,
                                                       const Precision& claim) {
  if (!problem.output) return std::nullopt;
  const detail::ScaleSample sample(problem, claim);
  ScaleFit fit;
  fit.expected = scale_value<double>(problem.rule.scale, problem.width());
  fit.rows = sample.size();
  if (sample.size() == 0) return std::nullopt;

  // by the ladder on a few rows: the best start
  const double base =
      fit.expected != 0 ? fit.expected : 1 / std::sqrt(static_cast<double>(problem.width()));
  const std::size_t step = (sample.size() + 31) / 32;
  double least = sample.sums(fit.expected, step).squares, start = fit.expected;
  const auto consider = [&](double scale) {
    const double squares = sample.sums(scale, step).squares;
    if (!(squares < least)) return;
    least = squares;
    start = scale;
  };
  consider(0);
  for (int rung = -16; rung <= 16; ++rung) consider(base * std::exp2(0.5 * rung));

  const double at_expected = sample.sums(fit.expected, 1).squares;
  fit.scale = start;
  detail::ScaleSample::Sums sums = sample.sums(fit.scale, 1);
  constexpr int most_steps = 40;
  for (int n = 0; n < most_steps; ++n) {
    if (!(sums.gradient > 0)) return std::nullopt;
    double change = sums.product / sums.gradient;
    // a step that leads uphill is too long
    detail::ScaleSample::Sums next = sample.sums(fit.scale + change, 1);
    for (int halving = 0; !(next.squares <= sums.squares) && halving < 30; ++halving) {
      change /= 2;
      next = sample.sums(fit.scale + change, 1);
    }
    if (!(next.squares <= sums.squares)) break;
    fit.scale += change;
    sums = next;
    if (std::fabs(change) <= 1e-12 * std::fabs(fit.scale)) break;
  }
  if (!(sums.gradient > 0)) return std::nullopt;
  fit.standard_error = std::sqrt(sums.of_rows) / sums.gradient;
  fit.elements = sums.gradient * sums.gradient / sums.fourth;
  fit.left = at_expected > 0 ? std::min(1.0, sums.squares / at_expected) : 1;
  return fit;
}

ATTEST_ORACLE_INLINE std::optional<ScaleEstimate> estimate_scale(const Problem& problem,
                                                                 const Precision& claim,
                                                                 const Report& report,
                                                                 const JudgeOptions& options) {
  const bool doubtful =
      std::any_of(report.outputs.begin(), report.outputs.end(), [&](const OutputReport& output) {
        return problem.output && output.name == problem.output->name &&
               output.verdict != Verdict::pass && output.verdict != Verdict::no_certificate;
      });
  if (!doubtful) return std::nullopt;
  const std::optional<ScaleFit> fit = fit_scale(problem, claim);
  // what mended little is not what is wrong, and one number fits a few others too easily
  constexpr double fewest_elements = 4;
  if (!fit || !(fit->left < 0.5) || !(fit->elements >= fewest_elements)) return std::nullopt;
  const double moved = std::fabs(fit->scale - fit->expected);
  if (!(moved > 6 * fit->standard_error)) return std::nullopt;

  JudgeOptions whether_it_passes = options;
  whether_it_passes.only_whether_it_passes = true;
  const auto passes = [&](double scale) {
    Problem other = problem;
    other.rule.scale = Scale::of(scale);
    other.scores.reset();
    other.alternatives.clear();
    Report found;
    detail::judge_rows(other, claim, whether_it_passes, found);
    return found.outputs.front().verdict == Verdict::pass;
  };
  ScaleEstimate estimate;
  estimate.fit = *fit;
  // a subject may hold the constant in its own format
  const double u = std::max(claim.scores.unit_roundoff(), claim.accumulate.unit_roundoff());
  const double reach = 6 * (fit->standard_error + u * std::fabs(fit->scale));
  if (const auto usual = detail::named_scale(problem, fit->scale, fit->expected, reach);
      usual && usual->scale != fit->expected && passes(usual->scale)) {
    estimate.scale = usual->scale;
    estimate.named = usual->name;
  } else if (passes(fit->scale)) {
    estimate.scale = fit->scale;
  } else {
    return std::nullopt;
  }
  if (const auto usual =
          detail::named_scale(problem, fit->expected, fit->expected, 1e-12 * fit->expected))
    estimate.expected_named = usual->name;
  return estimate;
}

}  // namespace attest::oracle
