// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Problem: what a call asks for once a dialect has read it — a rule, and every array in one layout.
#pragma once
#include <attest/oracle/tensor.hpp>
#include <attest/rule.hpp>

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attest::oracle {

// What a score output holds: q·k scaled; after the softcap; after softcap and bias; the weights.
enum class ScoreStage { scaled, capped, biased, weights };

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
  // Per batch entry: query i stands at position i + offset for causality and window; keys from
  // `lengths` on are padding.
  std::vector<long> offsets;
  std::vector<std::size_t> lengths;

  std::optional<Claim> output, scores, present_key, present_value;
  ScoreStage score_stage = ScoreStage::scaled;
  const NumberFormat* softmax_format = nullptr;  // where the call asks for one
  std::vector<std::string>
      not_judged;  // arrays the subject returned that no enclosure exists for yet

  std::size_t batches() const { return query.shape[0]; }
  std::size_t query_heads() const { return query.shape[1]; }
  std::size_t key_value_heads() const { return key.shape[1]; }
  std::size_t queries() const { return query.shape[2]; }
  std::size_t past() const { return past_key ? past_key->shape[2] : 0; }
  std::size_t keys() const { return past() + key.shape[2]; }
  std::size_t width() const { return query.shape[3]; }
  std::size_t value_width() const { return value.shape[3]; }

  std::size_t key_value_head_of(std::size_t query_head) const {
    return key_value_head(rule.head_map, query_head, query_heads(), key_value_heads());
  }

  // Key or value row j of the sequence past ++ new.
  void read_key(std::size_t b, std::size_t g, std::size_t j, double* row) const {
    j < past() ? past_key->read_row(b, g, j, row) : key.read_row(b, g, j - past(), row);
  }
  void read_value(std::size_t b, std::size_t g, std::size_t j, double* row) const {
    j < past() ? past_value->read_row(b, g, j, row) : value.read_row(b, g, j - past(), row);
  }

  // What is added to score (i, j): 0 or −∞ for each of causality, window, padding and a boolean
  // mask, the number itself for any other mask; their sum as IEEE 754 has it, so that ∞ − ∞ is NaN.
  double bias(std::size_t b, std::size_t h, std::size_t i, std::size_t j) const {
    constexpr double hidden = -std::numeric_limits<double>::infinity();
    double bias = 0;
    if (mask) {
      if (j >= mask->shape[3])
        bias = hidden;
      else if (mask->type == ElementType::boolean)
        bias = mask->integer_at(mask->at(b, h, i, j)) ? 0 : hidden;
      else
        bias = mask->number(b, h, i, j);
    }
    const bool in_reach =
        position_visible(rule, static_cast<long>(i) + offsets[b] + rule.offset, static_cast<long>(j));
    return in_reach && j < lengths[b] ? bias : bias + hidden;
  }
};

}  // namespace attest::oracle
