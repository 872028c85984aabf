// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What independent roundings reach of an output, almost always: far less than the worst case of
// tolerance.hpp, in which all of them point one way. docs/enclosure.md derives it.
//
// To first order the error is a sum Σ_k δ_k a_k of roundings, |δ_k| <= u_k. If they are independent
// and spread evenly, as those of numbers with random last digits are, Σ δ_k a_k exceeds
//   λ (Σ u_k² a_k²/3)^½
// with probability 2 exp(−λ²/2) at most: a uniform variable is sub-Gaussian with its own variance
// (Hoeffding, J. Amer. Stat. Assoc. 58, 1963; Arbel et al., ESAIM Prob. Stat. 24, 2020). λ is
// chosen so that all elements of an output together exceed it with probability 10^-6.
//
// What is not independent is added up instead:
//   Keys of equal scores have equal weights and equal roundings, and scores that lie much nearer to
//   each other than the numbers of a format have nearly equal ones. Keys are clustered by an eighth
//   of the format's spacing: even if all clusters of one spacing go together, λ covers that.
//   A sum that adds the same number again and again is off by the same each time: clusters by an
//   eighth of the spacing of the sum. What is smaller than that is lost altogether.
//   What the keys share (ScoreTolerance::systematic), errors of exp, sums cut off, inputs rounded
//   first, the last division: as in the worst case.
// Where roundings of the sums add up to a quarter or more, nothing is claimed.
#pragma once
#include <attest/oracle/score_tolerance.hpp>
#include <attest/oracle/tolerance.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace attest::oracle {

// The probability that a right output of independent roundings has an element beyond the bound.
inline constexpr double false_suspicion = 1e-6;

// λ/√3 for an output of so many elements.
inline double likely_reach(std::size_t elements) {
  const auto count = static_cast<double>(std::max<std::size_t>(elements, 1));
  return std::sqrt(2 * std::log(2 * count / false_suspicion) / 3);
}

namespace detail {

// Keys in clusters: in order of their positions, a cluster ends where one lies further than 1 from
// its first.
class Clusters {
 public:
  // `position` of each key that `takes` accepts.
  template <class Position, class Takes>
  Clusters(std::size_t keys, Position position, Takes takes) {
    std::vector<std::pair<double, std::size_t>> sorted;
    for (std::size_t j = 0; j < keys; ++j)
      if (takes(j)) sorted.emplace_back(position(j), j);
    std::sort(sorted.begin(), sorted.end());
    order_.reserve(sorted.size());
    begins_.reserve(sorted.size());
    double first = 0;
    for (std::size_t n = 0; n < sorted.size(); ++n) {
      const bool begins = n == 0 || !(sorted[n].first - first <= 1);
      if (begins) first = sorted[n].first;
      order_.push_back(sorted[n].second);
      begins_.push_back(begins);
    }
  }

  // Σ over clusters of (Σ of what `of_key` adds to `sum`)², for each column.
  template <class OfKey>
  void add_squares(std::vector<double>& squares, OfKey of_key) const {
    std::vector<double> sum(squares.size(), 0);
    const auto close = [&] {
      for (std::size_t t = 0; t < sum.size(); ++t) {
        squares[t] += sum[t] * sum[t];
        sum[t] = 0;
      }
    };
    for (std::size_t n = 0; n < order_.size(); ++n) {
      if (begins_[n] && n != 0) close();
      of_key(order_[n], sum);
    }
    close();
  }
  // Σ n².
  double squared_counts() const {
    double squares = 0, count = 0;
    for (const bool begins : begins_) {
      if (begins) {
        squares += count * count;
        count = 0;
      }
      ++count;
    }
    return squares + count * count;
  }

 private:
  std::vector<std::size_t> order_;
  std::vector<bool> begins_;
};

}  // namespace detail

// Completes the tolerances of a row by `likely`.
template <class Real>
void tolerate_likely(const Precision& claim, const RowData& row, const RowEnclosure<Real>& exact,
                     const ScoreTolerance& scores, double reach, RowTolerance& result) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double per_spacing = 8;  // clusters
  const std::size_t keys = row.key_count, columns = row.value_width;
  result.likely.assign(columns, infinity);
  const double u_s = claim.softmax.unit_roundoff(), u_a = claim.output_roundoff();
  const double u_p =
      claim.weights.precision < claim.softmax.precision ? claim.weights.unit_roundoff() : 0;
  const double u_x = std::max(claim.scores.unit_roundoff(), u_s);

  double visible = 0, largest_score = 0, largest_weight = 0;
  for (std::size_t j = 0; j < keys; ++j)
    if (row.visible(j)) {
      ++visible;
      largest_weight = std::max(largest_weight, exact.weights[j]);
      largest_score =
          std::max(largest_score, std::fabs(static_cast<double>(exact.scores[j].biased)));
    }
  const double rescales = detail::rescales(claim, row, exact.below_maximum, scores.biased);
  const double exp_error = std::expm1((claim.exp_error * (1 + rescales) + rescales) * u_s);
  const double flushed = std::ldexp(1.0, claim.softmax.min_exponent);

  // Of each weight, relative to it: what is its own, and what is as in the worst case.
  std::vector<double> own(keys, 0), shared(keys, 0);
  double moved = 0;
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.visible(j)) continue;
    const double y = exact.below_maximum[j], p = exact.weights[j];
    const double x = std::fabs(static_cast<double>(exact.scores[j].biased));
    const double argument =
        scores.biased[j] + 2 * u_s * (y + x + std::fabs(row.bias[j]) + largest_score);
    const double systematic = scores.systematic[j] + claim.exp_argument_error * u_s * y;
    own[j] = std::max(0.0, argument - scores.systematic[j]);
    // e^θ − 1 − θ <= θ²; an argument of more is beyond any first order
    const double all = argument + claim.exp_argument_error * u_s * y;
    if (!(all < 0.5)) {
      if (p > 0x1p-40) return;
      shared[j] = std::exp(std::min(all, 700.0));
      own[j] = 0;
    } else {
      shared[j] = systematic + exp_error + all * all;
    }
    moved += p * (own[j] + shared[j]);
  }
  const double sums = visible * std::max(u_s, u_a) + u_p;
  if (!(moved + sums < 0.25)) return;

  const auto sees = [&](std::size_t j) { return row.visible(j); };
  const auto score = [&](std::size_t j) { return static_cast<double>(exact.scores[j].biased); };
  // of scores and of their differences, which are twice as large at most
  const double cell = 4 * u_x * largest_score / per_spacing;
  const detail::Clusters by_score(
      keys, [&](std::size_t j) { return cell > 0 ? score(j) / cell : 0; }, sees);
  std::vector<double> squares(columns, 0), same(columns, 0), size(columns, 0), lost(columns, 0);
  const auto centred = [&](std::size_t j, std::size_t t) {
    return std::fabs(row.value(j)[t] - exact.outputs[t].high);
  };
  by_score.add_squares(squares, [&](std::size_t j, std::vector<double>& sum) {
    const double weight = exact.weights[j] * own[j];
    for (std::size_t t = 0; t < columns; ++t) sum[t] += weight * centred(j, t);
  });
  // what rounds to 0 or may be flushed, as in the worst case; below the normal numbers the spacing
  // is the same for all
  const double spacing = claim.weight_underflow(largest_weight);
  if (u_p > 0) {
    const double normal = spacing / (2 * u_p);
    const detail::Clusters by_weight(
        keys,
        [&](std::size_t j) {
          return exact.weights[j] < normal ? 2 + exact.weights[j] / (spacing / per_spacing)
                                           : -exact.below_maximum[j] / (2 * u_p / per_spacing);
        },
        [&](std::size_t j) { return row.visible(j) && exact.weights[j] > spacing; });
    by_weight.add_squares(squares, [&](std::size_t j, std::vector<double>& sum) {
      const double weight =
          std::max(exact.weights[j] * u_p, exact.weights[j] < normal ? spacing : 0);
      for (std::size_t t = 0; t < columns; ++t)
        sum[t] += weight * std::max(std::fabs(row.value(j)[t]), centred(j, t));
    });
  }

  // of weights below the spacing of their sum all may be lost
  double tiny = 0;
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.visible(j)) continue;
    const double p = exact.weights[j];
    if (p <= 4 * u_s) tiny += p;
    const double flush = (p <= 2 * flushed ? 2 * flushed : 0) + (p <= spacing ? p : 0);
    for (std::size_t t = 0; t < columns; ++t) {
      const double v = std::fabs(row.value(j)[t]);
      same[t] += p * shared[j] * centred(j, t) + flush * v;
      size[t] += p * v;
    }
  }
  // the keys that are not lost, in clusters, and the others one by one
  const auto sums_of = [&](double u) {
    double few = 0;
    for (std::size_t j = 0; j < keys; ++j) few += row.visible(j) && exact.weights[j] <= 4 * u;
    const detail::Clusters clusters(
        keys, [&](std::size_t j) { return exact.weights[j] / (2 * u / per_spacing); },
        [&](std::size_t j) { return row.visible(j) && exact.weights[j] > 4 * u; });
    return clusters.squared_counts() + few;
  };
  const double denominator = (sums_of(u_s) + 2 * rescales + 2) * u_s * u_s;
  const double numerator = (sums_of(u_a) + 2 * rescales + 4) * u_a * u_a;
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.visible(j)) continue;
    for (std::size_t t = 0; t < columns; ++t) {
      const double term = exact.weights[j] * std::fabs(row.value(j)[t]);
      if (exact.weights[j] <= 4 * u_a || term <= 4 * u_a * size[t]) lost[t] += term;
    }
  }

  for (std::size_t t = 0; t < columns; ++t) {
    const double o = std::fabs(exact.outputs[t].high) + exact.outputs[t].radius;
    const double partial = 0.5 * (size[t] + o);  // of any sum of some of the terms
    double worst = same[t] + tiny * o + 2 * u_s * o + claim.input_roundoff() * size[t];
    if (claim.truncating)
      worst += detail::compounded((visible + 2 * rescales) * u_a) * size[t];
    else
      worst += std::min(lost[t], visible * u_a * size[t]);
    const double variance =
        squares[t] + denominator * o * o + (claim.truncating ? 0 : numerator * partial * partial);
    const double likely =
        (reach * std::sqrt(variance) + worst) / (1 - moved - sums) * (1 + 0x1p-20) +
        result.underflow[t];
    result.likely[t] = std::min(likely, result.folded_outputs[t]);
  }
}

}  // namespace attest::oracle
