// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What errors of scores add to the tolerance of a row at least: that of the keys of largest weight.
//
// Where few keys have most of the weight, errors of their scores are most of the tolerance, and the
// sums over all keys say little. Notation as in tolerance.hpp and likely_tolerance.hpp, m the
// largest score, S some of the visible keys, so that each sum over S is at most the one over all:
//   worst case   Σ_S p B |v − o|, for Δ >= B
//   likely       Σ_S p B' |v − o|, B' what keys share of B, and, squared,
//                Σ_S p² (B − B' + 4 u_s |m|)² (v − o)²: y + |x| >= |m|, so that a folded scale adds
//                2 u_s (y + |x| + max |x|) >= 4 u_s |m| to B, and clusters of keys only add to that
#pragma once
#include <attest/oracle/block_enclosure.hpp>
#include <attest/oracle/precision.hpp>
#include <attest/oracle/score_tolerance.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

namespace attest::oracle::detail {

class LargestWeights {
 public:
  LargestWeights(const Precision& claim, const ScoreLosses& losses)
      : u_s_(claim.softmax.unit_roundoff()), losses_(losses) {}

  // Of each column, lower bounds of Σ p|v| and of the sums above.
  std::vector<double> sizes, worst, systematic, squares;

  // Of a bounded row, by a rule without softcap.
  void sum(const BlockHead& head, const BlockRows& block, std::size_t r) {
    for (std::vector<double>* sums : {&sizes, &worst, &systematic, &squares})
      sums->assign(head.value_width, 0);
    if (head_ != &head || operands_.size() != head.keys) {
      head_ = &head;
      operands_.assign(head.keys, std::nullopt);
    }
    const BlockRow& row = block.rows[r];
    choose(block, r);
    centre_.clear();
    slack_.clear();
    for (std::size_t t = 0; t < head.value_width; ++t) {
      const Enclosure output = block.output(r, t);
      centre_.push_back(output.high);
      slack_.push_back(2 * (output.radius + std::fabs(output.low)));
    }
    const double* const query = block.query(r);
    const ScoreLosses::Operand query_operand = losses_.operand(query, head.width);
    const double of_maximum = 4 * u_s_ * std::max(0.0, std::fabs(row.maximum) - 0.02);
    key_.resize(head.width);
    for (const std::size_t j : chosen_) {
      double product = 0, product_size = 0;
      for (std::size_t t = 0; t < head.width; ++t) {
        key_[t] = head.key(j, t);
        product += query[t] * key_[t];
        product_size += std::fabs(query[t] * key_[t]);
      }
      if (!operands_[j]) operands_[j] = losses_.operand(key_.data(), head.width);
      constexpr double slightly_less = 1 - 0x1p-40;
      // of cancelling products the sum has few digits; it only counts where scores are stored
      const double score = std::max(0.0, std::fabs(product) - 0x1p-40 * product_size);
      const ScoreLoss loss = losses_.at_least(query_operand, *operands_[j],
                                              product_size * slightly_less, score * slightly_less);
      const double shared = std::min(loss.systematic, loss.biased);
      const double own = std::max(0.0, loss.biased + of_maximum - shared * (1 + 0x1p-30));
      const double p = 0.999 * block.exponential(r, j) / block.weight_sum(r);
      const double* const v = head.values.data() + j * head.columns;
      for (std::size_t t = 0; t < head.value_width; ++t) {
        const double centred = std::max(0.0, std::fabs(v[t] - centre_[t]) - slack_[t]);
        sizes[t] += p * std::fabs(v[t]);
        worst[t] += p * loss.biased * centred;
        systematic[t] += p * shared * centred;
        squares[t] += (p * own * centred) * (p * own * centred);
      }
    }
  }

 private:
  static constexpr std::size_t most = 128;  // keys

  // The keys of largest weight, by powers of two; of the last power those that come first.
  void choose(const BlockRows& block, std::size_t r) {
    const BlockRow& row = block.rows[r];
    constexpr int powers = 64;
    std::array<std::size_t, powers> count{};
    // e <= 1 is in [2^-n, 2^-(n − 1))
    const auto power = [&](std::size_t j) {
      const double e = block.exponential(r, j);
      return e < 0x1p-62 ? powers - 1 : std::max(0, -std::ilogb(e));
    };
    for (std::size_t j = row.first; j < row.last; ++j) ++count[static_cast<std::size_t>(power(j))];
    std::size_t larger = 0;
    int last = 0;
    while (last + 1 < powers - 1 && larger + count[static_cast<std::size_t>(last)] < most)
      larger += count[static_cast<std::size_t>(last++)];
    std::size_t room = most - larger;  // for keys of the last power
    chosen_.clear();
    for (std::size_t j = row.first; j < row.last; ++j) {
      const int of_key = power(j);
      if (of_key > last || (of_key == last && room == 0)) continue;
      if (of_key == last) --room;
      chosen_.push_back(j);
    }
  }

  double u_s_;
  const ScoreLosses& losses_;
  const BlockHead* head_ = nullptr;
  std::vector<std::optional<ScoreLosses::Operand>> operands_;  // of keys asked for so far
  std::vector<std::size_t> chosen_;
  std::vector<double> key_, centre_, slack_;
};

}  // namespace attest::oracle::detail
