// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// cuDNN: https://docs.nvidia.com/deeplearning/cudnn/frontend/latest/operations/Attention.html
#pragma once
#include <attest/oracle/dialect/arrays.hpp>
#include <attest/oracle/dialect/conventions.hpp>

#include <cstdint>
#include <string>

namespace attest::oracle {
namespace detail {

inline constexpr Conventions cudnn_conventions{
    .alignment = Alignment::top_left, .window = WindowCount::with_own, .default_scale = 1};
inline constexpr Term cudnn_options[] = {
    {"attn_scale", "1"},
    {"diagonal_alignment", "TOP_LEFT; or BOTTOM_RIGHT, by each batch entry's lengths"},
    {"diagonal_band_left_bound", "none; hides the columns at or before row - bound"},
    {"diagonal_band_right_bound", "none; hides the columns beyond row + bound, 0 is causal"},
    {"use_causal_mask, use_causal_mask_bottom_right, sliding_window_length",
     "false, false, none; older names of the same"},
    {"use_alibi_mask", "false; slope·(column - row) is added"},
    {"use_padding_mask", "false; then seq_len_q and seq_len_kv"},
    {"generate_stats, is_inference", "change no number"},
};
inline constexpr Term cudnn_arrays[] = {
    {"attn_mask", "the bias, added to the scores"},
    {"seq_len_q, seq_len_kv", "(B); rows beyond are not judged"},
    {"sink_token", "(Hq) attention sinks"},
    {"alibi_slopes", "(Hq) where those of use_alibi_mask are no powers of two"},
};

inline Problem read_cudnn(const Call& call) {
  Options options(call);
  Arrays arrays(call);
  Problem p = read_query_key_value(call, arrays);
  read_mask(arrays, p, MaskKinds::added);
  const bool padding = options.flag("use_padding_mask");
  auto query_lengths = read_lengths("seq_len_q", arrays, p, p.queries());
  auto key_lengths = read_lengths("seq_len_kv", arrays, p, p.keys());
  if (padding != query_lengths.has_value() || padding != key_lengths.has_value())
    throw options.wrong("use_padding_mask", "true with both seq_len_q and seq_len_kv, or neither");
  if (padding) {
    p.query_lengths = *query_lengths;
    p.padded_row = PaddedRow::unspecified;
    p.lengths = *key_lengths;
  }
  p.hides_by_selection = true;
  p.rule.scale = options.given("attn_scale") ? options.scale("attn_scale") : Scale::of(1);

  const bool top_left = options.flag("use_causal_mask");
  const bool bottom_right = options.flag("use_causal_mask_bottom_right");
  const std::string alignment =
      options.word("diagonal_alignment", bottom_right ? "BOTTOM_RIGHT" : "TOP_LEFT",
                   {"TOP_LEFT", "BOTTOM_RIGHT"});
  if ((top_left && (bottom_right || alignment == "BOTTOM_RIGHT")) ||
      (bottom_right && alignment == "TOP_LEFT"))
    throw options.wrong("diagonal_alignment", "one alignment");
  if (alignment == "BOTTOM_RIGHT") align_bottom_right(p);
  const std::int64_t right =
      options.integer("diagonal_band_right_bound", top_left || bottom_right ? 0 : -1);
  p.rule.window_right = options.window("diagonal_band_right_bound", right);
  // "at or before column row_idx - left_bound are masked": left_bound keys, the query's own one of
  // them
  for (const char* name : {"diagonal_band_left_bound", "sliding_window_length"}) {
    if (!options.given(name)) continue;
    const std::int64_t left = options.integer(name, 0);
    if (left < 1) throw options.wrong(name, "1 or more keys, the query's own one of them");
    p.rule.window_left = options.window(name, left - 1);
  }
  if (p.rule.window_right == 0) {
    p.rule.causal = true;
    p.rule.window_right = -1;
  }
  read_sinks("sink_token", arrays, p);
  const bool given_slopes = read_alibi_slopes(arrays, p);
  if (options.flag("use_alibi_mask")) {
    if (!p.rule.causal) throw options.wrong("use_alibi_mask", "a right bound of 0 with it");
    if (p.mask)
      throw options.wrong("use_alibi_mask", "no attn_mask beside it: the sum is not bounded yet");
    p.alibi_distance = AlibiDistance::from_row;
    if (!given_slopes) {
      const auto slopes = computed_slopes("use_alibi_mask", 8, p.query_heads(), options);
      for (std::size_t b = 0; b < p.batches(); ++b)
        p.alibi_slopes.insert(p.alibi_slopes.end(), slopes.begin(), slopes.end());
    }
  } else if (given_slopes) {
    throw options.wrong("use_alibi_mask", "true with alibi_slopes");
  }
  options.without_effect({"generate_stats", "is_inference"});
  read_output(call, arrays, p);
  read_log_sum_exp_and_gradients(arrays, p);
  finish(p, options, arrays);
  return p;
}

}  // namespace detail
}  // namespace attest::oracle
