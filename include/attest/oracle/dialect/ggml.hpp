// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// ggml: ggml_flash_attn_ext and ggml_soft_max_ext of
// https://github.com/ggml-org/llama.cpp/blob/master/ggml/include/ggml.h and the CPU backend's
// ops.cpp.
#pragma once
#include <attest/oracle/dialect/arrays.hpp>
#include <attest/oracle/dialect/conventions.hpp>

#include <cmath>
#include <string>

namespace attest::oracle {
namespace detail {

inline constexpr Conventions ggml_conventions{};
inline constexpr Term ggml_options[] = {
    {"scale", "required"},
    {"max_bias", "0, off; the mask is multiplied by 2^(-max_bias·(h + 1)/n) in head h"},
    {"logit_softcap", "0, off; before the mask"},
};
inline constexpr Term ggml_arrays[] = {
    {"attn_mask", "added, after its head's slope; causality and window are in it"},
    {"sinks", "(Hq) attention sinks"},
    {"alibi_slopes", "(Hq) where those of max_bias are no powers of two"},
};

// A row without keys is zero in ggml_flash_attn_ext and NaN in ggml_soft_max_ext.
inline Problem read_ggml(const Call& call) {
  Options options(call);
  Arrays arrays(call);
  Problem p = read_query_key_value(call, arrays);
  read_mask(arrays, p, MaskKinds::added);
  p.rule.scale = options.required_scale();
  p.rule.softcap = positive_softcap(options, "logit_softcap");
  read_sinks("sinks", arrays, p);
  const bool given_slopes = read_alibi_slopes(arrays, p);
  const double max_bias = options.number("max_bias", 0);
  if (!(max_bias >= 0) || !std::isfinite(max_bias))
    throw options.wrong("max_bias", "0 (off) or a positive number");
  if ((max_bias > 0 || given_slopes) && (max_bias == 0 || !p.mask))
    throw options.wrong("max_bias", "a positive number with attn_mask, or neither that nor slopes");
  if (given_slopes) {
    p.mask_slopes.assign(p.alibi_slopes.begin(),
                         p.alibi_slopes.begin() + static_cast<std::ptrdiff_t>(p.query_heads()));
    if (call.find("alibi_slopes")->rank() != 1)
      throw Arrays::wrong_shape("alibi_slopes", *call.find("alibi_slopes"), "1 axis");
    p.alibi_slopes.clear();
  } else if (max_bias > 0) {
    p.mask_slopes = computed_slopes("max_bias", max_bias, p.query_heads(), options);
  }
  p.rule.empty_row = EmptyRow::zero;
  Rule soft_max = p.rule;
  soft_max.empty_row = EmptyRow::nan;
  p.alternatives.push_back({"rows without keys as ggml_soft_max_ext has them, NaN", soft_max});
  read_output(call, arrays, p);
  read_log_sum_exp_and_gradients(arrays, p);
  finish(p, options, arrays);
  return p;
}

}  // namespace detail
}  // namespace attest::oracle
