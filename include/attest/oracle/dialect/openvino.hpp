// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// OpenVINO: the pseudo-code of ScaledDotProductAttention-13,
// https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/sequence/scaled-dot-product-attention.html
#pragma once
#include <attest/oracle/dialect/arrays.hpp>
#include <attest/oracle/dialect/conventions.hpp>

#include <string>

namespace attest::oracle {
namespace detail {

inline constexpr Conventions openvino_conventions{
    .alignment = Alignment::top_left, .empty_row = EmptyRow::nan, .causal_ignores_mask = true};
inline constexpr Term openvino_options[] = {
    {"causal", "false; the first query at the first key; attn_mask is ignored then"},
    {"scale", "1/√D"},
};
inline constexpr Term openvino_arrays[] = {
    {"attn_mask", "bool, true = attend, or added; of no axes: none"},
    {"sink", "(Hq), one more column of the scores, dropped after softmax"},
};

// Heads of keys are broadcast as NumPy does: as many as the query's, or one.
inline Problem read_openvino(const Call& call) {
  Options options(call);
  Arrays arrays(call);
  Problem p = read_query_key_value(call, arrays);
  if (p.key_value_heads() != p.query_heads() && p.key_value_heads() != 1)
    throw BadCall("array \"k\": found " + std::to_string(p.key_value_heads()) +
                  " heads, expected 1 or " + std::to_string(p.query_heads()) + " as q has");
  p.rule.causal = options.flag("causal");
  const Tensor* mask = arrays.find("attn_mask");
  if (mask && mask->rank() != 0 && !p.rule.causal) read_mask(arrays, p);
  p.rule.scale = options.scale();
  p.rule.empty_row = EmptyRow::nan;
  p.rule.masked_non_finite = MaskedNonFinite::propagate;
  read_sinks("sink", arrays, p);
  read_output(call, arrays, p);
  read_log_sum_exp_and_gradients(arrays, p);
  finish(p, options, arrays);
  return p;
}

}  // namespace detail
}  // namespace attest::oracle
