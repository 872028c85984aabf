// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Faults of causality: which later keys a query must not see.
#pragma once
#include <attest/oracle/fault/definition.hpp>
#include <attest/oracle/fault/scale.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace attest::oracle::detail {

inline bool positions_matter(const Problem& p) {
  return p.rule.causal || p.rule.window_left >= 0 || p.rule.window_right >= 0;
}
inline std::vector<double> if_causal(const Problem& p) {
  return p.rule.causal ? one_setting : std::vector<double>{};
}
inline std::vector<double> if_positions_matter(const Problem& p) {
  return positions_matter(p) ? one_setting : std::vector<double>{};
}

// Whether a query's position is not its row. Where there are as many queries as keys a call of any
// alignment looks so.
inline bool positions_differ(const Problem& p) {
  return p.rule.offset != 0 || p.queries() == p.given_keys() ||
         std::any_of(p.offsets.begin(), p.offsets.end(), [](long n) { return n != 0; });
}
inline std::vector<double> if_positions_differ(const Problem& p) {
  return positions_differ(p) ? if_positions_matter(p) : std::vector<double>{};
}
inline std::vector<double> if_not_bottom_right(const Problem& p) {
  bool differs = p.queries() == p.given_keys() || p.rule.offset != 0;
  for (std::size_t b = 0; b < p.batches(); ++b)
    differs = differs || p.offsets[b] !=
                             static_cast<long>(p.lengths[b]) - static_cast<long>(p.query_length(b));
  return differs ? if_positions_matter(p) : std::vector<double>{};
}

inline std::string keys_more_or_fewer(const char* what, double n, const char* more,
                                      const char* fewer) {
  const double size = n < 0 ? -n : n;
  return std::string(what) + " " + number_in_words(size) + (size == 1 ? " key " : " keys ") +
         (n > 0 ? more : fewer);
}

// Two queries and three keys that all score alike.
inline Example causal_example(const char* corner) {
  return equal_scores(2, {1, 2, 4}).option("causal", std::string(corner));
}

inline constexpr Fault causality_faults[] = {
    {"causality dropped", FaultFamily::causality, "Queries see later keys.",
     "the flag is not handed on; or a single query is taken to see every key, though some keys of "
     "the call come after it",
     "NVIDIA/TransformerEngine#3528", if_causal,
     [](Implementation& by, double) { by.problem.rule.causal = false; }, nullptr,
     [] {
       return equal_scores(2, {0, 1}).option("causal", std::string("top-left"));
     }},
    {"causal mask aligned top-left", FaultFamily::causality,
     "The first query stands at the first key: query i sees keys up to i.",
     "the mask is built from the row's own number, without the keys before it",
     "microsoft/onnxruntime#29020", if_positions_differ,
     [](Implementation& by, double) {
       by.problem.offsets.assign(by.problem.batches(), 0);
       by.problem.rule.offset = 0;
     },
     nullptr, [] { return causal_example("bottom-right"); }},
    {"causal mask aligned bottom-right", FaultFamily::causality,
     "The last query stands at the last key.",
     "the mask is shifted by keys − queries, as FlashAttention and others define it",
     "pytorch/pytorch#108108", if_not_bottom_right,
     [](Implementation& by, double) {
       Problem& p = by.problem;
       p.rule.offset = 0;
       for (std::size_t b = 0; b < p.batches(); ++b)
         p.offsets[b] = static_cast<long>(p.lengths[b]) - static_cast<long>(p.query_length(b));
     },
     nullptr, [] { return causal_example("top-left"); }},
    {"causal offset off by some", FaultFamily::causality,
     "Every query sees some keys more or fewer than up to its own.",
     "< where <= is meant, or a position counted from 1", "jax-ml/jax#24491",
     [](const Problem& p) {
       return p.rule.causal ? std::vector<double>{-1, 1, -2, 2, -3, 3} : std::vector<double>{};
     },
     [](Implementation& by, double n) { by.problem.rule.offset += static_cast<long>(n); },
     [](double n) { return keys_more_or_fewer("causal mask", n, "too wide", "too narrow"); },
     [] {
       return equal_scores(2, {1, 2, 4}).option("causal", std::string("top-left"));
     }},
    {"causal offset of the wrong sign", FaultFamily::causality,
     "Query i is taken for position i − offset, not i + offset.",
     "queries − keys where keys − queries is meant", "",
     [](const Problem& p) {
       if (!positions_matter(p) || !positions_differ(p)) return std::vector<double>{};
       return p.queries() == p.given_keys() ? std::vector<double>{0} : std::vector<double>{0, 1};
     },
     [](Implementation& by, double finite) {
       for (long& offset : by.problem.offsets) offset = -offset;
       by.problem.rule.offset = -by.problem.rule.offset;
       if (finite == 0) return;
       by.steps.fill = Fill{-1e9, true};
       by.in_claimed_formats = true;
     },
     [](double finite) {
       return std::string("causal offset of the wrong sign") +
              (finite != 0 ? ", and rows left without keys the mean of all values" : "");
     },
     [] { return causal_example("bottom-right"); }},
    {"causal offset of the past counted twice", FaultFamily::causality,
     "Query i is taken for position i + 2·offset.",
     "both the caller and the kernel add the number of keys in the cache", "", if_positions_differ,
     [](Implementation& by, double) {
       for (long& offset : by.problem.offsets) offset *= 2;
     },
     nullptr,
     [] {
       return equal_scores(2, {1, 2, 4, 8}).option("causal", std::string("bottom-right"));
     }},
    {"earlier keys hidden", FaultFamily::causality, "Queries see later keys and not earlier ones.",
     "the other triangle of the mask is taken, or it is read transposed", "", if_causal,
     [](Implementation& by, double) {
       const auto without = std::make_shared<Problem>(by.problem);
       without->rule.causal = false;
       by.steps.own_bias = [without](const Problem& p, RowIndex at, std::size_t j) {
         const long position = static_cast<long>(at.row) + p.offsets[at.batch] + p.rule.offset;
         if (j < p.given_keys() && static_cast<long>(j) < position)
           return -std::numeric_limits<double>::infinity();
         return without->bias(at.batch, at.head, at.row, j);
       };
     },
     nullptr,
     [] {
       return equal_scores(2, {0, 1}).option("causal", std::string("top-left"));
     }},
    {"causality restarts in each tile of queries", FaultFamily::causality,
     "Query i is taken for position i mod n.",
     "the row within a tile is taken for the row of the whole", "sparkinfer#3",
     [](const Problem& p) {
       std::vector<double> tiles;
       if (!p.rule.causal) return tiles;
       for (const std::size_t n : {64u, 128u, 32u, 16u, 8u, 4u, 2u})
         if (p.queries() > n) tiles.push_back(static_cast<double>(n));
       return tiles;
     },
     [](Implementation& by, double n) {
       map(by.steps.bias, [n](const Problem&, RowIndex at) {
         at.row %= static_cast<std::size_t>(n);
         return at;
       });
     },
     [](double n) {
       return "causality restarts in each tile of queries: every " + number_in_words(n);
     },
     [] {
       return equal_scores(3, {1, 2, 4}).option("causal", std::string("top-left"));
     }},
};

}  // namespace attest::oracle::detail
