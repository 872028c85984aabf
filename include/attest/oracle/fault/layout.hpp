// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Faults of layout: numbers read or written at other places, and rows that are not computed.
#pragma once
#include <attest/oracle/fault/softmax.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace attest::oracle::detail {

// Row r of head h in an array of (rows, heads) read as (heads, rows): the place h·rows + r of the
// one is row (h·rows + r) / heads of head (h·rows + r) mod heads of the other.
inline RowIndex exchanged(RowIndex at, std::size_t heads, std::size_t rows) {
  const std::size_t n = at.head * rows + at.row;
  return {at.batch, n % heads, n / heads};
}
inline std::vector<double> if_query_layout(const Problem& p) {
  return p.query_heads() > 1 && p.queries() > 1 ? one_setting : std::vector<double>{};
}
inline std::vector<double> if_key_layout(const Problem& p) {
  return p.key_value_heads() > 1 && p.given_keys() > 1 ? one_setting : std::vector<double>{};
}
inline Example layout_example() {
  return different_call(1, 2, 2, 3, 3, 2, 2);
}

inline std::vector<double> if_several_queries(const Problem& p) {
  return p.queries() > 1 ? one_setting : std::vector<double>{};
}
inline void map_rows(Implementation& by, RowMap to) {
  map(by.steps.output_row, std::move(to));
}

inline constexpr Fault layout_faults[] = {
    {"query read with heads and rows exchanged", FaultFamily::layout,
     "An array of (head, row) is read as one of (row, head).",
     "the layout of one framework is taken for another's; a transposed view for a whole array",
     "torch-spyre/torch-spyre#4331", if_query_layout,
     [](Implementation& by, double) {
       map(by.steps.query, [](const Problem& p, RowIndex at) {
         return exchanged(at, p.query_heads(), p.queries());
       });
     },
     nullptr, layout_example},
    {"keys read with heads and rows exchanged", FaultFamily::layout,
     "An array of (head, row) is read as one of (row, head).",
     "the layout of one framework is taken for another's; a transposed view for a whole array",
     "huggingface/candle#3703", if_key_layout,
     [](Implementation& by, double) {
       map(by.steps.key, [](const Problem& p, RowIndex at) {
         return exchanged(at, p.key_value_heads(), p.given_keys());
       });
     },
     nullptr, layout_example},
    {"values read with heads and rows exchanged", FaultFamily::layout,
     "An array of (head, row) is read as one of (row, head).",
     "the layout of one framework is taken for another's; a transposed view for a whole array",
     "pytorch/pytorch#112577", if_key_layout,
     [](Implementation& by, double) {
       map(by.steps.value, [](const Problem& p, RowIndex at) {
         return exchanged(at, p.key_value_heads(), p.given_keys());
       });
     },
     nullptr, layout_example},
    {"query, key and value read with heads and rows exchanged", FaultFamily::layout,
     "Arrays of (head, row) are read as ones of (row, head).",
     "the layout of one framework is taken for another's", "huggingface/diffusers#14114",
     [](const Problem& p) {
       return if_key_layout(p).empty() ? std::vector<double>{} : if_query_layout(p);
     },
     [](Implementation& by, double) {
       map(by.steps.query, [](const Problem& p, RowIndex at) {
         return exchanged(at, p.query_heads(), p.queries());
       });
       map(by.steps.key, [](const Problem& p, RowIndex at) {
         return exchanged(at, p.key_value_heads(), p.given_keys());
       });
       by.steps.value = by.steps.key;
     },
     nullptr, layout_example},
    {"output written with heads and rows exchanged", FaultFamily::layout,
     "The output's array of (head, row) is written as one of (row, head).",
     "a transposition before the output projection is missing", "NVIDIA/cudnn-frontend#304",
     if_query_layout,
     [](Implementation& by, double) {
       map_rows(by, [](const Problem& p, RowIndex at) {
         return exchanged(at, p.query_heads(), p.queries());
       });
     },
     nullptr, layout_example},
    {"keys in the place of values", FaultFamily::layout, "The keys are blended, not the values.",
     "two arguments exchanged", "",
     [](const Problem& p) {
       return p.width() == p.value_width() ? one_setting : std::vector<double>{};
     },
     [](Implementation& by, double) {
       Problem& p = by.problem;
       p.value = p.key;
       p.past_value = p.past_key;
     },
     nullptr, layout_example},
    {"keys and values exchanged", FaultFamily::layout,
     "Scores are of queries and values, and keys are blended.", "two arguments exchanged", "",
     [](const Problem& p) {
       return p.width() == p.value_width() ? one_setting : std::vector<double>{};
     },
     [](Implementation& by, double) {
       std::swap(by.problem.key, by.problem.value);
       std::swap(by.problem.past_key, by.problem.past_value);
     },
     nullptr, layout_example},
    {"queries and keys exchanged", FaultFamily::layout,
     "Scores are of key i and query j: the score matrix is transposed.",
     "two arguments exchanged, or the transposition of the wrong matrix", "",
     [](const Problem& p) {
       return p.queries() == p.keys() && p.past() == 0 && p.queries() > 1 &&
                      p.query_heads() == p.key_value_heads()
                  ? one_setting
                  : std::vector<double>{};
     },
     [](Implementation& by, double) { std::swap(by.problem.query, by.problem.key); }, nullptr,
     layout_example},
    {"values read with the keys' width", FaultFamily::layout,
     "Row j of the values is read where it would begin if values were as wide as keys.",
     "one stride for both", "pytorch/pytorch#176767",
     [](const Problem& p) {
       return p.width() != p.value_width() && p.past() == 0 && p.given_keys() > 1
                  ? one_setting
                  : std::vector<double>{};
     },
     [](Implementation& by, double) {
       const auto whole = std::make_shared<Problem>(by.problem);
       by.steps.on_value = [whole](std::vector<double>& row, RowIndex at) {
         const Problem& p = *whole;
         const std::size_t keys = p.given_keys(), columns = p.value_width();
         const std::size_t size = p.batches() * p.key_value_heads() * keys * columns;
         const std::size_t from =
             ((at.batch * p.key_value_heads() + at.head) * keys + at.row) * p.width();
         for (std::size_t t = 0; t < columns; ++t) {
           const std::size_t n = from + t;
           if (n >= size) {
             row[t] = 0;
             continue;
           }
           const std::size_t r = n / columns;
           row[t] = p.value.number(r / keys / p.key_value_heads(), r / keys % p.key_value_heads(),
                                   r % keys, n % columns);
         }
       };
     },
     nullptr,
     [] {
       return small_call({1, 1}, {0}, {2, 1}, {0, 0}, {2, 2}, {1, 2, 4, 8});
     }},
    {"index of keys wraps around", FaultFamily::layout, "Key and value j are read at j mod n.",
     "an index of too few bits", "pytorch/pytorch#162588",
     [](const Problem& p) {
       std::vector<double> sizes;
       for (const std::size_t n :
            {65536u, 32768u, 256u, 128u, 1024u, 2048u, 4096u, 512u, 64u, 32u, 16u, 8u, 4u, 2u})
         if (p.given_keys() > n) sizes.push_back(static_cast<double>(n));
       return sizes;
     },
     [](Implementation& by, double n) {
       map(by.steps.key, [n](const Problem&, RowIndex at) {
         at.row %= static_cast<std::size_t>(n);
         return at;
       });
       map(by.steps.value, [n](const Problem&, RowIndex at) {
         at.row %= static_cast<std::size_t>(n);
         return at;
       });
     },
     [](double n) { return "index of keys wraps around at " + number_in_words(n); },
     [] {
       return one_query({0, 0, 0}, {1, 2, 4});
     }},
    {"keys one row off against values", FaultFamily::layout,
     "The weight of key j multiplies value j + 1.", "two pointers that start at different rows", "",
     [](const Problem& p) { return p.given_keys() > 1 ? one_setting : std::vector<double>{}; },
     [](Implementation& by, double) {
       map(by.steps.value, [](const Problem& p, RowIndex at) {
         at.row = (at.row + 1) % p.given_keys();
         return at;
       });
     },
     nullptr, softmax_example},
    {"values in reverse order", FaultFamily::layout,
     "The weight of key j multiplies value T − 1 − j.", "a reversed loop", "",
     [](const Problem& p) { return p.given_keys() > 1 ? one_setting : std::vector<double>{}; },
     [](Implementation& by, double) {
       map(by.steps.value, [](const Problem& p, RowIndex at) {
         at.row = p.given_keys() - 1 - at.row;
         return at;
       });
     },
     nullptr, softmax_example},
};

inline constexpr Fault row_faults[] = {
    {"rows zero", FaultFamily::rows, "The output is zero.",
     "a tile that is never written, in an array of zeros", "NVIDIA/TransformerEngine#3528", always,
     [](Implementation& by, double) {
       on_output(by, [](const Problem&, const KeyRow&, std::vector<double>& out) {
         std::fill(out.begin(), out.end(), 0.0);
       });
     },
     nullptr, softmax_example},
    {"rows NaN", FaultFamily::rows, "The output is NaN.",
     "an array that is not written, or a NaN from elsewhere", "ROCm/aotriton#235", always,
     [](Implementation& by, double) {
       on_output(by, [](const Problem&, const KeyRow&, std::vector<double>& out) {
         std::fill(out.begin(), out.end(), std::numeric_limits<double>::quiet_NaN());
       });
     },
     nullptr, softmax_example},
    {"rows of the row before", FaultFamily::rows, "Row i holds the output of row i − 1.",
     "a pointer that is moved too late", "", if_several_queries,
     [](Implementation& by, double) {
       map_rows(by, [](const Problem&, RowIndex at) {
         if (at.row > 0) --at.row;
         return at;
       });
     },
     nullptr, layout_example},
    {"rows of the row after", FaultFamily::rows, "Row i holds the output of row i + 1.",
     "a pointer that is moved too early", "", if_several_queries,
     [](Implementation& by, double) {
       map_rows(by, [](const Problem& p, RowIndex at) {
         if (at.row + 1 < p.queries()) ++at.row;
         return at;
       });
     },
     nullptr, layout_example},
    {"row 0 in every row", FaultFamily::rows, "Every row holds the output of the first.",
     "the row is left out of an index", "", if_several_queries,
     [](Implementation& by, double) {
       map_rows(by, [](const Problem&, RowIndex at) {
         at.row = 0;
         return at;
       });
     },
     nullptr, layout_example},
    {"scores of row 0 in every row", FaultFamily::rows,
     "Every row is computed with the first query.", "the row is left out of the query's index",
     "ARM-software/CMSIS_5#1441", if_several_queries,
     [](Implementation& by, double) {
       map(by.steps.query, [](const Problem&, RowIndex at) {
         at.row = 0;
         return at;
       });
     },
     nullptr, layout_example},
    {"rows in reverse order", FaultFamily::rows,
     "Row i holds the output of the i-th row from the end.", "a reversed loop", "",
     if_several_queries,
     [](Implementation& by, double) {
       map_rows(by, [](const Problem& p, RowIndex at) {
         at.row = p.queries() - 1 - at.row;
         return at;
       });
     },
     nullptr, layout_example},
    {"output of the other sign", FaultFamily::rows, "The output is negated.", "a subtraction", "",
     always, [](Implementation& by, double) { by.steps.output_factor *= -1; }, nullptr,
     softmax_example},
    {"output scaled", FaultFamily::rows, "The output is multiplied by a constant.",
     "the scale of quantised values is missing, is applied twice, or dropout's 1/(1 − p) is "
     "applied where nothing is dropped",
     "flashinfer-ai/flashinfer#4979",
     [](const Problem& p) {
       return distinct(
           {2, 0.5, 1 / 0.9, 1 / 0.8, 0.25, 4, 0.9, 0.8, 1 / 0.7, 0.125, 8, 7.5, 1 / 7.5,
            scale_of(p), 1 / scale_of(p), static_cast<double>(p.key_value_heads()),
            static_cast<double>(p.query_heads())},
           1);
     },
     [](Implementation& by, double factor) { by.steps.output_factor *= factor; },
     [](double factor) { return "output times " + number_in_words(factor); }, softmax_example},
};

}  // namespace attest::oracle::detail
