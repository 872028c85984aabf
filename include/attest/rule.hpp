// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Rule: everything that decides which numbers attention returns, as one plain value, the same for
// the device side and the oracle.
#pragma once
#include <stddef.h>

namespace attest {

// What multiplies q·k: 1/√d_k exactly, d_k the length of the vectors in the product, or a given
// number.
struct Scale {
  bool by_width = true;
  double given = 0;

  static constexpr Scale one_over_root_width() { return {}; }
  static constexpr Scale of(double value) { return {false, value}; }
  friend constexpr bool operator==(const Scale&, const Scale&) = default;
};

// Where a softcap stands. After the mask (ONNX before release 1.22) a hidden key is hidden no more:
// its score is the cap of −∞, −softcap.
enum class SoftcapPlace { before_mask, after_mask };

// What a row returns whose query may see no key at all. `mean`: of all values, hidden ones too.
// `unspecified`: the definition does not say; the device side returns zeros.
enum class EmptyRow { zero, nan, mean, unspecified };

// Which key/value head a query head reads where there are fewer of them: h / group (0,0,1,1) or h
// mod count (0,1,0,1).
enum class HeadMap { blocked, tiled };

// What a NaN or an infinity in the key or value of a masked position does. `propagate`: the weight
// is 0, and 0·NaN and NaN − ∞ are NaN as IEEE 754 says. `unspecified`: the definition does not say.
// On the device side what is masked has no part in the result, whatever it holds.
enum class MaskedNonFinite { propagate, unspecified };

// The base of the logarithm in the log-sum-exp: ln Σ e^s, or log₂ Σ e^s, which is ln Σ e^s / ln 2.
enum class LogBase { e, two };

// A structural aggregate: it can be a template argument. What a call brings with it as arrays
// (masks, biases, sinks) is not part of it.
struct Rule {
  Scale scale{};
  // The scale is applied as √scale to q and to k, as ONNX does: q·k may overflow, and a negative
  // scale gives NaN.
  bool scale_by_square_roots = false;
  // s becomes softcap·tanh(s / softcap). 0: no cap.
  double softcap = 0;
  SoftcapPlace softcap_place = SoftcapPlace::before_mask;
  // −m_h·|j − (i + offset)| is added to the score, m_h the slope of query head h of H, see
  // alibi_slope in bias.hpp.
  bool alibi = false;
  // Key j is visible to query i only if j <= i + offset. Query i stands at position i + offset of
  // the keys' sequence: 0 for queries and keys that start together, keys − queries for such that
  // end together. A call may add to it, as a key/value cache does.
  bool causal = false;
  long offset = 0;
  // Key j is visible to query i only if −left <= j − (i + offset) <= right. −1: no limit on that
  // side.
  long window_left = -1;
  long window_right = -1;
  EmptyRow empty_row = EmptyRow::zero;
  HeadMap head_map = HeadMap::blocked;
  MaskedNonFinite masked_non_finite = MaskedNonFinite::unspecified;
  LogBase log_sum_exp_base = LogBase::e;

  friend constexpr bool operator==(const Rule&, const Rule&) = default;
};

// Scores as they are, neither divided by √d nor otherwise changed.
inline constexpr Rule unscaled{.scale = Scale::of(1)};

template <Rule rule>
concept softcap_is_positive_or_0_for_none =
    rule.softcap >= 0 && rule.softcap <= 1.7976931348623157e308;
template <Rule rule>
concept window_ends_count_keys_or_are_minus_one_for_no_limit =
    rule.window_left >= -1 && rule.window_right >= -1;

// Whether causality and window let a query at a position see key j.
constexpr bool position_visible(const Rule& rule, long query_position, long key) {
  const long ahead = key - query_position;
  return (!rule.causal || ahead <= 0) && (rule.window_left < 0 || -ahead <= rule.window_left) &&
         (rule.window_right < 0 || ahead <= rule.window_right);
}

// The key/value head that query head h reads; query_heads is a multiple of key_value_heads.
constexpr size_t key_value_head(HeadMap map, size_t h, size_t query_heads, size_t key_value_heads) {
  return map == HeadMap::blocked ? h / (query_heads / key_value_heads) : h % key_value_heads;
}

}  // namespace attest
