// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Plain: attention without a framework, every choice an option of its own.
#pragma once
#include <attest/oracle/dialect/arrays.hpp>
#include <attest/oracle/dialect/conventions.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace attest::oracle {
namespace detail {

inline constexpr Term plain_options[] = {
    {"scale", "1/√D"},
    {"causal", "none; or top-left, bottom-right"},
    {"window", "[-1, -1], open; keys to the left and right of the query's own, inclusive"},
    {"softcap", "0, off; before the mask"},
    {"heads_map", "blocked; or tiled"},
    {"empty_row", "zero; or nan, mean, any: not judged"},
    {"lse_base", "e; or 2: log₂ Σ e^score"},
    {"empty_lse", "-inf; or inf, large-negative, any: not judged"},
};
inline constexpr Term plain_arrays[] = {
    {"attn_mask", "bool, true = attend, or added"},
    {"sinks", "(Hq) attention sinks"},
    {"alibi_slopes", "(Hq) or (B, Hq); -slope·|key - query's position| is added"},
};

// Home-made attention without a framework; docs/captures.md lists the options.
inline Problem read_plain(const Call& call) {
  Options options(call);
  Arrays arrays(call);
  Problem p = read_heads(call, arrays);
  p.rule.scale = options.scale();
  p.rule.softcap = options.number("softcap", 0);
  if (!(p.rule.softcap >= 0) || !std::isfinite(p.rule.softcap))
    throw options.wrong("softcap", "0 (off) or a positive number");
  const std::string causal = options.word("causal", "none", {"none", "top-left", "bottom-right"});
  p.rule.causal = causal != "none";
  if (causal == "bottom-right")
    p.offsets.assign(p.batches(), static_cast<long>(p.keys()) - static_cast<long>(p.queries()));
  const std::vector<std::int64_t> window = options.integers("window", 2, {-1, -1});
  p.rule.window_left = options.window("window", window[0]);
  p.rule.window_right = options.window("window", window[1]);
  p.rule.head_map = options.word("heads_map", "blocked", {"blocked", "tiled"}) == "tiled"
                        ? HeadMap::tiled
                        : HeadMap::blocked;
  const std::string empty_row = options.word("empty_row", "zero", {"zero", "nan", "mean", "any"});
  p.rule.empty_row = empty_row == "zero"   ? EmptyRow::zero
                     : empty_row == "nan"  ? EmptyRow::nan
                     : empty_row == "mean" ? EmptyRow::mean
                                           : EmptyRow::unspecified;
  if (options.word("lse_base", "e", {"e", "2"}) == "2") p.rule.log_sum_exp_base = LogBase::two;
  const std::string empty_lse =
      options.word("empty_lse", "-inf", {"-inf", "inf", "large-negative", "any"});
  p.empty_log_sum_exp = empty_lse == "inf"              ? EmptyLogSumExp::plus_infinity
                        : empty_lse == "large-negative" ? EmptyLogSumExp::large_negative
                        : empty_lse == "any"            ? EmptyLogSumExp::unspecified
                                                        : EmptyLogSumExp::minus_infinity;
  read_sinks("sinks", arrays, p);
  if (read_alibi_slopes(arrays, p) && p.mask && p.mask->format())
    throw BadCall(
        "array \"alibi_slopes\": found together with an added attn_mask, whose sum is not bounded "
        "yet");
  finish(p, options, arrays);
  return p;
}

}  // namespace detail
}  // namespace attest::oracle
