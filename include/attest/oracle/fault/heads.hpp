// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Faults of heads and batches: whose keys and values a query reads.
#pragma once
#include <attest/oracle/fault/mask.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace attest::oracle::detail {

inline bool grouped(const Problem& p) {
  return p.query_heads() != p.key_value_heads();
}
inline std::vector<double> if_grouped(const Problem& p) {
  return grouped(p) && p.key_value_heads() > 1 ? one_setting : std::vector<double>{};
}
inline std::vector<double> if_several_heads(const Problem& p) {
  return p.query_heads() > 1 ? one_setting : std::vector<double>{};
}
inline std::vector<double> if_several_batches(const Problem& p) {
  return p.batches() > 1 ? one_setting : std::vector<double>{};
}

// Where the rows read are there: no more queries than keys before each batch entry.
inline std::vector<double> if_queries_begin_elsewhere(const Problem& p) {
  if (p.past() != 0 || p.lengths.size() != p.batches()) return {};
  std::size_t queries = 0, keys = 0;
  bool elsewhere = false;
  for (std::size_t b = 0; b < p.batches(); ++b) {
    if (queries > keys) return {};
    elsewhere = elsewhere || queries < keys;
    queries += p.query_length(b);
    keys += p.lengths[b];
  }
  return elsewhere ? one_setting : std::vector<double>{};
}

// As many heads as asked for, which differ by their values alone: 1, 2, 4, …
inline Example heads_example(std::size_t query_heads, std::size_t key_value_heads) {
  Numbers values(key_value_heads);
  for (std::size_t h = 0; h < key_value_heads; ++h) values[h] = static_cast<double>(1u << h);
  return small_call({query_heads, 1, 1}, Numbers(query_heads, 0), {key_value_heads, 1, 1},
                    Numbers(key_value_heads, 0), {key_value_heads, 1, 1}, values);
}
// Two heads or batch entries of two keys, one attending to the first, the other to the second.
inline Example two_of(bool batches) {
  const Shape shape = batches ? Shape{2, 1, 1, 1} : Shape{1, 2, 1, 1};
  Shape keys = shape;
  keys[2] = 2;
  return small_call(shape, {4, 4}, keys, {1, 0, 0, 1}, keys, {1, 2, 4, 8}).option("scale", 1.0);
}

inline constexpr Fault head_faults[] = {
    {"key/value heads tiled", FaultFamily::heads, "Query head h reads key/value head h mod n.",
     "the heads are repeated as a whole instead of each by itself", "onnx/onnx#7274",
     [](const Problem& p) {
       return p.rule.head_map == HeadMap::blocked ? if_grouped(p) : std::vector<double>{};
     },
     [](Implementation& by, double) { by.problem.rule.head_map = HeadMap::tiled; }, nullptr,
     [] { return heads_example(4, 2); }},
    {"key/value heads in blocks", FaultFamily::heads,
     "Query head h reads key/value head h/n, though the call says h mod n.",
     "each head is repeated by itself instead of all as a whole", "ggml-org/llama.cpp#25315",
     [](const Problem& p) {
       return p.rule.head_map == HeadMap::tiled ? if_grouped(p) : std::vector<double>{};
     },
     [](Implementation& by, double) { by.problem.rule.head_map = HeadMap::blocked; }, nullptr,
     [] { return heads_example(4, 2).option("heads_map", std::string("tiled")); }},
    {"key/value head 0 for every head", FaultFamily::heads,
     "Every query head reads the keys and values of the first head.",
     "the head is divided by the number of heads, or its stride is 0", "PSAL-POSTECH/ONNXim#33",
     [](const Problem& p) { return p.key_value_heads() > 1 ? one_setting : std::vector<double>{}; },
     [](Implementation& by, double) {
       by.steps.key_head =
           by.steps.value_head = [](const Problem&, std::size_t) { return std::size_t{0}; };
     },
     nullptr, [] { return heads_example(2, 2); }},
    {"groups of another size", FaultFamily::heads,
     "Query head h reads key/value head h/n for another n than query heads / key/value heads.",
     "the group's size is rounded to a power of two, or the two counts are exchanged",
     "mlc-ai/mlc-llm#2543",
     [](const Problem& p) {
       std::vector<double> sizes;
       const std::size_t group = p.query_heads() / p.key_value_heads();
       if (p.key_value_heads() < 2) return sizes;
       for (const std::size_t n : {group / 2, 2 * group, group - 1, group + 1, p.key_value_heads()})
         if (n >= 1 && n != group &&
             std::find(sizes.begin(), sizes.end(), static_cast<double>(n)) == sizes.end())
           sizes.push_back(static_cast<double>(n));
       return sizes;
     },
     [](Implementation& by, double n) {
       by.steps.key_head = by.steps.value_head = [n](const Problem& p, std::size_t h) {
         return std::min(h / static_cast<std::size_t>(n), p.key_value_heads() - 1);
       };
     },
     [](double n) { return "groups of " + number_in_words(n) + " query heads"; },
     [] { return heads_example(6, 2); }},
    {"values of other heads than the keys", FaultFamily::heads,
     "Keys are read from the right head, values from head h mod n.",
     "only keys are repeated head by head", "", if_grouped,
     [](Implementation& by, double) {
       by.steps.value_head = [](const Problem& p, std::size_t h) {
         const HeadMap other =
             p.rule.head_map == HeadMap::blocked ? HeadMap::tiled : HeadMap::blocked;
         return key_value_head(other, h, p.query_heads(), p.key_value_heads());
       };
     },
     nullptr, [] { return heads_example(4, 2); }},
    {"scores of the last head in every head", FaultFamily::heads,
     "Every head of every batch entry blends its values by the weights of the last one.",
     "one buffer of scores is written by all heads before the softmax reads it", "",
     [](const Problem& p) {
       return p.query_heads() * p.batches() > 1 ? one_setting : std::vector<double>{};
     },
     [](Implementation& by, double) {
       map(by.steps.score_row, [](const Problem& p, RowIndex at) {
         at.batch = p.batches() - 1;
         at.head = p.query_heads() - 1;
         return at;
       });
     },
     nullptr, [] { return two_of(false); }},
    {"scores of the first head in every head", FaultFamily::heads,
     "Every head of a batch entry blends its values by the weights of the first one.",
     "the head is left out of the index into the scores", "", if_several_heads,
     [](Implementation& by, double) {
       map(by.steps.score_row, [](const Problem&, RowIndex at) {
         at.head = 0;
         return at;
       });
     },
     nullptr, [] { return two_of(false); }},
    {"query of head 0 in every head", FaultFamily::heads,
     "Every head reads the first head's query.", "the head's stride of the query is lost", "",
     if_several_heads,
     [](Implementation& by, double) {
       map(by.steps.query, [](const Problem&, RowIndex at) {
         at.head = 0;
         return at;
       });
     },
     nullptr,
     [] {
       return small_call({2, 1, 1}, {4, -4}, {2, 2, 1}, {1, 0, 1, 0}, {2, 2, 1}, {1, 2, 1, 2})
           .option("scale", 1.0);
     }},
    {"heads in another order", FaultFamily::heads, "Output head h is that of head h + 1.",
     "heads are written by a thread's number that starts elsewhere", "", if_several_heads,
     [](Implementation& by, double) {
       map(by.steps.output_row, [](const Problem& p, RowIndex at) {
         at.head = (at.head + 1) % p.query_heads();
         return at;
       });
     },
     nullptr, [] { return heads_example(2, 2); }},
    {"keys and values of batch 0 for every batch entry", FaultFamily::heads,
     "Every batch entry reads the keys and values of the first.",
     "the batch is left out of the index, or of the page table", "jax-ml/jax#23349",
     if_several_batches,
     [](Implementation& by, double) {
       const auto first = [](const Problem&, RowIndex at) {
         at.batch = 0;
         return at;
       };
       map(by.steps.key, first);
       map(by.steps.value, first);
     },
     nullptr, [] { return two_of(true); }},
    {"keys and values of the batch entry before", FaultFamily::heads,
     "A batch entry reads the keys and values of the one before it.",
     "offsets of one packed array are used for another", "flashinfer-ai/flashinfer#4018",
     if_several_batches,
     [](Implementation& by, double) {
       const auto before = [](const Problem& p, RowIndex at) {
         at.batch = (at.batch + p.batches() - 1) % p.batches();
         return at;
       };
       map(by.steps.key, before);
       map(by.steps.value, before);
     },
     nullptr, [] { return two_of(true); }},
    {"keys and values from where its queries begin", FaultFamily::heads,
     "In packed arrays a batch entry's keys are read from the row at which its queries begin.",
     "the queries' cumulative lengths are used for the keys", "flashinfer-ai/flashinfer#4018",
     if_queries_begin_elsewhere,
     [](Implementation& by, double) {
       const auto from_queries = [](const Problem& p, RowIndex at) {
         std::size_t row = at.row;
         for (std::size_t b = 0; b < at.batch; ++b) row += p.query_length(b);
         for (at.batch = 0; at.batch < p.batches() && row >= p.lengths[at.batch]; ++at.batch)
           row -= p.lengths[at.batch];
         at.row = row;
         return at;
       };
       map(by.steps.key, from_queries);
       map(by.steps.value, from_queries);
     },
     nullptr, [] { return two_of(true); }},
    {"batch entries see each other's keys", FaultFamily::heads,
     "Queries see the keys of other batch entries too, causal ones those of entries before theirs.",
     "sequences packed into one array, and no mask between them", "AI-Hypercomputer/maxtext#878",
     [](const Problem& p) {
       return p.rule.window_left < 0 && p.rule.window_right < 0 ? if_several_batches(p)
                                                                : std::vector<double>{};
     },
     [](Implementation& by, double) {
       const auto others = std::make_shared<std::vector<double>>();  // their values
       on_scores(by, [others](const Problem& p, KeyRow& row) {
         const RowIndex at = row.place;
         const std::size_t head = p.key_value_head_of(at.head), columns = p.value_width();
         std::vector<double> q(p.width()), k(p.width());
         p.query.read_row(at.batch, at.head, at.row, q.data());
         others->resize(p.batches() * p.given_keys() * columns);
         for (std::size_t b = 0; b < p.batches(); ++b)
           for (std::size_t j = 0; b != at.batch && j < p.lengths[b]; ++j) {
             if (p.rule.causal && b > at.batch) break;
             p.read_key(b, head, j, k.data());
             double* const value = others->data() + (b * p.given_keys() + j) * columns;
             p.read_value(b, head, j, value);
             double score = 0;
             for (std::size_t t = 0; t < q.size(); ++t) score += q[t] * k[t];
             score *= scale_of(p);
             const double cap = p.rule.softcap;
             row.append(cap != 0 ? cap * std::tanh(score / cap) : score, value);
           }
       });
     },
     nullptr, [] { return two_of(true); }},
    {"batch entry 0 in every batch entry", FaultFamily::heads,
     "Every batch entry returns what the first does.", "the batch is left out of all indices",
     "apple/coremltools#2650", if_several_batches,
     [](Implementation& by, double) {
       map(by.steps.output_row, [](const Problem&, RowIndex at) {
         at.batch = 0;
         return at;
       });
     },
     nullptr, [] { return two_of(true); }},
};

}  // namespace attest::oracle::detail
