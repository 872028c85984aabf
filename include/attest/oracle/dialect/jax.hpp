// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// JAX: https://docs.jax.dev/en/latest/_autosummary/jax.nn.dot_product_attention.html and its path
// `xla` in jax/_src/nn/functions.py.
#pragma once
#include <attest/oracle/dialect/arrays.hpp>
#include <attest/oracle/dialect/conventions.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace attest::oracle {
namespace detail {

inline constexpr Conventions jax_conventions{.alignment = Alignment::top_left,
                                             .empty_row = EmptyRow::mean,
                                             .window = WindowCount::beside_own};
inline constexpr Term jax_options[] = {
    {"scale", "1/√D"},
    {"is_causal", "false; the first query at the first key"},
    {"local_window_size",
     "none; [left, right] or one number for both, inclusive, the first query at the first key"},
    {"implementation, return_residual", "change no number"},
};
inline constexpr Term jax_arrays[] = {
    {"bias", "added to the scores before the mask"},
    {"attn_mask", "bool, true = attend; a row without keys returns the mean of all values"},
    {"query_seq_lengths", "(B); rows beyond return zeros"},
    {"key_value_seq_lengths", "(B)"},
};

// A hidden score is replaced by a large negative number, so that a row without keys weighs all keys
// alike: the mean of all values, padding too.
inline Problem read_jax(const Call& call) {
  Options options(call);
  Arrays arrays(call);
  Problem p = read_query_key_value(call, arrays);
  if (p.value_width() != p.width())
    throw Arrays::wrong_shape("v", *call.find("v"), "the width of \"k\"");
  read_mask(arrays, p, MaskKinds::boolean);
  if (const Tensor* bias = arrays.find("bias")) {
    const Tensor view = broadcast_scores("bias", Arrays::floating("bias", *bias), p);
    (p.mask ? p.score_bias : p.mask) = view;
  }
  if (auto lengths = read_lengths("query_seq_lengths", arrays, p, p.queries())) {
    p.query_lengths = *lengths;
    p.padded_row = PaddedRow::zero;
  }
  if (auto lengths = read_lengths("key_value_seq_lengths", arrays, p, p.keys()))
    p.lengths = *lengths;
  p.hides_by_selection = true;
  p.rule.scale = options.scale();
  p.rule.causal = options.flag("is_causal");
  if (options.given("local_window_size")) {
    const auto* one = std::get_if<std::int64_t>(&call.attributes.at("local_window_size"));
    const std::vector<std::int64_t> window =
        one ? std::vector<std::int64_t>{*one, *one}
            : options.integers("local_window_size", 2, {-1, -1});
    for (const std::int64_t side : window)
      if (side < 0) throw options.wrong("local_window_size", "numbers of keys, none of them -1");
    p.rule.window_left = options.window("local_window_size", window[0]);
    p.rule.window_right = options.window("local_window_size", window[1]);
  }
  p.rule.empty_row = EmptyRow::mean;
  p.empty_log_sum_exp = EmptyLogSumExp::large_negative;
  options.without_effect({"implementation", "return_residual"});
  read_output(call, arrays, p);
  read_log_sum_exp_and_gradients(arrays, p);
  finish(p, options, arrays);
  return p;
}

}  // namespace detail
}  // namespace attest::oracle
