// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// ExactRow: what of a row of attention is a rational number, and which keys have exactly the same
// score. Only rational results can lie halfway between two numbers of a format.
//
// All of it is integer arithmetic: a double is a multiple of 2^-1074, a product of two of 2^-2148.
//
// The scores are algebraic numbers unless there is a cap. Exponentials of distinct algebraic
// numbers are linearly independent over them (Lindemann and Weierstrass), so Σ e^(x_j) (v_j − r) =
// 0 with a rational r holds exactly if Σ (v_j − r) = 0 over each group of keys with equal score: an
// output is rational if and only if all groups have the same mean value, and is that mean. With a
// cap the same condition is sufficient; whether it is necessary is not known. A score itself is
// rational if the scale is, or 1/√d with d a square, or q·k = 0; a capped score only if it is 0
// (Lindemann).
#pragma once
#include <attest/oracle/enclosure.hpp>
#include <attest/oracle/problem.hpp>
#include <attest/oracle/rounding.hpp>
#include <attest/rule.hpp>

#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace attest::oracle {

// numerator / denominator·2^exponent
struct Ratio {
  Integer numerator = 0, denominator = 1;
  int exponent = 0;
};

// Keys with exactly the same score; `key` is one of them.
struct EqualScores {
  std::size_t key = 0;
  std::vector<std::size_t> members;
};

class ExactRow {
 public:
  ExactRow(const Rule& rule, const RowData& row) : rule_(rule), row_(row) {
    for (std::size_t t = 0; t < row.width; ++t) query_.push_back(in_smallest_units(row.query[t]));
    while (root_ * root_ < row.width) ++root_;
    if (rule.scale.by_width && root_ * root_ != row.width) root_ = 0;
    group();
  }

  // Over the visible keys.
  const std::vector<EqualScores>& groups() const { return groups_; }

  // The score of key j, or nothing where it is irrational. `biased`: of a visible key.
  std::optional<Ratio> score(ScoreStage stage, std::size_t j) const {
    const Integer product = dot(j);
    Ratio value{0, 1, product_exponent};
    const bool zero = product == 0 || (!rule_.scale.by_width && rule_.scale.given == 0);
    if (!zero) {
      if (stage != ScoreStage::scaled && rule_.softcap != 0) return std::nullopt;
      if (rule_.scale.by_width) {
        if (root_ == 0) return std::nullopt;
        value = {product, root_, product_exponent};
      } else {
        value = {product * in_smallest_units(rule_.scale.given), 1, product_exponent + smallest};
      }
    }
    if (stage == ScoreStage::biased)
      value.numerator +=
          value.denominator * (in_smallest_units(row_.bias[j]) << (smallest - value.exponent));
    return value;
  }

 private:
  static constexpr int smallest = -1074;
  static constexpr int product_exponent = 2 * smallest;

  Integer dot(std::size_t j) const {
    Integer sum = 0;
    for (std::size_t t = 0; t < row_.width; ++t)
      sum += query_[t] * in_smallest_units(row_.key(j)[t]);
    return sum;
  }

  void group() {
    std::map<std::pair<Integer, Integer>, std::size_t> places;
    for (std::size_t j = 0; j < row_.key_count; ++j) {
      if (!row_.visible(j)) continue;
      const auto [place, is_new] = places.emplace(score_key(j), groups_.size());
      if (is_new) groups_.push_back({j, {}});
      groups_[place->second].members.push_back(j);
    }
  }

  // Equal for exactly those keys whose scores are (with a cap: whose products and biases are).
  std::pair<Integer, Integer> score_key(std::size_t j) const {
    Integer product = dot(j);
    Integer bias = in_smallest_units(row_.bias[j]);
    if (!rule_.scale.by_width) product *= in_smallest_units(rule_.scale.given);
    if (rule_.softcap != 0 || (rule_.scale.by_width && root_ == 0))
      return {std::move(product), std::move(bias)};
    // rational: c q·k + b, times √d where c = 1/√d
    if (rule_.scale.by_width)
      product += root_ * (bias << -smallest);
    else
      product += bias << -product_exponent;
    return {std::move(product), 0};
  }

  const Rule& rule_;
  const RowData& row_;
  std::vector<Integer> query_;
  std::size_t root_ = 0;  // √d where it is an integer or the scale is given, else 0
  std::vector<EqualScores> groups_;
};

}  // namespace attest::oracle
