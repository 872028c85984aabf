// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Conventions: where definitions of attention differ, each choice as data.
#pragma once
#include <attest/rule.hpp>

#include <optional>
#include <string_view>

namespace attest::oracle {

// Where causality and window put the first query: at the first key, so that the last query sees the
// last key, or after the past.
enum class Alignment { top_left, bottom_right, after_past };

// A window of w to the left: w keys and the query's own, or w with it.
enum class WindowCount { beside_own, with_own };

struct Conventions {
  std::optional<Alignment> alignment = std::nullopt;  // nothing: no causality, or as an option says
  EmptyRow empty_row = EmptyRow::zero;
  std::optional<WindowCount> window = std::nullopt;  // nothing: it has no window
  double default_scale = 0;                          // 0: 1/√d_k
  bool causal_ignores_mask = false;
};

constexpr std::string_view in_words(Alignment alignment) {
  return alignment == Alignment::top_left       ? "the first query stands at the first key"
         : alignment == Alignment::bottom_right ? "the last query stands at the last key"
                                                : "the first query stands after the past";
}

constexpr std::string_view in_words(EmptyRow empty_row) {
  return empty_row == EmptyRow::zero   ? "rows without keys return zero"
         : empty_row == EmptyRow::nan  ? "rows without keys return NaN"
         : empty_row == EmptyRow::mean ? "rows without keys return the mean of all values"
                                       : "rows without keys return anything";
}

constexpr std::string_view in_words(WindowCount window) {
  return window == WindowCount::beside_own
             ? "a window of w sees w keys to the left beside the query's own"
             : "a window of w sees w keys, the query's own one of them";
}

// An option or array of a dialect and what it means, default first.
struct Term {
  std::string_view name;
  std::string_view meaning;
};

}  // namespace attest::oracle
