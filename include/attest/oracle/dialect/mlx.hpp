// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// MLX:
// https://ml-explore.github.io/mlx/build/html/python/_autosummary/mlx.core.fast.scaled_dot_product_attention.html
#pragma once
#include <attest/oracle/dialect/arrays.hpp>
#include <attest/oracle/dialect/conventions.hpp>

#include <string>

namespace attest::oracle {
namespace detail {

inline constexpr Conventions mlx_conventions{.alignment = Alignment::bottom_right};
inline constexpr Term mlx_options[] = {
    {"scale", "required"},
    {"mask", "none; or \"causal\", the last query at the last key"},
};
inline constexpr Term mlx_arrays[] = {
    {"attn_mask", "in the place of \"causal\": bool, true = attend, or added"},
    {"sinks", "(Hq) attention sinks"},
};

// A row without keys is zero in the fused kernel; the fallback fills with the smallest finite
// number, which weighs all keys alike, and leaves −∞ of an added mask as it is, which gives NaN.
inline Problem read_mlx(const Call& call) {
  Options options(call);
  Arrays arrays(call);
  Problem p = read_query_key_value(call, arrays);
  read_mask(arrays, p);
  p.rule.scale = options.required_scale();
  if (options.given("mask")) {
    options.word("mask", "", {"causal"});
    if (p.mask) throw options.wrong("mask", "not both \"causal\" and attn_mask");
    p.rule.causal = true;
    align_bottom_right(p);  // ml-explore/mlx#2967
  }
  p.rule.empty_row = EmptyRow::zero;
  read_sinks("sinks", arrays, p);
  Rule fallback = p.rule;
  fallback.empty_row = p.mask && p.mask->format() ? EmptyRow::nan : EmptyRow::mean;
  p.alternatives.push_back(
      {fallback.empty_row == EmptyRow::nan
           ? "rows without keys as the fallback has them, NaN"
           : "rows without keys as the fallback has them, the mean of all values",
       fallback});
  read_output(call, arrays, p);
  read_log_sum_exp_and_gradients(arrays, p);
  finish(p, options, arrays);
  return p;
}

}  // namespace detail
}  // namespace attest::oracle
