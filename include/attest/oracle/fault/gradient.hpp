// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Faults of the backward pass alone: the output is right.
#pragma once
#include <attest/oracle/fault/arithmetic.hpp>
#include <attest/oracle/fault/layout.hpp>
#include <attest/oracle/fault/log_sum_exp.hpp>
#include <attest/oracle/fault/window.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace attest::oracle::detail {

inline std::vector<double> if_gradients(const Problem& p) {
  return p.has_gradients() ? one_setting : std::vector<double>{};
}
inline Example gradient_example(std::size_t query_heads = 1, std::size_t key_value_heads = 1) {
  Example example = different_call(1, query_heads, key_value_heads, 2, 3, 2, 2);
  const Shape q{1, query_heads, 2, 2}, k{1, key_value_heads, 3, 2};
  example.array("dout", q, different(4 * query_heads, 0.9, 0.31))
      .array("dq", q, Numbers(4 * query_heads, 0))
      .array("dk", k, Numbers(6 * key_value_heads, 0))
      .array("dv", k, Numbers(6 * key_value_heads, 0));
  return example;
}

// Weights computed again for the backward pass from q, k and the log-sum-exp, with the biases of
// another problem.
inline void on_backward_with_biases_of(Implementation& by, Problem other) {
  const auto biases = std::make_shared<const Problem>(std::move(other));
  by.steps.scores_of_hidden_keys = true;
  on_backward(by, [biases](const Problem& p, const KeyRow& of, BackwardRow& row) {
    const RowIndex at = of.place;
    const double lse = of.maximum + std::log(of.sum);
    if (hidden_altogether(of)) return;
    for (std::size_t j = 0; j < p.given_keys() && j < row.weights.size(); ++j) {
      const double bias = biases->bias(at.batch, at.head, at.row, j);
      if (bias == p.bias(at.batch, at.head, at.row, j)) continue;
      row.weights[j] = std::exp(of.unmasked[j] + bias - lse);
      row.d_scores[j] = row.weights[j] * (row.d_weights[j] - row.level);
    }
  });
}
inline void drop_from_backward(BackwardRow& row, std::size_t first) {
  for (std::size_t j = first; j < row.weights.size(); ++j) row.weights[j] = row.d_scores[j] = 0;
}

inline constexpr Fault gradient_faults[] = {
    {"dq without the scale", FaultFamily::gradient, "dq lacks the factor of the scale.",
     "dS is multiplied by k, the scale is left to the caller", "", if_gradients,
     [](Implementation& by, double) {
       on_backward(
           by, [](const Problem&, const KeyRow&, BackwardRow& row) { row.d_query /= row.scale; });
     },
     nullptr, [] { return gradient_example(); }},
    {"dk without the scale", FaultFamily::gradient, "dk lacks the factor of the scale.",
     "dS is multiplied by q, the scale is left to the caller", "", if_gradients,
     [](Implementation& by, double) {
       on_backward(by,
                   [](const Problem&, const KeyRow&, BackwardRow& row) { row.d_key /= row.scale; });
     },
     nullptr, [] { return gradient_example(); }},
    {"dq and dk without the scale", FaultFamily::gradient,
     "dq and dk lack the factor of the scale.",
     "the backward pass starts from q·k, not from the scaled score", "stanford-crfm/levanter#449",
     if_gradients,
     [](Implementation& by, double) {
       on_backward(by, [](const Problem&, const KeyRow&, BackwardRow& row) {
         row.d_query /= row.scale;
         row.d_key /= row.scale;
       });
     },
     nullptr, [] { return gradient_example(); }},
    {"scale applied twice in dq and dk", FaultFamily::gradient,
     "dq and dk have the factor of the scale twice.",
     "q comes scaled and the result is scaled again", "", if_gradients,
     [](Implementation& by, double) {
       on_backward(by, [](const Problem&, const KeyRow&, BackwardRow& row) {
         row.d_query *= row.scale;
         row.d_key *= row.scale;
       });
     },
     nullptr, [] { return gradient_example(); }},
    {"softmax's derivative without the row's mean", FaultFamily::gradient,
     "dS is p dP, not p (dP − Σ p dP).", "the term D = rowsum(dO ∘ O) is missing",
     "huggingface/diffusers#14338", if_gradients,
     [](Implementation& by, double) {
       on_backward(by, [](const Problem&, const KeyRow&, BackwardRow& row) {
         for (std::size_t j = 0; j < row.weights.size(); ++j)
           row.d_scores[j] = row.weights[j] * row.d_weights[j];
       });
     },
     nullptr, [] { return gradient_example(); }},
    {"softmax's derivative without the weights", FaultFamily::gradient,
     "dS is dP − Σ p dP, not p times that.", "half of the formula", "", if_gradients,
     [](Implementation& by, double) {
       on_backward(by, [](const Problem&, const KeyRow&, BackwardRow& row) {
         for (std::size_t j = 0; j < row.weights.size(); ++j)
           if (row.weights[j] != 0) row.d_scores[j] = row.d_weights[j] - row.level;
       });
     },
     nullptr, [] { return gradient_example(); }},
    {"softcap's derivative missing", FaultFamily::gradient,
     "dq and dk lack the factor 1 − tanh² of the softcap.", "only the forward pass has a softcap",
     "",
     [](const Problem& p) { return p.rule.softcap != 0 ? if_gradients(p) : std::vector<double>{}; },
     [](Implementation& by, double) {
       on_backward(by, [](const Problem&, const KeyRow&, BackwardRow& row) {
         for (double& slope : row.slopes) slope = 1;
       });
     },
     nullptr, [] { return gradient_example().option("softcap", 1.0); }},
    {"log-sum-exp's derivative ignored", FaultFamily::gradient,
     "The derivative by the log-sum-exp does not reach dq and dk.",
     "the log-sum-exp is taken for a constant", "",
     [](const Problem& p) { return p.d_log_sum_exp ? if_gradients(p) : std::vector<double>{}; },
     [](Implementation& by, double) {
       on_backward(by, [](const Problem& p, const KeyRow& of, BackwardRow& row) {
         const RowIndex at = of.place;
         double d = p.d_log_sum_exp->number(at.batch, at.head, at.row, 0);
         if (p.rule.log_sum_exp_base == LogBase::two) d /= 0x1.62e42fefa39efp-1;
         for (std::size_t j = 0; j < row.weights.size(); ++j) row.d_scores[j] -= row.weights[j] * d;
       });
     },
     nullptr,
     [] {
       return gradient_example().array("dlse", {1, 1, 2}, {1, -1});
     }},
    {"gradients of one head of a group only", FaultFamily::gradient,
     "dk and dv are those of the last query head of a group, not the sum over its heads.",
     "a later head writes over what an earlier one has written", "nntile#347",
     [](const Problem& p) { return grouped(p) ? if_gradients(p) : std::vector<double>{}; },
     [](Implementation& by, double) { by.steps.keeps_last_group_member = true; }, nullptr,
     [] { return gradient_example(2, 1); }},
    {"gradients of a group averaged", FaultFamily::gradient,
     "dk and dv are the mean over a group's query heads, not the sum.", "mean in place of sum", "",
     [](const Problem& p) { return grouped(p) ? if_gradients(p) : std::vector<double>{}; },
     [](Implementation& by, double) {
       on_backward(by, [](const Problem& p, const KeyRow&, BackwardRow& row) {
         const auto group = static_cast<double>(p.query_heads() / p.key_value_heads());
         row.d_key /= group;
         row.d_value /= group;
       });
     },
     nullptr, [] { return gradient_example(2, 1); }},
    {"dv of the other sign", FaultFamily::gradient, "dv is negated.", "a subtraction", "",
     if_gradients,
     [](Implementation& by, double) {
       on_backward(
           by, [](const Problem&, const KeyRow&, BackwardRow& row) { row.d_value = -row.d_value; });
     },
     nullptr, [] { return gradient_example(); }},
    {"gradients zero", FaultFamily::gradient, "All gradients are zero.",
     "the backward pass inherits weights of zero, or is not run",
     "ScalingIntelligence/KernelBench#142", if_gradients,
     [](Implementation& by, double) {
       on_backward(by, [](const Problem&, const KeyRow&, BackwardRow& row) {
         row.d_query = row.d_key = row.d_value = 0;
         row.d_scores.assign(row.d_scores.size(), 0);
         row.weights.assign(row.weights.size(), 0);
       });
     },
     nullptr, [] { return gradient_example(); }},
    {"gradients scaled", FaultFamily::gradient, "All gradients are multiplied by a constant.",
     "a mean where a sum is meant, or the other way round; times the keys: weights computed again "
     "from "
     "a log-sum-exp in which a large maximum has swallowed the sum",
     "NVIDIA/TransformerEngine#3216",
     [](const Problem& p) {
       return p.has_gradients() ? distinct({0.5, 2, static_cast<double>(p.batches()),
                                            1 / static_cast<double>(p.batches()),
                                            1 / static_cast<double>(p.query_heads()),
                                            static_cast<double>(p.query_heads()), 5, -1,
                                            static_cast<double>(p.keys())},
                                           1)
                                : std::vector<double>{};
     },
     [](Implementation& by, double factor) {
       on_backward(by, [factor](const Problem&, const KeyRow&, BackwardRow& row) {
         row.d_value *= factor;
         for (double& d : row.d_scores) d *= factor;
       });
     },
     [](double factor) { return "gradients times " + number_in_words(factor); },
     [] { return gradient_example(); }},
    {"dout read transposed", FaultFamily::gradient,
     "The derivative by the output is read with its heads and rows exchanged.",
     "a view that is not contiguous is read as if it were", "Dao-AILab/flash-attention#355",
     [](const Problem& p) {
       return if_query_layout(p).empty() ? std::vector<double>{} : if_gradients(p);
     },
     [](Implementation& by, double) {
       by.steps.d_output = [](const Problem& p, RowIndex at) {
         return exchanged(at, p.query_heads(), p.queries());
       };
     },
     nullptr, [] { return gradient_example(2, 2); }},
    {"causality missing in the backward pass", FaultFamily::gradient,
     "Weights of later keys take part in the gradients.",
     "weights are computed again from q, k and the log-sum-exp, without the mask",
     "triton-lang/triton#4174",
     [](const Problem& p) { return p.rule.causal ? if_gradients(p) : std::vector<double>{}; },
     [](Implementation& by, double) {
       by.steps.scores_of_hidden_keys = true;
       on_backward(by, [](const Problem& p, const KeyRow& of, BackwardRow& row) {
         const double lse = of.maximum + std::log(of.sum);
         for (std::size_t j = 0; j < p.given_keys() && j < row.weights.size(); ++j)
           if (of.hidden[j]) {
             row.weights[j] = std::exp(of.unmasked[j] - lse);
             row.d_scores[j] = row.weights[j] * (row.d_weights[j] - row.level);
           }
       });
     },
     nullptr, [] { return gradient_example().option("causal", std::string("top-left")); }},
    {"log-sum-exp to base 2 in the backward pass", FaultFamily::gradient,
     "Weights are computed again as e^(score − log₂ Σ e^score).",
     "one of two bases is converted, the other is not", "", if_gradients,
     [](Implementation& by, double) {
       on_backward(by, [](const Problem&, const KeyRow& of, BackwardRow& row) {
         const double lse = of.maximum + std::log(of.sum);
         const double factor = std::exp(lse - lse * 0x1.71547652b82fep+0);
         for (double& p : row.weights) p *= factor;
         for (double& d : row.d_scores) d *= factor;
       });
     },
     nullptr, [] { return gradient_example(); }},
    {"mask missing in the backward pass", FaultFamily::gradient,
     "Gradients are those of weights without the mask.",
     "weights are computed again from q, k and the log-sum-exp, without the mask",
     "Dao-AILab/flash-attention#2623",
     [](const Problem& p) { return p.mask ? if_gradients(p) : std::vector<double>{}; },
     [](Implementation& by, double) {
       Problem without = by.problem;
       without.mask.reset();
       without.mask_slopes.clear();
       on_backward_with_biases_of(by, std::move(without));
     },
     nullptr,
     [] {
       return gradient_example().array("attn_mask", {2, 3}, {1, 0, 1, 1, 1, 0},
                                       ElementType::boolean);
     }},
    {"window missing in the backward pass", FaultFamily::gradient,
     "Weights of keys beyond the window take part in the gradients.",
     "weights are computed again from q, k and the log-sum-exp, without the window",
     "Dao-AILab/flash-attention#2623",
     [](const Problem& p) { return windowed(p) ? if_gradients(p) : std::vector<double>{}; },
     [](Implementation& by, double) {
       Problem without = by.problem;
       without.rule.window_left = without.rule.window_right = -1;
       on_backward_with_biases_of(by, std::move(without));
     },
     nullptr,
     [] {
       return gradient_example().option("window", std::vector<std::int64_t>{0, 0});
     }},
    {"gradients of rows without keys are NaN", FaultFamily::gradient,
     "A query that sees no key makes its dq NaN, and dk and dv of its whole head.",
     "e^(score − log-sum-exp) where both are −∞", "Dao-AILab/flash-attention#443",
     [](const Problem& p) {
       return may_hide(p) && p.sinks.empty() && p.rule.empty_row == EmptyRow::zero
                  ? if_gradients(p)
                  : std::vector<double>{};
     },
     [](Implementation& by, double) {
       on_backward(by, [](const Problem&, const KeyRow& of, BackwardRow& row) {
         if (!hidden_altogether(of)) return;
         constexpr double nan = std::numeric_limits<double>::quiet_NaN();
         std::fill(row.weights.begin(), row.weights.end(), nan);
         std::fill(row.d_scores.begin(), row.d_scores.end(), nan);
       });
     },
     nullptr,
     [] {
       return gradient_example().array("attn_mask", {2, 3}, {0, 0, 0, 1, 1, 1},
                                       ElementType::boolean);
     }},
    {"tail of keys dropped in the backward pass", FaultFamily::gradient,
     "Keys beyond the last whole tile of n take no part in the gradients.",
     "the number of tiles is rounded down in the backward kernel", "ROCm/aotriton#236",
     [](const Problem& p) {
       std::vector<double> sizes;
       if (!p.has_gradients()) return sizes;
       for (const double n : tile_sizes(p.given_keys(), false))
         if (p.given_keys() % static_cast<std::size_t>(n) != 0) sizes.push_back(n);
       return sizes;
     },
     [](Implementation& by, double n) {
       on_backward(by, [n](const Problem& p, const KeyRow&, BackwardRow& row) {
         const auto tile = static_cast<std::size_t>(n);
         drop_from_backward(row, p.given_keys() / tile * tile);
       });
     },
     [](double n) {
       return "keys beyond the last whole tile of " + number_in_words(n) +
              " dropped in the backward pass";
     },
     [] { return gradient_example(); }},
    {"tail of rows dropped in the backward pass", FaultFamily::gradient,
     "Queries beyond the last whole tile of n take no part in the gradients.",
     "the number of tiles is rounded down in the backward kernel", "ROCm/aotriton#236",
     [](const Problem& p) {
       std::vector<double> sizes;
       if (!p.has_gradients()) return sizes;
       for (const double n : tile_sizes(p.queries(), true))
         if (p.queries() % static_cast<std::size_t>(n) != 0) sizes.push_back(n);
       return sizes;
     },
     [](Implementation& by, double n) {
       on_backward(by, [n](const Problem& p, const KeyRow& of, BackwardRow& row) {
         const auto tile = static_cast<std::size_t>(n);
         if (of.place.row >= p.queries() / tile * tile) drop_from_backward(row, 0);
       });
     },
     [](double n) {
       return "rows beyond the last whole tile of " + number_in_words(n) +
              " dropped in the backward pass";
     },
     [] { return gradient_example(); }},
    {"sink missing in the backward pass", FaultFamily::gradient,
     "Weights are computed again from a log-sum-exp without the sink.",
     "the sink is added after the log-sum-exp is stored", "Dao-AILab/flash-attention#2752",
     [](const Problem& p) { return p.sinks.empty() ? std::vector<double>{} : if_gradients(p); },
     [](Implementation& by, double) {
       on_backward(by, [](const Problem& p, const KeyRow& of, BackwardRow& row) {
         const double others = 1 - of.weights[p.given_keys()];
         if (!(others > 0)) return;
         for (std::size_t j = 0; j < p.given_keys(); ++j) {
           row.weights[j] /= others;
           row.d_scores[j] /= others;
         }
       });
     },
     nullptr, [] { return gradient_example().array("sinks", {1}, {1}); }},
    {"derivative of the sinks of the other sign", FaultFamily::gradient,
     "The gradients of the sinks are negated.", "Σ p dP is added where it is subtracted", "",
     [](const Problem& p) { return p.d_sinks ? one_setting : std::vector<double>{}; },
     [](Implementation& by, double) {
       on_backward(by, [](const Problem& p, const KeyRow&, BackwardRow& row) {
         row.d_scores[p.given_keys()] *= -1;
       });
     },
     nullptr, [] { return gradient_example().array("sinks", {1}, {1}).array("dsinks", {1}, {0}); }},
    {"log-sum-exp kept in a coarser format for the backward pass", FaultFamily::gradient,
     "Weights are computed again from a log-sum-exp of fewer digits than the softmax has.",
     "it is stored in the inputs' format", "",
     [](const Problem& p) {
       return p.has_gradients() ? std::vector<double>{0, 1} : std::vector<double>{};
     },
     [](Implementation& by, double n) {
       on_backward(by, [n](const Problem&, const KeyRow& of, BackwardRow& row) {
         const double lse = of.maximum + std::log(of.sum);
         if (hidden_altogether(of)) return;
         const double kept = coarse_formats[static_cast<std::size_t>(n)]->round(lse);
         const double factor = std::exp(lse - kept);
         for (double& p : row.weights) p *= factor;
         for (double& d : row.d_scores) d *= factor;
       });
     },
     [](double n) {
       return "log-sum-exp kept in " + format_in_words(n) + " for the backward pass";
     },
     [] { return gradient_example().option("scale", 8.0); }},
};

}  // namespace attest::oracle::detail
