// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// gpt-oss: `sdpa` of https://github.com/openai/gpt-oss/blob/main/gpt_oss/torch/model.py and
// eager_attention_forward of Hugging Face's transformers/models/gpt_oss/modeling_gpt_oss.py.
#pragma once
#include <attest/oracle/dialect/arrays.hpp>
#include <attest/oracle/dialect/conventions.hpp>

#include <cstdint>
#include <string>

namespace attest::oracle {
namespace detail {

inline constexpr Conventions gpt_oss_conventions{.alignment = Alignment::after_past,
                                                 .window = WindowCount::with_own};
inline constexpr Term gpt_oss_options[] = {
    {"scaling", "1/√D"},
    {"sliding_window", "0, none; keys j > position - sliding_window, the query's own one of them"},
    {"dropout", "0 only"},
};
inline constexpr Term gpt_oss_arrays[] = {
    {"sinks", "(Hq) required; not scaled, dropped after softmax"},
    {"attn_mask", "bool, true = attend, or added; causality applies beside it"},
    {"past_key, past_value", "(B, Hkv, P, D); the first query stands after them"},
};

inline Problem read_gpt_oss(const Call& call) {
  Options options(call);
  Arrays arrays(call);
  Problem p = read_query_key_value(call, arrays);
  read_past(arrays, p);
  p.lengths.assign(p.batches(), p.given_keys());
  p.offsets.assign(p.batches(), static_cast<long>(p.past()));
  read_mask(arrays, p);
  p.hides_by_selection = true;
  p.rule.scale = options.scale("scaling");
  p.rule.causal = true;
  const std::int64_t window = options.integer("sliding_window", 0);
  if (window < 0) throw options.wrong("sliding_window", "0 (none) or a number of keys");
  if (window > 0) p.rule.window_left = options.window("sliding_window", window - 1);
  options.no_dropout("dropout");
  arrays.required("sinks");
  read_sinks("sinks", arrays, p);
  read_output(call, arrays, p);
  read_present(arrays, p);
  read_log_sum_exp_and_gradients(arrays, p);
  finish(p, options, arrays);
  return p;
}

}  // namespace detail
}  // namespace attest::oracle
