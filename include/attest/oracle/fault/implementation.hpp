// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Implementation: attention as somebody may have written it — a call, and how each step departs
// from its definition. A fault is a change of either.
#pragma once
#include <attest/oracle/problem.hpp>

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace attest::oracle {

// A row of query, key, value or output.
struct RowIndex {
  std::size_t batch = 0, head = 0, row = 0;
  friend bool operator==(const RowIndex&, const RowIndex&) = default;
};

// A query's keys on their way from scores to weights. Keys appended to the call's own have a value
// of null, which stands for zeros.
struct KeyRow {
  RowIndex place;
  std::vector<double> scores;         // with bias
  std::vector<double> errors;         // what the claimed arithmetic may lose of each
  std::vector<char> hidden;           // these take no part at all
  std::vector<char> constant;         // scores that depend on neither query nor key
  std::vector<const double*> values;  // d_v numbers each
  std::vector<double> weights;        // what multiplies the values
  std::vector<double> unmasked;  // scores before bias; of hidden keys where a step asks for them
  double maximum = 0;            // what was subtracted
  double sum = 0;                // of the exponentials

  std::size_t size() const { return scores.size(); }
  // A key that the call does not have: of value zero, or the value of another.
  void append(double score, const double* value = nullptr) {
    scores.push_back(score);
    errors.push_back(0);
    hidden.push_back(0);
    constant.push_back(1);
    values.push_back(value);
  }
  void hide(std::size_t j) { hidden[j] = 1; }
};

// What the derivatives of one query's scores are made of.
struct BackwardRow {
  std::vector<double> weights;    // p
  std::vector<double> d_weights;  // dO·v
  double level = 0;               // D = dO·o − d_lse
  std::vector<double> d_scores;   // p (d_p − D)
  std::vector<double> slopes;     // of the softcap
  double scale = 1;
  double d_query = 1, d_key = 1, d_value = 1;  // factors of what is added to each
};

// Which rows a softmax adds up over.
enum class SoftmaxOver { keys, queries, queries_and_keys };

// How the maximum is taken that is subtracted from the scores.
struct Maximum {
  bool subtracted = true;
  bool without_sinks = false;
  double starts_at = -std::numeric_limits<double>::infinity();  // of the running maximum
  std::optional<double> fixed;                                  // in its place
  // The keys it is taken over, hidden ones too. Null: those that are seen.
  std::function<bool(const Problem&, const KeyRow&, std::size_t)> of;
};

// An online softmax over tiles of so many keys, and what it forgets. 0: the whole row at once.
struct Tiles {
  std::size_t keys = 0;
  bool rescales_output = true, rescales_sum = true;
  bool averages = false;      // each tile's own output, all tiles counted alike
  double merge_base = 0;      // tiles' outputs are weighed by this to their log-sum-exp; 0: by e
  bool guards_hidden = true;  // against −∞ − (−∞) where a whole tile is hidden
  bool guards_empty = true;   // against 0/0 in the output of a whole tile that is hidden
};

// In the place of −∞ for a hidden key.
struct Fill {
  double value = 0;
  bool added = false;  // to the score; otherwise the score is replaced
};

struct Steps {
  // Where a row is read. Null: where it is. Of key and value the head is the key/value head.
  std::function<RowIndex(const Problem&, RowIndex)> output_row;  // all of a row's computation
  std::function<RowIndex(const Problem&, RowIndex)> score_row;   // its query, keys and bias
  std::function<RowIndex(const Problem&, RowIndex)> query, key, value, bias;
  std::function<RowIndex(const Problem&, RowIndex)> log_sum_exp_row;  // whose a row returns
  std::function<std::size_t(const Problem&, std::size_t)> key_head, value_head;  // of a query head
  // Changes a row that was read: its numbers, and the position it stands at.
  std::function<void(std::vector<double>&, long)> on_query, on_key;
  std::function<void(std::vector<double>&, RowIndex)> on_value;
  std::function<double(const Problem&, RowIndex, std::size_t)> own_bias;  // of query and key j

  double product_factor = 1;          // of q·k before it is stored
  std::function<double(double)> cap;  // instead of cap·tanh(s/cap)
  std::optional<Fill> fill;
  bool scores_of_hidden_keys = false;  // are computed
  std::function<void(const Problem&, KeyRow&)> on_scores;
  Maximum maximum;
  std::function<double(double)> exponential;  // instead of e^x
  SoftmaxOver over = SoftmaxOver::keys;
  double added_to_sum = 0;
  Tiles tiles;
  const NumberFormat* product_format = nullptr;  // q·k is held in, before the scale
  const NumberFormat* weight_format = nullptr;
  const NumberFormat* sum_format = nullptr;  // the exponentials are summed in
  const NumberFormat* accumulate_format = nullptr;
  bool divides_first = true;  // weights are normalised before they multiply values
  double output_factor = 1;
  bool zero_if_sum_is_zero = false;
  std::function<void(const Problem&, KeyRow&)> on_weights;
  std::function<void(const Problem&, const KeyRow&, std::vector<double>&)> on_output;
  std::function<double(const Problem&, const KeyRow&, double)> on_log_sum_exp;
  std::function<void(const Problem&, const KeyRow&, BackwardRow&)> on_backward;
  std::function<RowIndex(const Problem&, RowIndex)> d_output;  // where it is read
  bool keeps_last_group_member = false;  // d_key and d_value of a group: not summed
  // Of present key and value: which row of past ++ new a row holds; beyond all: zeros.
  std::function<std::size_t(const Problem&, std::size_t)> present_row;
};

struct Implementation {
  Problem problem;
  Steps steps;

  // The numbers of a step computed in the formats of the claim, since their range or their
  // rounding is the fault.
  bool in_claimed_formats = false;
};

}  // namespace attest::oracle
