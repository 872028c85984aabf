// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Faults of attention sinks and of positions: what is added to the sum, and to scores by distance.
#pragma once
#include <attest/oracle/fault/heads.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace attest::oracle::detail {

inline std::vector<double> if_sinks(const Problem& p) {
  return p.sinks.empty() ? std::vector<double>{} : one_setting;
}
inline std::vector<double> if_sinks_of_heads(const Problem& p) {
  return p.sinks.size() > 1 ? one_setting : std::vector<double>{};
}
inline Example sink_example(const Numbers& sinks, std::size_t key_value_heads = 1) {
  const std::size_t heads = sinks.size();
  return small_call({heads, 1, 1}, Numbers(heads, 0), {key_value_heads, 1, 1},
                    Numbers(key_value_heads, 0), {key_value_heads, 1, 1},
                    Numbers(key_value_heads, 1))
      .array("sinks", {heads}, sinks);
}

inline bool sees_the_sink_alone(const Problem& p, const KeyRow& row) {
  const auto keys = row.hidden.begin() + static_cast<std::ptrdiff_t>(p.given_keys());
  return std::all_of(row.hidden.begin(), keys, [](char h) { return h != 0; });
}

inline constexpr Fault sink_faults[] = {
    {"sinks dropped", FaultFamily::sinks, "The sink is not counted in the softmax's sum.",
     "one kernel of several does not take sinks", "modular/modular#6198", if_sinks,
     [](Implementation& by, double) {
       on_scores(by, [](const Problem& p, KeyRow& row) { row.hide(p.given_keys()); });
     },
     nullptr, [] { return sink_example({0}); }},
    {"sink of head 0 in every head", FaultFamily::sinks, "Every head counts the first head's sink.",
     "the head is left out of the index", "", if_sinks_of_heads,
     [](Implementation& by, double) {
       by.problem.sinks.assign(by.problem.sinks.size(), by.problem.sinks[0]);
     },
     nullptr,
     [] {
       return sink_example({0, 1});
     }},
    {"sink indexed by key/value head", FaultFamily::sinks,
     "Head h counts the sink of its key/value head.", "sinks are repeated like keys and values",
     "pie-project/pie#272",
     [](const Problem& p) {
       return !p.sinks.empty() && grouped(p) ? one_setting : std::vector<double>{};
     },
     [](Implementation& by, double) {
       Problem& p = by.problem;
       std::vector<double> sinks(p.sinks.size());
       for (std::size_t h = 0; h < sinks.size(); ++h) sinks[h] = p.sinks[p.key_value_head_of(h)];
       p.sinks = sinks;
     },
     nullptr,
     [] {
       return sink_example({0, 1}, 1);
     }},
    {"sink scaled", FaultFamily::sinks, "The sink is multiplied by the scale like a score.",
     "it is appended to q·k before the scale", "", if_sinks,
     [](Implementation& by, double) {
       for (double& sink : by.problem.sinks) sink *= scale_of(by.problem);
     },
     nullptr, [] { return sink_example({1}).option("scale", 0.5); }},
    {"sink counted twice", FaultFamily::sinks, "e^sink is added to the sum twice.",
     "each of two halves of the keys adds it", "", if_sinks,
     [](Implementation& by, double) {
       for (double& sink : by.problem.sinks) sink += 0x1.62e42fefa39efp-1;  // ln 2
     },
     nullptr, [] { return sink_example({0}); }},
    {"sink added without its exponential", FaultFamily::sinks,
     "The sink itself is added to the sum of exponentials relative to the maximum.",
     "exp is forgotten", "", if_sinks,
     [](Implementation& by, double) {
       on_scores(by, [](const Problem& p, KeyRow& row) {
         double maximum = minus_infinity;
         for (std::size_t j = 0; j < p.given_keys(); ++j)
           if (!row.hidden[j]) maximum = std::fmax(maximum, row.scores[j]);
         const std::size_t sink = p.given_keys();
         if (row.scores[sink] > 0)
           row.scores[sink] = maximum + std::log(row.scores[sink]);
         else
           row.hide(sink);
       });
     },
     nullptr, [] { return sink_example({3}); }},
    {"sink of the other sign", FaultFamily::sinks, "e^−sink is added to the sum.",
     "a bias that is subtracted", "", if_sinks,
     [](Implementation& by, double) {
       for (double& sink : by.problem.sinks) sink = -sink;
     },
     nullptr, [] { return sink_example({1}); }},
    {"sink not in the maximum", FaultFamily::sinks,
     "The maximum is of the scores alone: a large sink overflows.",
     "the sink is added after the running maximum is final", "NVIDIA/TensorRT-LLM#19220", if_sinks,
     [](Implementation& by, double) {
       by.in_claimed_formats = true;
       by.steps.maximum.without_sinks = true;
     },
     nullptr,
     [] {
       return sink_example({200}).array("lse", {1, 1}, {0});
     }},
    {"sink capped", FaultFamily::sinks, "The sink is capped like a score.",
     "it is appended to the scores before the softcap", "ROCm/rocm-libraries#12229",
     [](const Problem& p) { return p.rule.softcap != 0 ? if_sinks(p) : std::vector<double>{}; },
     [](Implementation& by, double) {
       const double cap = by.problem.rule.softcap;
       for (double& sink : by.problem.sinks) sink = cap * std::tanh(sink / cap);
     },
     nullptr, [] { return sink_example({3}).option("softcap", 1.0); }},
    {"rows that see the sink alone are NaN", FaultFamily::sinks,
     "A query all of whose keys are hidden returns NaN, though its sink makes the sum 1.",
     "−∞ − (−∞), since the maximum is of the keys", "ikawrakow/ik_llama.cpp#2344",
     [](const Problem& p) { return may_hide(p) ? if_sinks(p) : std::vector<double>{}; },
     [](Implementation& by, double) {
       static constexpr double nan = std::numeric_limits<double>::quiet_NaN();
       on_output(by, [](const Problem& p, const KeyRow& row, std::vector<double>& out) {
         if (sees_the_sink_alone(p, row)) std::fill(out.begin(), out.end(), nan);
       });
       by.steps.on_log_sum_exp = [](const Problem& p, const KeyRow& row, double lse) {
         return sees_the_sink_alone(p, row) ? nan : lse;
       };
     },
     nullptr,
     [] {
       return masked_example({0, 0}, {1, 2}, {0, 0}).array("sinks", {1}, {0});
     }},
};

inline std::vector<double> if_slopes(const Problem& p) {
  return p.alibi_slopes.empty() ? std::vector<double>{} : one_setting;
}
inline Example slope_example(const Numbers& slopes, std::size_t queries, const Numbers& values) {
  const std::size_t heads = slopes.size();
  const Shape q{heads, queries, 1}, k{1, values.size(), 1};
  return small_call(q, Numbers(heads * queries, 0), k, Numbers(values.size(), 0), k, values)
      .array("alibi_slopes", {heads}, slopes);
}
// Turns pairs of numbers by the angles of rotary embeddings, base 10000.
inline void rotate(std::vector<double>& row, long position, bool halves) {
  const std::size_t pairs = row.size() / 2;
  for (std::size_t n = 0; n < pairs; ++n) {
    const double angle =
        static_cast<double>(position) *
        std::pow(10000, -2 * static_cast<double>(n) / static_cast<double>(row.size()));
    double& x = row[halves ? n : 2 * n];
    double& y = row[halves ? n + pairs : 2 * n + 1];
    const double a = x * std::cos(angle) - y * std::sin(angle);
    y = x * std::sin(angle) + y * std::cos(angle);
    x = a;
  }
}
inline std::vector<double> if_rotatable(const Problem& p) {
  return p.width() % 2 == 0 && p.keys() > 1 ? one_setting : std::vector<double>{};
}
inline void rotate_again(Implementation& by, bool halves, bool keys_too) {
  by.steps.on_query = [halves](std::vector<double>& q, long at) { rotate(q, at, halves); };
  if (keys_too)
    by.steps.on_key = [halves](std::vector<double>& k, long at) { rotate(k, at, halves); };
}
inline Example rotary_example() {
  return small_call({2, 2}, {1, 0, 1, 0}, {2, 2}, {1, 0, 1, 0}, {2, 1}, {1, 0});
}

inline constexpr Fault position_faults[] = {
    {"slopes dropped", FaultFamily::positions, "Scores do not fall with the distance.",
     "a kernel without ALiBi is called", "", if_slopes,
     [](Implementation& by, double) { by.problem.alibi_slopes.clear(); }, nullptr,
     [] {
       return slope_example({0.5}, 1, {1, 2});
     }},
    {"slopes of the other sign", FaultFamily::positions, "Scores rise with the distance.",
     "distances are counted the other way", "meta-pytorch/attention-gym#86", if_slopes,
     [](Implementation& by, double) {
       for (double& slope : by.problem.alibi_slopes) slope = -slope;
     },
     nullptr,
     [] {
       return slope_example({0.5}, 1, {1, 2});
     }},
    {"slopes of the head before", FaultFamily::positions,
     "Head h has the slope of head h − 1, the first one 1 or the ratio more.",
     "2^(−8h/n) for 2^(−8(h + 1)/n)", "paiml/aprender#2143", if_slopes,
     [](Implementation& by, double) {
       Problem& p = by.problem;
       const std::size_t heads = p.query_heads();
       const std::vector<double> given = p.alibi_slopes;
       for (std::size_t n = 0; n < given.size(); ++n)
         p.alibi_slopes[n] = n % heads > 0                    ? given[n - 1]
                             : heads > 1 && given[n + 1] != 0 ? given[n] * given[n] / given[n + 1]
                                                              : 1;
     },
     nullptr,
     [] {
       return slope_example({0.5, 0.25}, 1, {1, 2});
     }},
    {"slope of head 0 in every head", FaultFamily::positions,
     "Every head has the first one's slope.", "the head is left out of the index", "",
     [](const Problem& p) {
       return p.alibi_slopes.empty() || p.query_heads() < 2 ? std::vector<double>{} : one_setting;
     },
     [](Implementation& by, double) {
       Problem& p = by.problem;
       for (std::size_t n = 0; n < p.alibi_slopes.size(); ++n)
         p.alibi_slopes[n] = p.alibi_slopes[n / p.query_heads() * p.query_heads()];
     },
     nullptr,
     [] {
       return slope_example({0.5, 0.25}, 1, {1, 2});
     }},
    {"slopes of the next power of two of heads", FaultFamily::positions,
     "The slopes are those of as many heads as the next power of two.",
     "other numbers of heads need slopes of two kinds", "ml-explore/mlx#3071",
     [](const Problem& p) {
       const std::size_t h = p.query_heads();
       return p.alibi_slopes.empty() || (h & (h - 1)) == 0 ? std::vector<double>{} : one_setting;
     },
     [](Implementation& by, double) {
       Problem& p = by.problem;
       std::size_t power = 1;
       while (power < p.query_heads()) power *= 2;
       for (std::size_t n = 0; n < p.alibi_slopes.size(); ++n)
         p.alibi_slopes[n] = std::exp2(-8 * static_cast<double>(n % p.query_heads() + 1) /
                                       static_cast<double>(power));
     },
     nullptr,
     [] {
       return slope_example({0.0625, 0.00390625, 0.25}, 1, {1, 2});
     }},
    {"distances from the row", FaultFamily::positions,
     "A key's distance is taken from the query's row, not from its position among the keys.",
     "the keys of the cache are not counted", "vllm-project/vllm#945",
     [](const Problem& p) {
       return p.alibi_slopes.empty() || p.alibi_distance != AlibiDistance::from_position
                  ? std::vector<double>{}
                  : one_setting;
     },
     [](Implementation& by, double) {
       const auto without = std::make_shared<Problem>(by.problem);
       without->alibi_slopes.clear();
       const std::vector<double> slopes = by.problem.alibi_slopes;
       if (slopes.empty()) return;  // another fault has dropped them
       by.steps.own_bias = [without, slopes](const Problem& p, RowIndex at, std::size_t j) {
         const double bias = without->bias(at.batch, at.head, at.row, j);
         if (j >= p.given_keys()) return bias;
         const double distance = static_cast<double>(j) - static_cast<double>(at.row);
         return bias - slopes[at.batch * p.query_heads() + at.head] * std::fabs(distance);
       };
     },
     nullptr,
     [] {
       return slope_example({0.5}, 2, {1, 2, 4}).option("causal", std::string("bottom-right"));
     }},
    {"slopes scaled", FaultFamily::positions, "The distance is multiplied by slope and scale.",
     "the bias is added before the scale", "", if_slopes,
     [](Implementation& by, double) {
       for (double& slope : by.problem.alibi_slopes) slope *= scale_of(by.problem);
     },
     nullptr,
     [] {
       return slope_example({0.5}, 1, {1, 2}).option("scale", 0.5);
     }},
    {"rotated by their positions once more", FaultFamily::positions,
     "Queries and keys are turned by rotary embeddings, halves paired, though the call has none.",
     "the kernel's own rotary embedding is left on", "Tencent/ncnn#6833", if_rotatable,
     [](Implementation& by, double) { rotate_again(by, true, true); }, nullptr, rotary_example},
    {"rotated by their positions once more, neighbours paired", FaultFamily::positions,
     "Queries and keys are turned by rotary embeddings, neighbours paired, though the call has "
     "none.",
     "the kernel's own rotary embedding is left on", "tenstorrent/tt-metal#26844",
     [](const Problem& p) { return p.width() > 2 ? if_rotatable(p) : std::vector<double>{}; },
     [](Implementation& by, double) { rotate_again(by, false, true); }, nullptr,
     [] {
       return small_call({2, 4}, {1, 0, 0, 0, 1, 0, 0, 0}, {2, 4}, {1, 0, 0, 0, 1, 0, 0, 0}, {2, 1},
                         {1, 0});
     }},
    {"query rotated by its position once more", FaultFamily::positions,
     "Queries are turned by rotary embeddings, halves paired; keys are as they were.",
     "keys come rotated from the cache, queries do too", "karpathy/nanochat#264", if_rotatable,
     [](Implementation& by, double) { rotate_again(by, true, false); }, nullptr,
     [] {
       return small_call({2, 2}, {1, 0, 1, 0}, {2, 2}, {1, 0, 0, 1}, {2, 1}, {1, 0});
     }},
};

}  // namespace attest::oracle::detail
