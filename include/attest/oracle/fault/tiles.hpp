// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Faults of tiles: of keys, of queries and of columns; what an online softmax forgets.
#pragma once
#include <attest/oracle/fault/cache.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace attest::oracle::detail {

// Usual sizes of tiles, those with more than one tile first.
inline std::vector<double> tile_sizes(std::size_t extent, bool also_one_tile) {
  std::vector<double> sizes;
  for (const std::size_t n : {64u, 128u, 32u, 16u, 8u, 4u, 2u, 256u, 512u})
    if (n < extent) sizes.push_back(static_cast<double>(n));
  if (also_one_tile)
    for (const std::size_t n : {2u, 4u, 8u, 16u, 32u, 64u, 128u, 256u})
      if (n >= extent) sizes.push_back(static_cast<double>(n));
  return sizes;
}
inline std::vector<double> key_tiles(const Problem& p) {
  return tile_sizes(p.keys(), false);
}
inline std::vector<double> key_tails(const Problem& p) {
  std::vector<double> sizes;
  for (const double n : tile_sizes(p.given_keys(), true))
    if (p.given_keys() % static_cast<std::size_t>(n) != 0) sizes.push_back(n);
  return sizes;
}
// Three keys, the highest score last.
inline Example rising_example() {
  return one_query({0, 1, 2}, {1, 2, 4}).option("scale", 1.0);
}

inline constexpr Fault tile_faults[] = {
    {"last key dropped", FaultFamily::tiles, "The last key takes no part.", "< in place of <=", "",
     [](const Problem& p) { return p.given_keys() > 1 ? one_setting : std::vector<double>{}; },
     [](Implementation& by, double) {
       on_scores(by, [](const Problem& p, KeyRow& row) { row.hide(p.given_keys() - 1); });
     },
     nullptr, rising_example},
    {"first key dropped", FaultFamily::tiles, "The first key takes no part.", "counted from 1", "",
     [](const Problem& p) { return p.given_keys() > 1 ? one_setting : std::vector<double>{}; },
     [](Implementation& by, double) {
       on_scores(by, [](const Problem&, KeyRow& row) { row.hide(0); });
     },
     nullptr, rising_example},
    {"tail of keys dropped", FaultFamily::tiles,
     "Keys beyond the last whole tile of n take no part.", "the number of tiles is rounded down",
     "pytorch/pytorch#169222",
     [](const Problem& p) {
       std::vector<double> sizes;
       for (const double n : tile_sizes(p.given_keys(), false))
         if (p.given_keys() % static_cast<std::size_t>(n) != 0) sizes.push_back(n);
       return sizes;
     },
     [](Implementation& by, double n) {
       on_scores(by, [n](const Problem& p, KeyRow& row) {
         const auto tile = static_cast<std::size_t>(n);
         for (std::size_t j = p.given_keys() / tile * tile; j < p.given_keys(); ++j) row.hide(j);
       });
     },
     [](double n) {
       return "keys beyond the last whole tile of " + number_in_words(n) + " dropped";
     },
     rising_example},
    {"last tile of keys dropped", FaultFamily::tiles,
     "The keys of the last tile of n take no part.", "the loop ends one tile early",
     "jax-ml/jax#27224",
     [](const Problem& p) {
       std::vector<double> sizes;
       for (const double n : tile_sizes(p.given_keys(), false))
         if (p.given_keys() % static_cast<std::size_t>(n) == 0) sizes.push_back(n);
       return sizes;
     },
     [](Implementation& by, double n) {
       on_scores(by, [n](const Problem& p, KeyRow& row) {
         const auto tile = static_cast<std::size_t>(n);
         for (std::size_t j = (p.given_keys() - 1) / tile * tile; j < p.given_keys(); ++j)
           row.hide(j);
       });
     },
     [](double n) { return "last tile of " + number_in_words(n) + " keys dropped"; },
     [] {
       return one_query({0, 1, 2, 3}, {1, 2, 4, 8}).option("scale", 1.0);
     }},
    {"padding of the last tile counted", FaultFamily::tiles,
     "Keys of zeros fill the last tile of n and take part, with score 0.",
     "the tile is filled with zeros and not masked", "flashinfer-ai/flashinfer#5090", key_tails,
     [](Implementation& by, double n) {
       on_scores(by, [n](const Problem& p, KeyRow& row) {
         const auto tile = static_cast<std::size_t>(n);
         for (std::size_t j = p.given_keys(); j % tile != 0; ++j) row.append(0);
       });
     },
     [](double n) { return "zero keys counted up to a tile of " + number_in_words(n); },
     rising_example},
    {"keys of zeros counted", FaultFamily::tiles, "One key of zeros more takes part, with score 0.",
     "one row beyond the last is read", "ROCm/aiter#5401",
     [](const Problem&) { return one_setting; },
     [](Implementation& by, double) {
       on_scores(by, [](const Problem&, KeyRow& row) { row.append(0); });
     },
     nullptr, rising_example},
    {"last key counted twice", FaultFamily::tiles, "The last key takes part twice.",
     "the tail is filled by reading the last row again", "",
     [](const Problem&) { return one_setting; },
     [](Implementation& by, double) {
       on_scores(by, [](const Problem& p, KeyRow& row) {
         const std::size_t last = p.given_keys() - 1;
         if (!row.hidden[last]) row.append(row.scores[last], row.values[last]);
       });
     },
     nullptr, rising_example},
    {"output not rescaled between tiles", FaultFamily::tiles,
     "When the running maximum rises, the sum is rescaled but what was accumulated is not.",
     "one of an online softmax's two corrections is missing", "", key_tiles,
     [](Implementation& by, double n) {
       by.steps.tiles.keys = static_cast<std::size_t>(n);
       by.steps.tiles.rescales_output = false;
     },
     [](double n) { return "output not rescaled between tiles of " + number_in_words(n); },
     rising_example},
    {"sum not rescaled between tiles", FaultFamily::tiles,
     "When the running maximum rises, what was accumulated is rescaled but the sum is not.",
     "one of an online softmax's two corrections is missing", "", key_tiles,
     [](Implementation& by, double n) {
       by.steps.tiles.keys = static_cast<std::size_t>(n);
       by.steps.tiles.rescales_sum = false;
     },
     [](double n) { return "sum not rescaled between tiles of " + number_in_words(n); },
     rising_example},
    {"nothing rescaled between tiles", FaultFamily::tiles,
     "Each tile's exponentials are relative to its own running maximum.",
     "the running maximum is treated as if it were final", "", key_tiles,
     [](Implementation& by, double n) {
       by.steps.tiles.keys = static_cast<std::size_t>(n);
       by.steps.tiles.rescales_sum = by.steps.tiles.rescales_output = false;
     },
     [](double n) { return "nothing rescaled between tiles of " + number_in_words(n); },
     rising_example},
    {"tiles' outputs averaged", FaultFamily::tiles,
     "The outputs of tiles of keys are put together with equal weights.",
     "parts of a split are merged without their log-sum-exps", "flashinfer-ai/flashinfer#4051",
     key_tiles,
     [](Implementation& by, double n) {
       by.steps.tiles.keys = static_cast<std::size_t>(n);
       by.steps.tiles.averages = true;
     },
     [](double n) { return "outputs of tiles of " + number_in_words(n) + " keys averaged"; },
     rising_example},
    {"tiles merged by logarithms of another base", FaultFamily::tiles,
     "Natural log-sum-exps of tiles are taken for logarithms to base 2.",
     "one kernel returns the one and the merge expects the other", "sgl-project/sglang#33064",
     key_tiles,
     [](Implementation& by, double n) {
       by.steps.tiles.keys = static_cast<std::size_t>(n);
       by.steps.tiles.merge_base = 2;
     },
     [](double n) { return "tiles of " + number_in_words(n) + " keys merged to base 2, not e"; },
     rising_example},
    {"base-2 logarithms merged as natural ones", FaultFamily::tiles,
     "Log-sum-exps of tiles to base 2 are taken for natural logarithms.",
     "one kernel returns the one and the merge expects the other", "vllm-project/vllm#28840",
     key_tiles,
     [](Implementation& by, double n) {
       by.steps.tiles.keys = static_cast<std::size_t>(n);
       by.steps.tiles.merge_base = 0x1.0ec8149a04df9p+2;  // e^(1/ln 2)
     },
     [](double n) {
       return "base-2 logarithms of tiles of " + number_in_words(n) + " merged as natural";
     },
     rising_example},
    {"NaN after a hidden tile", FaultFamily::tiles,
     "A tile all of whose keys are hidden makes the row NaN.",
     "−∞ − (−∞) where the running maximum is rescaled", "ROCm/aiter#4420",
     [](const Problem& p) { return may_hide(p) ? key_tiles(p) : std::vector<double>{}; },
     [](Implementation& by, double n) {
       by.steps.tiles.keys = static_cast<std::size_t>(n);
       by.steps.tiles.guards_hidden = false;
     },
     [](double n) { return "NaN after a hidden tile of " + number_in_words(n); },
     [] {
       return masked_example({0, 0, 0}, {1, 2, 4}, {0, 0, 1});
     }},
    {"NaN of a hidden tile merged", FaultFamily::tiles,
     "A tile all of whose keys are hidden makes the row NaN, wherever it stands.",
     "its own output is 0/0, and its weight of 0 in the merge does not remove that",
     "vllm-project/vllm#49054",
     [](const Problem& p) { return may_hide(p) ? key_tiles(p) : std::vector<double>{}; },
     [](Implementation& by, double n) {
       by.steps.tiles.keys = static_cast<std::size_t>(n);
       by.steps.tiles.guards_empty = false;
     },
     [](double n) { return "NaN of a hidden tile of " + number_in_words(n) + " merged"; },
     [] {
       return masked_example({0, 0, 0}, {1, 2, 4}, {1, 1, 0});
     }},
    {"tail of rows not written", FaultFamily::tiles,
     "Rows beyond the last whole tile of n queries are zero.",
     "the number of tiles is rounded down", "OpenNLPLab/lightning-attention#27",
     [](const Problem& p) {
       std::vector<double> sizes;
       for (const double n : tile_sizes(p.queries(), true))
         if (p.queries() % static_cast<std::size_t>(n) != 0) sizes.push_back(n);
       return sizes;
     },
     [](Implementation& by, double n) {
       on_output(by, [n](const Problem& p, const KeyRow& row, std::vector<double>& out) {
         const auto tile = static_cast<std::size_t>(n);
         if (row.place.row >= p.queries() / tile * tile) std::fill(out.begin(), out.end(), 0.0);
       });
     },
     [](double n) { return "rows beyond the last whole tile of " + number_in_words(n) + " zero"; },
     [] {
       return equal_scores(3, {1, 2});
     }},
    {"tail of the head's width dropped", FaultFamily::tiles,
     "Scores use only the first n numbers of query and key.",
     "the width is not a multiple of the tile the kernel was written for", "timtoole02/Camelid#523",
     [](const Problem& p) {
       std::vector<double> sizes = tile_sizes(p.width(), false);
       if (p.width() == 2) sizes.push_back(1);
       return sizes;
     },
     [](Implementation& by, double n) {
       by.steps.on_query = [n](std::vector<double>& q, long) {
         std::fill(q.begin() + static_cast<std::ptrdiff_t>(n), q.end(), 0.0);
       };
     },
     [](double n) { return "scores of the first " + number_in_words(n) + " numbers only"; },
     [] {
       return small_call({1, 3}, {0, 0, 2}, {2, 3}, {0, 0, 1, 0, 0, 0}, {2, 1}, {1, 0});
     }},
    {"tail of the values' width zero", FaultFamily::tiles,
     "Columns of the output beyond n are zero.",
     "the width is not a multiple of the tile, or d_v is taken for d_k", "mlc-ai/mlc-llm#1889",
     [](const Problem& p) {
       std::vector<double> sizes = tile_sizes(p.value_width(), false);
       if (p.width() < p.value_width() &&
           std::find(sizes.begin(), sizes.end(), static_cast<double>(p.width())) == sizes.end())
         sizes.push_back(static_cast<double>(p.width()));
       return sizes;
     },
     [](Implementation& by, double n) {
       on_output(by, [n](const Problem&, const KeyRow&, std::vector<double>& out) {
         std::fill(out.begin() + static_cast<std::ptrdiff_t>(n), out.end(), 0.0);
       });
     },
     [](double n) { return "columns from " + number_in_words(n) + " on zero"; },
     [] {
       return small_call({1, 1}, {0}, {1, 1}, {0}, {1, 3}, {1, 2, 4});
     }},
};

}  // namespace attest::oracle::detail
