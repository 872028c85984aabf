// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Faults of the key cache: which of its rows count, and where new ones stand.
#pragma once
#include <attest/oracle/fault/heads.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace attest::oracle::detail {

inline bool padded_keys(const Problem& p) {
  return std::any_of(p.lengths.begin(), p.lengths.end(),
                     [&](std::size_t length) { return length < p.given_keys(); });
}
inline std::vector<double> if_padded_keys(const Problem& p) {
  return padded_keys(p) ? one_setting : std::vector<double>{};
}
inline std::vector<double> if_past(const Problem& p) {
  return p.past() > 0 ? one_setting : std::vector<double>{};
}
// Two keys of a cache and a new one.
inline Example cache_example() {
  Example example("onnx-24");
  example.array("q", {1, 1, 1, 1}, {0})
      .array("k", {1, 1, 1, 1}, {0})
      .array("v", {1, 1, 1, 1}, {4})
      .array("past_key", {1, 1, 2, 1}, {0, 0})
      .array("past_value", {1, 1, 2, 1}, {1, 2})
      .array("present_key", {1, 1, 3, 1}, {0, 0, 0})
      .array("present_value", {1, 1, 3, 1}, {0, 0, 0})
      .array("out", {1, 1, 1, 1}, {0});
  return example;
}
// Two batch entries of three keys, of which one and two count.
inline Example lengths_example() {
  Example example("onnx-24");
  example.array("q", {2, 1, 1, 1}, {0, 0})
      .array("k", {2, 1, 3, 1}, Numbers(6, 0))
      .array("v", {2, 1, 3, 1}, {1, 2, 4, 1, 2, 4})
      .array("nonpad_kv_seqlen", {2}, {1, 2}, ElementType::int64)
      .array("out", {2, 1, 1, 1}, {0, 0});
  return example;
}

inline constexpr Fault cache_faults[] = {
    {"keys' length ignored", FaultFamily::cache, "All rows of keys and values count, padding too.",
     "the length is not handed on, or only values are masked", "Dao-AILab/flash-attention#1745",
     if_padded_keys,
     [](Implementation& by, double) {
       by.problem.lengths.assign(by.problem.batches(), by.problem.given_keys());
     },
     nullptr, lengths_example},
    {"keys' length off by some", FaultFamily::cache,
     "Some rows of keys more or fewer count than the length says.",
     "length − 1 is the place of the last key in one framework and the length in another",
     "pegainfer#291",
     [](const Problem& p) {
       return padded_keys(p) ? std::vector<double>{1, -1, 2} : std::vector<double>{};
     },
     [](Implementation& by, double n) {
       for (std::size_t& length : by.problem.lengths) {
         const long changed = static_cast<long>(length) + static_cast<long>(n);
         length = static_cast<std::size_t>(
             std::clamp(changed, 0L, static_cast<long>(by.problem.given_keys())));
       }
     },
     [](double n) { return keys_more_or_fewer("keys' length", n, "too long", "too short"); },
     lengths_example},
    {"keys' length rounded up", FaultFamily::cache,
     "Keys count up to the end of the last page or block.", "the tail of a page is not masked",
     "flashinfer-ai/flashinfer#358",
     [](const Problem& p) {
       std::vector<double> pages;
       if (!padded_keys(p)) return pages;
       for (const std::size_t n : {16u, 64u, 128u, 32u, 8u, 4u, 2u})
         if (n <= 2 * p.given_keys()) pages.push_back(static_cast<double>(n));
       return pages;
     },
     [](Implementation& by, double n) {
       const auto page = static_cast<std::size_t>(n);
       for (std::size_t& length : by.problem.lengths)
         length = std::min(by.problem.given_keys(), (length + page - 1) / page * page);
     },
     [](double n) { return "keys' length rounded up to a multiple of " + number_in_words(n); },
     lengths_example},
    {"a page more than the keys fill", FaultFamily::cache,
     "Where keys fill their last page exactly, one page more counts.",
     "length/page + 1 pages, in place of the quotient rounded up", "pegainfer#291",
     [](const Problem& p) {
       std::vector<double> pages;
       for (const std::size_t n : {16u, 64u, 128u, 32u, 8u, 4u, 2u})
         if (std::any_of(p.lengths.begin(), p.lengths.end(), [&](std::size_t length) {
               return length > 0 && length < p.given_keys() && length % n == 0;
             }))
           pages.push_back(static_cast<double>(n));
       return pages;
     },
     [](Implementation& by, double n) {
       const auto page = static_cast<std::size_t>(n);
       for (std::size_t& length : by.problem.lengths)
         if (length > 0 && length % page == 0)
           length = std::min(by.problem.given_keys(), length + page);
     },
     [](double n) { return "a page more than the keys fill, of " + number_in_words(n); },
     lengths_example},
    {"causal mask aligned to the padded length", FaultFamily::cache,
     "The last query stands at the last row of the keys' array, not at the last key that counts.",
     "one offset for the whole batch, of the longest or the padded length",
     "NVIDIA/cudnn-frontend#493",
     [](const Problem& p) {
       const long aligned = static_cast<long>(p.given_keys()) - static_cast<long>(p.queries());
       return p.rule.causal && padded_keys(p) &&
                      std::any_of(p.offsets.begin(), p.offsets.end(),
                                  [&](long offset) { return offset != aligned; })
                  ? one_setting
                  : std::vector<double>{};
     },
     [](Implementation& by, double) {
       Problem& p = by.problem;
       p.offsets.assign(p.batches(),
                        static_cast<long>(p.given_keys()) - static_cast<long>(p.queries()));
     },
     nullptr,
     [] {
       Example example("onnx-24");
       example.array("q", {2, 1, 2, 1}, Numbers(4, 0))
           .array("k", {2, 1, 3, 1}, Numbers(6, 0))
           .array("v", {2, 1, 3, 1}, {1, 2, 4, 1, 2, 4})
           .array("nonpad_kv_seqlen", {2}, {2, 3}, ElementType::int64)
           .array("out", {2, 1, 2, 1}, Numbers(4, 0))
           .option("is_causal", std::int64_t{1});
       return example;
     }},
    {"keys' length of batch 0 in every batch entry", FaultFamily::cache,
     "Every batch entry sees as many keys as the first.", "lengths are read without the batch", "",
     [](const Problem& p) { return p.batches() > 1 ? if_padded_keys(p) : std::vector<double>{}; },
     [](Implementation& by, double) {
       by.problem.lengths.assign(by.problem.batches(), by.problem.lengths[0]);
     },
     nullptr, lengths_example},
    {"longest keys' length in every batch entry", FaultFamily::cache,
     "Every batch entry sees as many keys as the longest.", "only the maximum is handed on", "",
     [](const Problem& p) { return p.batches() > 1 ? if_padded_keys(p) : std::vector<double>{}; },
     [](Implementation& by, double) {
       std::vector<std::size_t>& lengths = by.problem.lengths;
       lengths.assign(lengths.size(), *std::max_element(lengths.begin(), lengths.end()));
     },
     nullptr, lengths_example},
    {"past ignored", FaultFamily::cache, "The keys and values of the cache are not seen.",
     "only the new ones are handed on", "pytorch-labs/gpt-fast#233", if_past,
     [](Implementation& by, double) {
       on_scores(by, [](const Problem& p, KeyRow& row) {
         for (std::size_t j = 0; j < p.past(); ++j) row.hide(j);
       });
     },
     nullptr, cache_example},
    {"new keys ignored", FaultFamily::cache, "Only the keys and values of the cache are seen.",
     "they are appended after attention", "", if_past,
     [](Implementation& by, double) {
       on_scores(by, [](const Problem& p, KeyRow& row) {
         for (std::size_t j = p.past(); j < p.given_keys(); ++j) row.hide(j);
       });
     },
     nullptr, cache_example},
    {"new keys before the past", FaultFamily::cache,
     "The new keys and values stand before those of the cache.", "the order of a concatenation", "",
     if_past,
     [](Implementation& by, double) {
       map(by.steps.key, [](const Problem& p, RowIndex at) {
         const std::size_t fresh = p.given_keys() - p.past();
         at.row = at.row < fresh ? p.past() + at.row : at.row - fresh;
         return at;
       });
       by.steps.value = by.steps.key;
       by.steps.present_row = [](const Problem& p, std::size_t j) {
         const std::size_t fresh = p.given_keys() - p.past();
         return j < fresh ? p.past() + j : j - fresh;
       };
     },
     nullptr, cache_example},
    {"present without the past", FaultFamily::cache,
     "present_key and present_value hold zeros where the cache's rows should stand.",
     "only the new rows are written", "",
     [](const Problem& p) {
       return p.past() > 0 && (p.present_key || p.present_value) ? one_setting
                                                                 : std::vector<double>{};
     },
     [](Implementation& by, double) {
       by.steps.present_row = [](const Problem& p, std::size_t j) {
         return j < p.past() ? p.given_keys() : j;
       };
     },
     nullptr, cache_example},
    {"keys of the cache one row off", FaultFamily::cache,
     "Row j of the cache is read at j + 1, the last one again.",
     "the position of the new key is counted from 1", "sparkinfer#146", if_past,
     [](Implementation& by, double) {
       map(by.steps.key, [](const Problem& p, RowIndex at) {
         if (at.row + 1 < p.past()) ++at.row;
         return at;
       });
       by.steps.value = by.steps.key;
     },
     nullptr, cache_example},
};

}  // namespace attest::oracle::detail
