// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Rule: everything that decides which numbers attention returns, as one plain value.
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

// What a row returns whose query may see no key at all. `unspecified`: the definition does not say.
enum class EmptyRow { zero, nan, mean, unspecified };

// Which key/value head a query head reads where there are fewer of them: h / group (0,0,1,1) or h
// mod count (0,1,0,1).
enum class HeadMap { blocked, tiled };

// What a NaN or an infinity in the key or value of a masked position does. `propagate`: the weight
// is 0, and 0·NaN and NaN − ∞ are NaN as IEEE 754 says. `unspecified`: the definition does not say.
enum class MaskedNonFinite { propagate, unspecified };

// A structural aggregate: it can be a template argument.
struct Rule {
  Scale scale;
  // The scale is applied as √scale to q and to k, as ONNX does: q·k may overflow, and a negative
  // scale gives NaN.
  bool scale_by_square_roots = false;
  // s becomes softcap·tanh(s / softcap), before any mask. 0: no cap.
  double softcap = 0;
  // Key j is visible to query i only if j <= i + offset; the offset belongs to the call.
  bool causal = false;
  // Key j is visible to query i only if −left <= j − (i + offset) <= right. −1: no limit on that
  // side.
  long window_left = -1;
  long window_right = -1;
  EmptyRow empty_row = EmptyRow::zero;
  HeadMap head_map = HeadMap::blocked;
  MaskedNonFinite masked_non_finite = MaskedNonFinite::unspecified;

  friend constexpr bool operator==(const Rule&, const Rule&) = default;
};

// Whether causality and window let a query at position i + offset see key j.
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
