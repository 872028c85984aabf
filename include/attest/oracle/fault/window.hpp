// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Faults of a sliding window.
#pragma once
#include <attest/oracle/fault/mask.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace attest::oracle::detail {

inline std::vector<double> side_changes(long side) {
  if (side < 0) return {};
  std::vector<double> changes{1};
  if (side >= 1) changes.push_back(-1);
  changes.push_back(2);
  if (side >= 2) changes.push_back(-2);
  return changes;
}
inline bool windowed(const Problem& p) {
  return p.rule.window_left >= 0 || p.rule.window_right >= 0;
}
inline std::vector<double> if_windowed(const Problem& p) {
  return windowed(p) ? one_setting : std::vector<double>{};
}
inline Example window_example(std::size_t queries, const Numbers& values, std::int64_t left,
                              std::int64_t right) {
  return equal_scores(queries, values).option("window", std::vector<std::int64_t>{left, right});
}

inline constexpr Fault window_faults[] = {
    {"window's left side off by some", FaultFamily::window,
     "A query sees some keys more or fewer before its own than the window says.",
     "a window of w counts the query's own key in one framework and not in another",
     "vllm-project/vllm#3385", [](const Problem& p) { return side_changes(p.rule.window_left); },
     [](Implementation& by, double n) { by.problem.rule.window_left += static_cast<long>(n); },
     [](double n) {
       return keys_more_or_fewer("window", n, "too wide on the left", "too narrow on the left");
     },
     [] {
       return window_example(3, {1, 2, 4}, 1, 0);
     }},
    {"window's right side off by some", FaultFamily::window,
     "A query sees some keys more or fewer after its own than the window says.",
     "the end of the window is taken as exclusive, or the other way round",
     "Dao-AILab/flash-attention#895",
     [](const Problem& p) { return side_changes(p.rule.window_right); },
     [](Implementation& by, double n) { by.problem.rule.window_right += static_cast<long>(n); },
     [](double n) {
       return keys_more_or_fewer("window", n, "too wide on the right", "too narrow on the right");
     },
     [] {
       return window_example(3, {1, 2, 4}, 0, 1);
     }},
    {"window dropped", FaultFamily::window, "Queries see keys beyond the window.",
     "a kernel without windows is called", "huggingface/transformers#41228", if_windowed,
     [](Implementation& by, double) {
       by.problem.rule.window_left = by.problem.rule.window_right = -1;
     },
     nullptr,
     [] {
       return window_example(2, {1, 2}, 0, 0);
     }},
    {"window's left side dropped", FaultFamily::window,
     "Queries see all keys before their own, the right side holds.",
     "the window is replaced by causality", "",
     [](const Problem& p) {
       return p.rule.window_left >= 0 && (p.rule.window_right >= 0 || p.rule.causal)
                  ? one_setting
                  : std::vector<double>{};
     },
     [](Implementation& by, double) { by.problem.rule.window_left = -1; }, nullptr,
     [] {
       return window_example(2, {1, 2}, 0, 0);
     }},
    {"window's right side dropped", FaultFamily::window,
     "Queries see all keys after their own, the left side holds.", "only one side is implemented",
     "",
     [](const Problem& p) {
       return p.rule.window_right >= 0 && p.rule.window_left >= 0 ? one_setting
                                                                  : std::vector<double>{};
     },
     [](Implementation& by, double) { by.problem.rule.window_right = -1; }, nullptr,
     [] {
       return window_example(2, {1, 2}, 0, 0);
     }},
    {"window's sides exchanged", FaultFamily::window, "Left is taken for right and right for left.",
     "the order of two arguments", "zml/zml#763", if_windowed,
     [](Implementation& by, double) {
       std::swap(by.problem.rule.window_left, by.problem.rule.window_right);
     },
     nullptr,
     [] {
       return window_example(3, {1, 2, 4}, 1, 0);
     }},
    {"window without the offset", FaultFamily::window,
     "The window lies around the query's own row, not around its position among the keys.",
     "the keys of the cache are not counted for the window, though they are for causality", "",
     [](const Problem& p) {
       return windowed(p) && p.rule.causal ? one_setting : std::vector<double>{};
     },
     [](Implementation& by, double) {
       const auto no_window = std::make_shared<Problem>(by.problem);
       no_window->rule.window_left = no_window->rule.window_right = -1;
       by.steps.own_bias = [no_window](const Problem& p, RowIndex at, std::size_t j) {
         Rule window = p.rule;
         window.causal = false;
         if (j < p.given_keys() &&
             !position_visible(window, static_cast<long>(at.row), static_cast<long>(j)))
           return minus_infinity;
         return no_window->bias(at.batch, at.head, at.row, j);
       };
     },
     nullptr,
     [] {
       return window_example(2, {1, 2, 4}, 1, 0).option("causal", std::string("bottom-right"));
     }},
};

}  // namespace attest::oracle::detail
