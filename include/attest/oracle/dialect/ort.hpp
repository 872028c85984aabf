// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// ONNX Runtime's own operators GroupQueryAttention and MultiHeadAttention:
// https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md and
// onnxruntime/contrib_ops/cpu/bert/gqa_attention_base.h.
#pragma once
#include <attest/oracle/dialect/arrays.hpp>
#include <attest/oracle/dialect/conventions.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace attest::oracle {
namespace detail {

inline constexpr Conventions ort_gqa_conventions{.alignment = Alignment::after_past,
                                                 .window = WindowCount::beside_own};
inline constexpr Term ort_gqa_options[] = {
    {"num_heads, kv_num_heads", "required"},
    {"scale", "0: 1/√D"},
    {"local_window_size", "-1, open; so many keys to the left of the query's own"},
    {"softcap", "0, off; before attention_bias"},
    {"smooth_softmax", "0; 1 is a sink of score 0"},
    {"do_rotary", "0 only: q and k as they are after rotation"},
};
inline constexpr Term ort_gqa_arrays[] = {
    {"q, k, v", "(B, S, H·D)"},
    {"past_key, past_value", "(B, Hkv, P, D), of which seqlens_k + 1 - S rows count"},
    {"seqlens_k", "(B) required; keys that count, less one"},
    {"total_sequence_length", "one number; where it is S the past does not count"},
    {"attn_mask", "attention_bias, added"},
    {"head_sink", "(Hq) attention sinks"},
};
inline constexpr Conventions ort_mha_conventions{.alignment = Alignment::after_past};
inline constexpr Term ort_mha_options[] = {
    {"num_heads", "required"},
    {"scale", "0: 1/√D"},
    {"unidirectional", "0; 1 is causal, the first query after the past"},
    {"mask_filter_value", "-10000; added where key_padding_mask is 0"},
};
inline constexpr Term ort_mha_arrays[] = {
    {"q, k, v", "(B, S, H·D)"},
    {"past_key, past_value", "(B, H, P, D)"},
    {"key_padding_mask", "(B, T) of 0 and 1; what is 0 is masked only nearly"},
    {"attn_mask", "attention_bias, added"},
};

inline std::size_t head_count(Options& options, const std::string& name) {
  const std::int64_t heads = options.integer(name, 0);
  if (heads <= 0 || heads > INT32_MAX) throw options.wrong(name, "the number of heads");
  return static_cast<std::size_t>(heads);
}

// (batch, row, heads·column)
inline Problem read_hidden(Arrays& arrays, std::size_t query_heads, std::size_t key_value_heads) {
  Problem p;
  for (const char* name : {"q", "k", "v"})
    if (arrays.required(name).rank() != 3)
      throw Arrays::wrong_shape(name, arrays.required(name), "3 axes, (batch, row, heads·column)");
  p.query = split_heads("q", arrays.required("q"), query_heads);
  p.key = split_heads("k", arrays.required("k"), key_value_heads);
  p.value = split_heads("v", arrays.required("v"), key_value_heads);
  check_shapes(p);
  p.format = *p.query.format();
  read_past(arrays, p);
  p.offsets.assign(p.batches(), static_cast<long>(p.past()));
  p.lengths.assign(p.batches(), p.given_keys());
  return p;
}

inline void read_hidden_output(Arrays& arrays, Problem& p) {
  const Tensor* out = arrays.find("out");
  if (!out) return;
  Arrays::floating("out", *out);
  Arrays::shaped("out", *out, {p.batches(), p.queries(), p.query_heads() * p.value_width()},
                 "(batch, queries, heads·value width)");
  p.output = claim("out", split_heads("out", *out, p.query_heads()));
}

inline Scale scale_unless_zero(Options& options) {
  const Scale scale = options.scale();
  return !scale.by_width && scale.given == 0 ? Scale::one_over_root_width() : scale;
}

inline void read_attention_bias(Arrays& arrays, Problem& p, bool pad_short_rows) {
  if (const Tensor* bias = arrays.find("attn_mask"))
    p.mask = broadcast_scores("attn_mask", Arrays::floating("attn_mask", *bias), p, pad_short_rows);
}

// Which past rows count: the new keys follow them. A first prompt, whose total is its own length,
// has none.
inline void read_totals(Arrays& arrays, Problem& p) {
  const std::vector<std::int64_t> less_one = whole_numbers(
      "seqlens_k", arrays.required("seqlens_k"), p.batches(),
      "one length less one for each batch entry", 0, static_cast<std::int64_t>(p.given_keys()) - 1);
  const auto queries = static_cast<std::int64_t>(p.queries());
  std::int64_t longest = *std::max_element(less_one.begin(), less_one.end()) + 1;
  if (const Tensor* total = arrays.find("total_sequence_length"))
    longest = whole_numbers("total_sequence_length", *total, 1, "the longest of all", longest,
                            INT32_MAX)[0];
  const bool prompt = longest == queries;
  if (p.key.shape[2] != p.queries())
    throw Arrays::wrong_shape("k", arrays.required("k"), "as many new keys as queries");
  for (std::size_t b = 0; b < p.batches(); ++b) {
    const std::int64_t total = less_one[b] + 1;
    const std::int64_t past = prompt ? 0 : total - queries;
    if (past < 0 || past > static_cast<std::int64_t>(p.past()))
      throw BadCall("array \"seqlens_k\": found " + std::to_string(total) +
                    " keys less one, of which " + std::to_string(queries) + " are new; expected " +
                    std::to_string(queries) + " to " + std::to_string(p.given_keys()));
    p.past_lengths.push_back(static_cast<std::size_t>(past));
    p.offsets[b] = static_cast<long>(past);
    p.lengths[b] = static_cast<std::size_t>(total);
    if (prompt) p.query_lengths.push_back(static_cast<std::size_t>(total));
  }
}

// GroupQueryAttention is causal always.
inline Problem read_ort_gqa(const Call& call) {
  Options options(call);
  Arrays arrays(call);
  const std::size_t query_heads = head_count(options, "num_heads");
  Problem p = read_hidden(arrays, query_heads, head_count(options, "kv_num_heads"));
  read_totals(arrays, p);
  p.rule.scale = scale_unless_zero(options);
  p.rule.softcap = positive_softcap(options, "softcap");
  p.rule.causal = true;
  const std::int64_t window = options.integer("local_window_size", -1);
  if (window == 0) throw options.wrong("local_window_size", "-1 (open) or a number of keys");
  p.rule.window_left = options.window("local_window_size", window);
  p.hides_by_selection = true;
  if (options.flag("do_rotary"))
    throw options.wrong("do_rotary", "0, with q and k as they are after rotation");
  options.without_effect({"rotary_interleaved"});
  read_attention_bias(arrays, p, true);
  read_sinks("head_sink", arrays, p);
  if (options.flag("smooth_softmax") && p.sinks.empty()) p.sinks.assign(p.query_heads(), 0.0);
  read_hidden_output(arrays, p);
  const bool whole_past = std::all_of(p.past_lengths.begin(), p.past_lengths.end(),
                                      [&](std::size_t rows) { return rows == p.past(); });
  if (whole_past)
    read_present(arrays, p);
  else
    for (const char* present : {"present_key", "present_value"})
      if (arrays.find(present)) p.not_judged.push_back(present);
  read_log_sum_exp_and_gradients(arrays, p);
  finish(p, options, arrays);
  return p;
}

inline Problem read_ort_mha(const Call& call) {
  Options options(call);
  Arrays arrays(call);
  const std::size_t heads = head_count(options, "num_heads");
  Problem p = read_hidden(arrays, heads, heads);
  p.rule.scale = scale_unless_zero(options);
  p.rule.causal = options.flag("unidirectional");
  p.hides_by_selection = true;
  p.padding_fill = options.number("mask_filter_value", -10000);
  if (!std::isfinite(p.padding_fill)) throw options.wrong("mask_filter_value", "a finite number");
  if (const Tensor* padding = arrays.find("key_padding_mask")) {
    if (padding->format())
      throw BadCall("array \"key_padding_mask\": found " + std::string(facts(padding->type).name) +
                    ", expected integers");
    if (padding->shape != Shape{p.batches(), p.given_keys()})
      throw Arrays::wrong_shape("key_padding_mask", *padding,
                                to_string(Shape{p.batches(), p.given_keys()}) + ", (batch, keys)");
    Tensor view = *padding;  // (batch, 1, 1, keys)
    view.shape.insert(view.shape.begin() + 1, 2, 1);
    view.strides.insert(view.strides.begin() + 1, 2, 0);
    p.padding_mask = broadcast_scores("key_padding_mask", view, p);
  }
  read_attention_bias(arrays, p, false);
  read_hidden_output(arrays, p);
  read_present(arrays, p);
  read_log_sum_exp_and_gradients(arrays, p);
  finish(p, options, arrays);
  return p;
}

}  // namespace detail
}  // namespace attest::oracle
