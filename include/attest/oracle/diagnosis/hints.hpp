// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What is known of an output that no fault explains.
#pragma once
#include <attest/oracle/diagnosis/evidence.hpp>
#include <attest/oracle/diagnosis/pattern.hpp>
#include <attest/oracle/scale_estimate.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attest::oracle::detail {

inline std::string row_in_words(const RowIndex& at) {
  return "batch " + std::to_string(at.batch) + ", head " + std::to_string(at.head) + ", row " +
         std::to_string(at.row);
}

// Σ a_i x_i = b solved for x by Gaussian elimination with pivots, of least squares where there are
// more equations than unknowns; nothing where that loses more than half of double's digits.
inline std::optional<std::vector<double>> least_squares(std::vector<std::vector<double>> columns,
                                                        std::vector<double> right) {
  const std::size_t unknowns = columns.size(), equations = right.size();
  if (unknowns == 0 || unknowns > equations) return std::nullopt;
  // modified Gram-Schmidt
  std::vector<std::vector<double>> upper(unknowns, std::vector<double>(unknowns, 0));
  std::vector<double> solution(unknowns, 0);
  std::vector<double> rest = std::move(right);
  const auto dot = [&](const std::vector<double>& x, const std::vector<double>& y) {
    double sum = 0;
    for (std::size_t n = 0; n < equations; ++n) sum += x[n] * y[n];
    return sum;
  };
  for (std::size_t i = 0; i < unknowns; ++i) {
    const double before = std::sqrt(dot(columns[i], columns[i]));
    for (std::size_t k = 0; k < i; ++k) {
      upper[k][i] = dot(columns[k], columns[i]);
      for (std::size_t n = 0; n < equations; ++n) columns[i][n] -= upper[k][i] * columns[k][n];
    }
    const double norm = std::sqrt(dot(columns[i], columns[i]));
    if (!(norm > 1e-4 * before)) return std::nullopt;
    upper[i][i] = norm;
    for (double& x : columns[i]) x /= norm;
    solution[i] = dot(columns[i], rest);
    for (std::size_t n = 0; n < equations; ++n) rest[n] -= solution[i] * columns[i][n];
  }
  for (std::size_t i = unknowns; i-- > 0;) {
    for (std::size_t k = i + 1; k < unknowns; ++k) solution[i] -= upper[i][k] * solution[k];
    solution[i] /= upper[i][i];
  }
  return solution;
}

inline std::string short_number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

// The weights a row of output must have been blended with, where there are at least as many columns
// as keys and the values are independent.
inline std::optional<std::string> recovered_weights(Evidence& evidence, const EvidenceRow& row) {
  const Problem& problem = evidence.problem();
  if (!problem.output || problem.given_keys() > problem.value_width() || problem.given_keys() > 64)
    return std::nullopt;
  RowEvaluator right(evidence.right(), evidence.claim(), evidence.rounds_of(evidence.right()),
                     evidence.shared());
  right.compute(row.at);
  std::vector<std::vector<double>> values;
  for (std::size_t j = 0; j < problem.given_keys(); ++j)
    values.emplace_back(right.row.values[j], right.row.values[j] + problem.value_width());
  std::vector<double> got(row.got.begin(),
                          row.got.begin() + static_cast<std::ptrdiff_t>(problem.value_width()));
  for (const double x : got)
    if (!std::isfinite(x)) return std::nullopt;
  const auto weights = least_squares(values, got);
  if (!weights) return std::nullopt;
  std::size_t worst = 0;
  double sum = 0;
  for (std::size_t j = 0; j < weights->size(); ++j) {
    sum += (*weights)[j];
    if (std::fabs((*weights)[j] - right.row.weights[j]) >
        std::fabs((*weights)[worst] - right.row.weights[worst]))
      worst = j;
  }
  std::string text =
      "in " + row_in_words(row.at) + " the values were blended with weights that sum to " +
      short_number(sum) + "; key " + std::to_string(worst) + " weighs " +
      short_number((*weights)[worst]) + ", should " + short_number(right.row.weights[worst]);
  return text;
}

// Whether a row is the right one times a number; which.
inline std::optional<double> row_factor(const Problem& problem, const EvidenceRow& row) {
  double product = 0, squares = 0;
  for (std::size_t t = 0; t < problem.value_width(); ++t) {
    if (!std::isfinite(row.got[t]) || !std::isfinite(row.right.values[t])) return std::nullopt;
    product += row.got[t] * row.right.values[t];
    squares += row.right.values[t] * row.right.values[t];
  }
  if (!(squares > 0) || problem.value_width() < 3) return std::nullopt;
  const double factor = product / squares;
  for (std::size_t t = 0; t < problem.value_width(); ++t)
    if (!fits(row.got[t], factor * row.right.values[t],
              std::max(1.0, std::fabs(factor)) * row.right.allowed[t]))
      return std::nullopt;
  return factor;
}

inline std::vector<std::string> hints(Evidence& evidence) {
  const Problem& problem = evidence.problem();
  std::vector<std::string> found;
  if (evidence.failing == 0) return found;
  std::vector<RowIndex> inside, outside;
  std::size_t not_finite = 0, zero = 0;
  for (const EvidenceRow& row : evidence.rows) {
    (row.fails ? inside : outside).push_back(row.at);
    if (!row.fails) continue;
    not_finite +=
        std::any_of(row.got.begin(), row.got.end(), [](double x) { return !std::isfinite(x); });
    zero += std::all_of(row.got.begin(), row.got.end(), [](double x) { return x == 0; });
  }
  const std::string of = std::to_string(evidence.failing) + " of " +
                         std::to_string(evidence.rows.size()) +
                         (evidence.sampled ? " rows looked at fail" : " rows fail");
  const std::optional<Place> place = simplest_place(problem, inside, outside);
  found.push_back(of + ", the first at " + row_in_words(inside.front()) +
                  (place && !place->is_everywhere() ? ": " + place->in_words() : ""));
  if (not_finite) found.push_back(std::to_string(not_finite) + " of them hold NaN or ∞");
  if (zero) found.push_back(std::to_string(zero) + " of them are zero");

  std::vector<std::size_t> columns;
  std::vector<char> fails(problem.value_width(), 0);
  if (problem.output) {
    for (const EvidenceRow& row : evidence.rows)
      for (std::size_t t = 0; t < problem.value_width(); ++t)
        if (!row.fits_right[t]) fails[t] = 1;
    for (std::size_t t = 0; t < fails.size(); ++t)
      if (fails[t]) columns.push_back(t);
    for (const RankedStretch& one : stretches(columns, problem.value_width())) {
      if (one.stretch.all()) continue;
      std::size_t held = 0;
      for (std::size_t t = 0; t < fails.size(); ++t) held += one.stretch.holds(t);
      if (held != columns.size()) continue;
      found.push_back("only " + one.stretch.in_words("column", "columns"));
      break;
    }
    std::optional<double> least, most;
    std::size_t rows = 0;
    for (std::size_t n = 0; n < evidence.failing; ++n) {
      const std::optional<double> factor = row_factor(problem, evidence.rows[n]);
      if (!factor) break;
      ++rows;
      least = least ? std::min(*least, *factor) : *factor;
      most = most ? std::max(*most, *factor) : *factor;
    }
    if (rows == evidence.failing && rows > 1)
      found.push_back("each failing row is the right one times a number, from " +
                      short_number(*least) + " to " + short_number(*most) +
                      ": look at what the weights are divided by");
    // another row's output
    const std::size_t all = std::min<std::size_t>(evidence.rows.size(), 256);
    for (std::size_t n = 0; n < std::min<std::size_t>(evidence.failing, 4); ++n) {
      const EvidenceRow& row = evidence.rows[n];
      for (std::size_t m = 0; m < all; ++m) {
        if (m == n) continue;
        const EvidenceRow& other = evidence.rows[m];
        bool same = problem.value_width() > 1;
        for (std::size_t t = 0; t < problem.value_width() && same; ++t)
          same = std::isfinite(row.got[t]) && other.right.values[t] != 0 &&
                 fits(row.got[t], other.right.values[t], other.right.allowed[t]);
        if (!same) continue;
        found.push_back(row_in_words(row.at) + " holds what belongs to " + row_in_words(other.at));
        n = evidence.failing;
        break;
      }
    }
    if (const auto weights = recovered_weights(evidence, evidence.rows.front()))
      found.push_back(*weights);
  }
  return found;
}

}  // namespace attest::oracle::detail
