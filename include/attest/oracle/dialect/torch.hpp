// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// PyTorch: torch.nn.functional.scaled_dot_product_attention, its documentation and math path.
#pragma once
#include <attest/oracle/dialect/arrays.hpp>
#include <attest/oracle/dialect/conventions.hpp>

#include <string>

namespace attest::oracle {
namespace detail {

inline constexpr Conventions torch_conventions{.alignment = Alignment::top_left};
inline constexpr Term torch_options[] = {
    {"scale", "1/√D"},
    {"is_causal", "false; the first query at the first key; not together with attn_mask"},
    {"enable_gqa", "false; then k has as many heads as q"},
    {"dropout_p", "0 only"},
};
inline constexpr Term torch_arrays[] = {
    {"attn_mask", "bool, true = attend, or added"},
};

// torch.nn.functional.scaled_dot_product_attention. Causality is aligned top-left; a row without
// keys is zero since the math path uses _safe_softmax (2.5); causal together with a mask is an
// error.
inline Problem read_torch(const Call& call) {
  Options options(call);
  Arrays arrays(call);
  Problem p = read_heads(call, arrays);
  p.rule.scale = options.scale();
  p.rule.causal = options.flag("is_causal");
  p.rule.empty_row = EmptyRow::zero;
  if (p.rule.causal && p.mask)
    throw BadCall(
        "option \"is_causal\" of dialect torch: found together with attn_mask, expected one of "
        "them");
  options.no_dropout("dropout_p");
  if (!options.flag("enable_gqa") && p.query_heads() != p.key_value_heads())
    throw BadCall("array \"k\": found " + std::to_string(p.key_value_heads()) +
                  " heads, expected " + std::to_string(p.query_heads()) +
                  " as q has, or the option enable_gqa");
  finish(p, options, arrays);
  return p;
}

}  // namespace detail
}  // namespace attest::oracle
