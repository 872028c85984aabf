// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Problem: what a call asks for once a dialect has read it — a rule, and every array in one layout.
#pragma once
#include <attest/oracle/tensor.hpp>
#include <attest/rule.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attest::oracle {

// What a score output holds: q·k scaled; after the softcap; after softcap and bias; the weights.
enum class ScoreStage { scaled, capped, biased, weights };

// What is returned for rows beyond a batch entry's length. `absent`: a packed array has no such
// rows.
enum class PaddedRow { zero, unspecified, absent };

// How a slope of ALiBi counts: −slope·|distance| from the query's position among the keys, or
// slope·(key − query row), which differs by a constant of the row where no key lies ahead.
enum class AlibiDistance { from_position, from_row };

// The log-sum-exp of a row without keys. `large_negative`: what a finite mask gives, or −∞.
enum class EmptyLogSumExp { minus_infinity, plus_infinity, large_negative, unspecified };

// An array the subject returned, and what it claims to be.
struct Claim {
  std::string name;  // as in the capture
  Tensor got;
};

// Another rule that the same text allows, and what it takes differently.
struct AlternativeRule {
  std::string reading;
  Rule rule;
};

struct Problem {
  Rule rule;
  std::vector<AlternativeRule> alternatives;
  NumberFormat format{};  // of the query: the format the framework computes in

  // (batch, head, row, column) whatever the capture's layout was.
  Tensor query, key, value;
  std::optional<Tensor> past_key, past_value;
  // Broadcast to (batch, query head, query, key); boolean: true = attend; otherwise added to the
  // score. Keys beyond its last column are masked (ONNX from opset 24 on pads a short mask so).
  std::optional<Tensor> mask;
  // Added to the score beside a boolean mask, and broadcast like it.
  std::optional<Tensor> score_bias;
  // 0: masked, by adding the given number to the score, so that it is masked only nearly. As the
  // mask is broadcast.
  std::optional<Tensor> padding_mask;
  double padding_fill = 0;
  // A hidden key's score is −∞ whatever else was added to it; otherwise biases are summed as IEEE
  // 754 has it.
  bool hides_by_selection = false;
  // Of each query head: one more key after the last, of score `sink` and value 0, that every query
  // sees. Empty: none.
  std::vector<double> sinks;
  // Of each batch entry and query head, batch slowest; empty: none.
  std::vector<double> alibi_slopes;
  AlibiDistance alibi_distance = AlibiDistance::from_position;
  // Of each query head: what a floating mask is multiplied by. Empty: 1.
  std::vector<double> mask_slopes;
  // Per batch entry: query i stands at position i + offset for causality and window; keys from
  // `lengths` on are padding.
  std::vector<long> offsets;
  std::vector<std::size_t> lengths;
  // Per batch entry: query rows from there on are padding. Empty: none are.
  std::vector<std::size_t> query_lengths;
  PaddedRow padded_row = PaddedRow::unspecified;
  PaddedRow padded_key = PaddedRow::zero;  // gradients of keys from `lengths` on
  // Per batch entry: so many rows of the past count, new keys follow them. Empty: all.
  std::vector<std::size_t> past_lengths;

  std::optional<Claim> output, scores, present_key, present_value;
  ScoreStage score_stage = ScoreStage::scaled;
  std::optional<Claim> log_sum_exp;  // (batch, query head, query, 1), in the rule's base
  EmptyLogSumExp empty_log_sum_exp = EmptyLogSumExp::minus_infinity;
  std::optional<double> large_negative;  // at most this; absent: half of its format's range
  // Derivatives of one number by the output and, unless it is absent, by the log-sum-exp; what they
  // make of its derivatives by the inputs.
  std::optional<Tensor> d_output, d_log_sum_exp;
  std::optional<Claim> d_query, d_key, d_value;  // d_key and d_value of the new keys
  std::optional<Claim> d_sinks;                  // (1, 1, 1, query head)
  std::optional<Claim> d_bias;  // of a floating mask; (batch, head, query, key) of these extents
  Shape d_bias_extents;         // 1 where the mask is broadcast
  const NumberFormat* softmax_format = nullptr;  // where the call asks for one
  std::vector<std::string>
      not_judged;  // arrays the subject returned that no enclosure exists for yet

  bool has_gradients() const { return d_query || d_key || d_value || d_sinks || d_bias; }
  std::size_t batches() const { return query.shape[0]; }
  std::size_t query_heads() const { return query.shape[1]; }
  std::size_t key_value_heads() const { return key.shape[1]; }
  std::size_t queries() const { return query.shape[2]; }
  std::size_t past() const { return past_key ? past_key->shape[2] : 0; }
  // Of the arrays, without a sink.
  std::size_t given_keys() const { return past() + key.shape[2]; }
  std::size_t keys() const { return given_keys() + !sinks.empty(); }
  std::size_t width() const { return query.shape[3]; }
  std::size_t value_width() const { return value.shape[3]; }

  std::size_t key_value_head_of(std::size_t query_head) const {
    return key_value_head(rule.head_map, query_head, query_heads(), key_value_heads());
  }

  bool padded(std::size_t b, std::size_t i) const {
    return !query_lengths.empty() && i >= query_lengths[b];
  }
  // Whether anything is said of such a row of an output or of a gradient by the query, and of a
  // gradient by the key or value.
  bool specifies_query(std::size_t b, std::size_t i) const {
    return !padded(b, i) || padded_row == PaddedRow::zero;
  }
  bool specifies_key(std::size_t b, std::size_t j) const {
    return j < lengths[b] || padded_key == PaddedRow::zero;
  }
  std::size_t query_length(std::size_t b) const {
    return query_lengths.empty() ? queries() : query_lengths[b];
  }
  // Whether scores are changed by nothing but visibility and `mask`.
  bool only_masks() const {
    return sinks.empty() && alibi_slopes.empty() && mask_slopes.empty() && !score_bias &&
           !padding_mask;
  }

  // Key or value row j of the sequence past ++ new; zeros beyond it, where a sink is.
  void read_key(std::size_t b, std::size_t g, std::size_t j, double* row) const {
    read(past_key, key, b, g, j, row);
  }
  void read_value(std::size_t b, std::size_t g, std::size_t j, double* row) const {
    read(past_value, value, b, g, j, row);
  }

  // What is added to score (i, j): 0 or −∞ for each of causality, window, padding and a boolean
  // mask, the number itself for any other mask; their sum as IEEE 754 has it, so that ∞ − ∞ is NaN.
  double bias(std::size_t b, std::size_t h, std::size_t i, std::size_t j) const {
    constexpr double hidden = -std::numeric_limits<double>::infinity();
    if (j >= given_keys()) return sinks[h];
    double bias = 0;
    bool visible = j < lengths[b];
    if (mask) {
      if (j >= mask->shape[3])
        visible = false;
      else if (mask->type == ElementType::boolean)
        visible = visible && mask->integer_at(mask->at(b, h, i, j));
      else
        bias = mask->number(b, h, i, j) * (mask_slopes.empty() ? 1 : mask_slopes[h]);
    }
    const long position = static_cast<long>(i) + offsets[b] + rule.offset;
    visible = visible && position_visible(rule, position, static_cast<long>(j));
    if (!visible) return hides_by_selection ? hidden : bias + hidden;
    if (score_bias) bias += score_bias->number(b, h, i, j);
    if (padding_mask && padding_mask->number(b, h, i, j) == 0) bias += padding_fill;
    if (!alibi_slopes.empty()) bias += alibi(b, h, static_cast<long>(i), position, j);
    return bias;
  }

 private:
  void read(const std::optional<Tensor>& past_rows, const Tensor& new_rows, std::size_t b,
            std::size_t g, std::size_t j, double* row) const {
    const std::size_t before = past_lengths.empty() ? past() : past_lengths[b];
    if (j < before)
      past_rows->read_row(b, g, j, row);
    else if (j - before < new_rows.shape[2])
      new_rows.read_row(b, g, j - before, row);
    else
      std::fill_n(row, new_rows.shape[3], 0.0);
  }
  // A slope of 24 bits times a distance below 2^29 is exact in double.
  double alibi(std::size_t b, std::size_t h, long row, long position, std::size_t j) const {
    const double slope = alibi_slopes[b * query_heads() + h];
    const auto key_position = static_cast<long>(j);
    if (alibi_distance == AlibiDistance::from_row)
      return slope * static_cast<double>(key_position - row);
    const long ahead = key_position - position;
    return -slope * static_cast<double>(ahead < 0 ? -ahead : ahead);
  }
};

}  // namespace attest::oracle
