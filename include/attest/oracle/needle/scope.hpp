// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Scope: the calls that an implementation is for — its dialect, number format, extents, and what
// may be asked of it.
#pragma once
#include <attest/oracle/call.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace attest::oracle {

struct Extent {
  std::size_t least = 1, most = 1, multiple_of = 1;

  bool holds(std::size_t n) const { return n >= least && n <= most && n % multiple_of == 0; }
  // The number nearest to n that it holds.
  std::size_t nearest(std::size_t n) const {
    const std::size_t up = (least + multiple_of - 1) / multiple_of * multiple_of;
    return std::clamp((n + multiple_of / 2) / multiple_of * multiple_of, up,
                      std::max(up, most / multiple_of * multiple_of));
  }
};

// What a call may ask for beside q, k and v. All of it is false of an implementation that takes
// nothing else.
struct Features {
  bool scale = false;         // another than 1/√D
  bool causal = false;        // the first query at the first key
  bool bottom_right = false;  // causal, the last query at the last key
  bool window = false;
  bool softcap = false;
  bool boolean_mask = false;
  bool added_mask = false;
  bool empty_rows = false;  // queries that may see no key
  bool grouped_heads = false;
  bool tiled_heads = false;
  bool sinks = false;
  bool slopes = false;   // ALiBi
  bool cache = false;    // past keys and values
  bool lengths = false;  // of each batch entry
  bool log_sum_exp = false;
  bool base_two = false;  // log-sum-exp
  bool gradients = false;
  // Values near the largest number, whose sums may leave the range before they are divided.
  bool extremes = false;

  static constexpr Features all() {
    return {true, true, true, true, true, true, true, true, true,
            true, true, true, true, true, true, true, true, true};
  }
  friend constexpr bool operator==(const Features&, const Features&) = default;
};

struct FeatureName {
  std::string_view name;
  bool Features::*feature;
};
inline constexpr FeatureName feature_names[] = {
    {"scale", &Features::scale},
    {"causal", &Features::causal},
    {"bottom-right", &Features::bottom_right},
    {"window", &Features::window},
    {"softcap", &Features::softcap},
    {"boolean-mask", &Features::boolean_mask},
    {"added-mask", &Features::added_mask},
    {"empty-rows", &Features::empty_rows},
    {"grouped-heads", &Features::grouped_heads},
    {"tiled-heads", &Features::tiled_heads},
    {"sinks", &Features::sinks},
    {"slopes", &Features::slopes},
    {"cache", &Features::cache},
    {"lengths", &Features::lengths},
    {"log-sum-exp", &Features::log_sum_exp},
    {"base-two", &Features::base_two},
    {"gradients", &Features::gradients},
    {"extremes", &Features::extremes},
};

// What is in both.
constexpr Features operator&(const Features& a, const Features& b) {
  Features both;
  for (const FeatureName& one : feature_names) both.*one.feature = a.*one.feature && b.*one.feature;
  return both;
}

struct Scope {
  std::string dialect = "plain";
  ElementType type = ElementType::float32;
  Features features;
  Extent batches{1, 2}, query_heads{1, 28}, queries{1, 64}, keys{1, 96}, width{1, 16},
      value_width{1, 16};
  bool one_width = false;                       // values are as wide as keys
  bool square = false;                          // as many queries as keys
  std::map<std::string, Attribute> attributes;  // options of every call
  std::map<std::string, Attribute> precision;   // what is claimed; empty: the usual of the format
  std::string subject;                          // whose implementation it is, in words
};

}  // namespace attest::oracle
