// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Faults of the scale: what multiplies q·k.
#pragma once
#include <attest/oracle/fault/definition.hpp>
#include <attest/oracle/fault/examples.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

namespace attest::oracle::detail {

// As few digits as say which number it is: 0.3217, -10000, -1e9.
inline std::string number_in_words(double x) {
  char text[32];
  if (x == std::floor(x) && std::fabs(x) < 1e6) {
    std::snprintf(text, sizeof text, "%.0f", x);
    return text;
  }
  for (int digits = 1; digits < 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, x);
    if (std::fabs(std::strtod(text, nullptr) - x) <= 1e-4 * std::fabs(x)) break;
  }
  std::string words = text;
  for (const char* padding : {"e+0", "e+"})
    if (const std::size_t at = words.find(padding); at != std::string::npos)
      words.replace(at, std::string(padding).size(), "e");
  if (const std::size_t at = words.find("e-0"); at != std::string::npos) words.replace(at, 3, "e-");
  return words;
}

inline double scale_of(const Problem& problem) {
  return problem.rule.scale.by_width ? 1 / std::sqrt(static_cast<double>(problem.width()))
                                     : problem.rule.scale.given;
}
inline void multiply_scale(Implementation& by, double factor) {
  by.problem.rule.scale = Scale::of(scale_of(by.problem) * factor);
  by.problem.rule.scale_by_square_roots = false;
}
inline void set_scale(Implementation& by, double scale) {
  by.problem.rule.scale = Scale::of(scale);
  by.problem.rule.scale_by_square_roots = false;
}

// Of the numbers, each once and none that is `not_this`.
inline std::vector<double> distinct(std::initializer_list<double> numbers, double not_this) {
  std::vector<double> result;
  for (const double x : numbers)
    if (x != not_this && std::find(result.begin(), result.end(), x) == result.end())
      result.push_back(x);
  return result;
}

inline double next_multiple(std::size_t n, std::size_t of) {
  return static_cast<double>((n + of - 1) / of * of);
}

// What else than the width of a head somebody may take the root of.
inline std::vector<double> other_widths(const Problem& p) {
  if (!p.rule.scale.by_width) return {};
  const auto d = static_cast<double>(p.width());
  double power = 1;
  while (power < d) power *= 2;
  return distinct(
      {d * static_cast<double>(p.query_heads()), d * static_cast<double>(p.key_value_heads()),
       power, next_multiple(p.width(), 8), next_multiple(p.width(), 16),
       next_multiple(p.width(), 32), next_multiple(p.width(), 64), next_multiple(p.width(), 128),
       static_cast<double>(p.value_width()), 2 * d, d / 2, static_cast<double>(p.keys()),
       static_cast<double>(p.queries())},
      d);
}

inline Example scale_example() {
  return small_call({1, 4}, {2, 0, 0, 0}, {2, 4}, {1, 0, 0, 0, 0, 0, 0, 0}, {2, 1}, {1, 0});
}

inline std::vector<double> fixed_scales(const Problem& p) {
  return distinct({0.125, 1 / std::sqrt(128.0), 0.0625, 1 / std::sqrt(96.0), 1 / std::sqrt(80.0),
                   1 / std::sqrt(32.0), 0.25, 0.5, 0.1},
                  scale_of(p));
}
// Whether a fault with a reason of its own has this scale.
inline bool is_another_faults(const Problem& p, double scale) {
  const auto d = static_cast<double>(p.width());
  std::vector<double> known = fixed_scales(p);
  for (const double width : other_widths(p)) known.push_back(1 / std::sqrt(width));
  const double given = scale_of(p);
  for (const double x :
       {1.0, given * given, std::sqrt(given), 1 / std::sqrt(d), 1 / d, std::sqrt(d)})
    known.push_back(x);
  return std::any_of(known.begin(), known.end(),
                     [&](double x) { return std::fabs(x - scale) <= 1e-9 * std::fabs(x); });
}

inline constexpr Fault scale_faults[] = {
    {"scale missing", FaultFamily::scale,
     "q·k is not multiplied by the scale: the softmax is of q·k.",
     "the division by √D was forgotten, or is expected to have been done to q already",
     "mlc-ai/mlc-llm#3426", [](const Problem&) { return one_setting; },
     [](Implementation& by, double) { set_scale(by, 1); }, nullptr, scale_example},
    {"scale of another width", FaultFamily::scale,
     "The scale is 1/√n for another n than the width of a head.",
     "the embedding's width is taken for a head's, or the width a head is padded to",
     "intel-analytics/ipex-llm#12619", other_widths,
     [](Implementation& by, double width) { set_scale(by, 1 / std::sqrt(width)); },
     [](double width) { return "scale of another width: 1/√" + number_in_words(width); },
     [] {
       return small_call({1, 2, 1, 1}, {2, 2}, {1, 2, 2, 1}, {1, 0, 1, 0}, {1, 2, 2, 1},
                         {1, 0, 1, 0});
     }},
    {"given scale ignored", FaultFamily::scale,
     "The scale is 1/√D although the call gives another.",
     "the option is not handed on, or a cached kernel was built for the default",
     "openvinotoolkit/openvino#31365",
     [](const Problem& p) { return p.rule.scale.by_width ? std::vector<double>{} : one_setting; },
     [](Implementation& by, double) {
       by.problem.rule.scale = Scale::one_over_root_width();
       by.problem.rule.scale_by_square_roots = false;
     },
     nullptr,
     [] {
       return one_query({1, 0}, {1, 0}).option("scale", 2.0);
     }},
    {"scale applied twice", FaultFamily::scale, "q·k is multiplied by the square of the scale.",
     "both the caller and the kernel scale, or both q and k are scaled by all of it",
     "NVIDIA/Megatron-LM#848", [](const Problem&) { return one_setting; },
     [](Implementation& by, double) { multiply_scale(by, scale_of(by.problem)); }, nullptr,
     scale_example},
    {"half of the scale", FaultFamily::scale, "q·k is multiplied by the square root of the scale.",
     "the root of the scale is applied to q but not to k", "",
     [](const Problem& p) { return scale_of(p) > 0 ? one_setting : std::vector<double>{}; },
     [](Implementation& by, double) { set_scale(by, std::sqrt(scale_of(by.problem))); }, nullptr,
     scale_example},
    {"divided by the width", FaultFamily::scale, "The scale is 1/D, not 1/√D.",
     "the root was forgotten", "",
     [](const Problem& p) { return p.rule.scale.by_width ? one_setting : std::vector<double>{}; },
     [](Implementation& by, double) { set_scale(by, 1 / static_cast<double>(by.problem.width())); },
     nullptr, scale_example},
    {"multiplied by the root of the width", FaultFamily::scale, "The scale is √D, not 1/√D.",
     "multiplied where it should be divided", "",
     [](const Problem& p) { return p.rule.scale.by_width ? one_setting : std::vector<double>{}; },
     [](Implementation& by, double) {
       set_scale(by, std::sqrt(static_cast<double>(by.problem.width())));
     },
     nullptr, scale_example},
    {"fixed scale", FaultFamily::scale, "The scale is a constant that does not follow the width.",
     "the scale of one model was written into the kernel", "", fixed_scales,
     [](Implementation& by, double scale) { set_scale(by, scale); },
     [](double scale) { return "fixed scale: " + number_in_words(scale); }, scale_example},
    {"scale of quantised keys missing or applied twice", FaultFamily::scale,
     "q·k is multiplied by a constant beside the scale.",
     "keys held in 8 bits have a scale of their own, which one kernel applies and another does not",
     "flashinfer-ai/flashinfer#4979",
     [](const Problem& p) {
       std::vector<double> factors;
       for (const double factor : {0.25, 4.0, 7.5, 1 / 7.5, 0.5, 2.0, 0.125, 8.0, 10.0, 0.1})
         if (!is_another_faults(p, factor * scale_of(p))) factors.push_back(factor);
       return factors;
     },
     [](Implementation& by, double factor) { multiply_scale(by, factor); },
     [](double factor) {
       return "scale of quantised keys missing or applied twice: q·k times " +
              number_in_words(factor);
     },
     scale_example},
};

}  // namespace attest::oracle::detail
