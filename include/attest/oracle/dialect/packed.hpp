// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Packed and paged arrays, seen as (batch, head, row, column) without a copy.
//
// Packed: the rows of all batch entries one after the other, entry b those from starts[b] on.
// Paged: rows in pages of equal size, of which a table names each entry's in order. Rows that an
// entry does not have are shown as the array's first; nothing may depend on them.
#pragma once
#include <attest/oracle/dialect/arrays.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace attest::oracle {
namespace detail {

// Where each batch entry's rows begin, and at last where they end.
inline std::vector<std::size_t> read_starts(const std::string& name, const Tensor& found,
                                            std::size_t rows) {
  if (found.rank() != 1 || found.shape[0] < 2)
    throw Arrays::wrong_shape(name, found, "one axis, a start for each batch entry and the end");
  const std::vector<std::int64_t> numbers =
      whole_numbers(name, found, found.shape[0], "", 0, static_cast<std::int64_t>(rows));
  for (std::size_t b = 1; b < numbers.size(); ++b)
    if (numbers[0] != 0 || numbers[b] < numbers[b - 1])
      throw BadCall("array \"" + name + "\": expected 0 first and no number below the one before");
  return {numbers.begin(), numbers.end()};
}

inline std::vector<std::size_t> lengths_between(const std::vector<std::size_t>& starts) {
  std::vector<std::size_t> lengths;
  for (std::size_t b = 0; b + 1 < starts.size(); ++b) lengths.push_back(starts[b + 1] - starts[b]);
  return lengths;
}

inline std::size_t longest(const std::vector<std::size_t>& lengths) {
  return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
}

// From (rows, head, column).
inline Tensor unpacked(const std::string& name, const Tensor& found,
                       const std::vector<std::size_t>& starts) {
  if (found.rank() != 3)
    throw Arrays::wrong_shape(name, found, "3 axes, (rows of all batch entries, heads, columns)");
  const std::vector<std::size_t> lengths = lengths_between(starts);
  const std::size_t rows = longest(lengths);
  Tensor view = found;
  view.shape = {lengths.size(), found.shape[1], rows, found.shape[2]};
  view.strides = {0, found.strides[1], found.strides[0], found.strides[2]};
  std::vector<std::ptrdiff_t> places(lengths.size() * rows, 0);
  for (std::size_t b = 0; b < lengths.size(); ++b)
    for (std::size_t i = 0; i < lengths[b]; ++i)
      places[b * rows + i] = static_cast<std::ptrdiff_t>(starts[b] + i) * found.strides[0];
  view.rows = std::make_shared<const std::vector<std::ptrdiff_t>>(std::move(places));
  return view;
}

// From (page, head, row, column) by a table of pages, `per_entry` for each batch entry; of entry b
// `lengths[b]` rows.
inline Tensor from_pages(const std::string& name, const Tensor& pages,
                         const std::vector<std::vector<std::size_t>>& table,
                         const std::vector<std::size_t>& lengths) {
  const std::size_t page_rows = pages.shape[2], rows = longest(lengths);
  Tensor view = pages;
  view.shape = {lengths.size(), pages.shape[1], rows, pages.shape[3]};
  std::vector<std::ptrdiff_t> places(lengths.size() * rows, 0);
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    if (lengths[b] > table[b].size() * page_rows)
      throw BadCall("array \"" + name + "\": batch entry " + std::to_string(b) + " has " +
                    std::to_string(table[b].size()) + " pages of " + std::to_string(page_rows) +
                    " rows, expected " + std::to_string(lengths[b]) + " rows");
    for (std::size_t j = 0; j < lengths[b]; ++j)
      places[b * rows + j] =
          static_cast<std::ptrdiff_t>(table[b][j / page_rows]) * pages.strides[0] +
          static_cast<std::ptrdiff_t>(j % page_rows) * pages.strides[2];
  }
  view.rows = std::make_shared<const std::vector<std::ptrdiff_t>>(std::move(places));
  return view;
}

// A table of shape (batch, pages of an entry). Only the pages that `lengths` need are looked at:
// the rest may hold anything.
inline std::vector<std::vector<std::size_t>> read_page_table(
    const std::string& name, const Tensor& found, const Tensor& pages,
    const std::vector<std::size_t>& lengths) {
  if (found.rank() != 2 || found.shape[0] != lengths.size() || found.format())
    throw Arrays::wrong_shape(name, found,
                              "2 axes of integers, the pages of each of " +
                                  std::to_string(lengths.size()) + " batch entries");
  std::vector<std::vector<std::size_t>> table(lengths.size());
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    const std::size_t needed = (lengths[b] + pages.shape[2] - 1) / pages.shape[2];
    if (needed > found.shape[1])
      throw BadCall("array \"" + name + "\": found " + std::to_string(found.shape[1]) +
                    " pages for each batch entry, expected " + std::to_string(needed) + " for " +
                    std::to_string(lengths[b]) + " keys");
    for (std::size_t n = 0; n < needed; ++n) {
      const std::int64_t page =
          found.integer_at(found.data + static_cast<std::ptrdiff_t>(b) * found.strides[0] +
                           static_cast<std::ptrdiff_t>(n) * found.strides[1]);
      if (page < 0 || page >= static_cast<std::int64_t>(pages.shape[0]))
        throw BadCall("array \"" + name + "\": found page " + std::to_string(page) +
                      ", expected 0 to " + std::to_string(pages.shape[0] - 1));
      table[b].push_back(static_cast<std::size_t>(page));
    }
  }
  return table;
}

// How a number for each query head and packed query is laid out: (head, row), (row, head), or else
// as (batch, head, query), where there may be more queries than any batch entry has.
enum class PackedRows { heads_first, rows_first, heads_first_or_padded };

// Such numbers of padded queries, seen with a last axis of one; those beyond an entry's queries are
// not looked at.
inline Tensor padded_numbers(const std::string& name, const Tensor& found, const Problem& p) {
  const std::size_t queries = found.shape[2];
  if (found.shape[0] != p.batches() || found.shape[1] != p.query_heads() || queries < p.queries())
    throw Arrays::wrong_shape(name, found,
                              to_string(Shape{p.batches(), p.query_heads(), p.queries()}) +
                                  " or more of the last, (batch, query heads, queries)");
  Tensor view = found;
  view.shape[2] = p.queries();
  view.shape.push_back(1);
  view.strides.push_back(0);
  return view;
}

// Such numbers, seen with a last axis of one.
inline Tensor unpacked_numbers(const std::string& name, const Tensor& found, const Problem& p,
                               std::size_t rows, const std::vector<std::size_t>& starts,
                               PackedRows layout) {
  const bool heads_first = layout != PackedRows::rows_first;
  const std::size_t heads = p.query_heads();
  Arrays::floating(name, found);
  if (layout == PackedRows::heads_first_or_padded && found.rank() == 3)
    return padded_numbers(name, found, p);
  Arrays::shaped(name, found, heads_first ? Shape{heads, rows} : Shape{rows, heads},
                 heads_first ? "(query heads, rows of all batch entries)"
                             : "(rows of all batch entries, query heads)");
  Tensor by_rows = found;
  by_rows.shape = {rows, heads, 1};
  by_rows.strides = {found.strides[heads_first ? 1 : 0], found.strides[heads_first ? 0 : 1], 0};
  return unpacked(name, by_rows, starts);
}

// Log-sum-exp and gradients of packed queries. `key_starts` is empty where keys are in pages: of
// those no framework returns gradients.
inline void read_packed_log_sum_exp_and_gradients(Arrays& arrays, Problem& p, PackedRows layout,
                                                  const std::vector<std::size_t>& query_starts,
                                                  const std::vector<std::size_t>& key_starts) {
  const std::size_t rows = arrays.required("q").shape[0];
  if (const Tensor* found = arrays.find("lse"))
    p.log_sum_exp = claim("lse", unpacked_numbers("lse", *found, p, rows, query_starts, layout));
  if (key_starts.empty())
    return leave_unjudged(arrays, p, {"dq", "dk", "dv", "dsinks", "dattn_mask"});
  const auto gradient = [&](const std::string& name, const std::string& by,
                            const std::vector<std::size_t>& starts) -> std::optional<Claim> {
    const Tensor* found = arrays.find(name);
    if (!found) return std::nullopt;
    Arrays::shaped(name, Arrays::floating(name, *found), arrays.required(by).shape,
                   "the shape of what it is by");
    return claim(name, unpacked(name, *found, starts));
  };
  p.d_query = gradient("dq", "q", query_starts);
  p.d_key = gradient("dk", "k", key_starts);
  p.d_value = gradient("dv", "v", key_starts);
  p.padded_key = PaddedRow::absent;
  const Tensor* d_output = arrays.find("dout");
  if (p.has_gradients() && !d_output)
    throw BadCall("array \"dout\" is missing: gradients start from it");
  if (d_output) {
    Arrays::shaped("dout", Arrays::floating("dout", *d_output),
                   {rows, p.query_heads(), p.value_width()},
                   "(rows of all batch entries, query heads, value width)");
    p.d_output = unpacked("dout", *d_output, query_starts);
  }
  if (const Tensor* found = arrays.find("dlse"))
    p.d_log_sum_exp = unpacked_numbers("dlse", *found, p, rows, query_starts, layout);
  for (const char* name : {"dsinks", "dattn_mask"})
    if (arrays.find(name)) p.not_judged.push_back(name);
}

// An output with the rows of a packed query.
inline void read_packed_output(Arrays& arrays, Problem& p, const Tensor& query,
                               const std::vector<std::size_t>& starts) {
  const Tensor* out = arrays.find("out");
  if (!out) return;
  Arrays::floating("out", *out);
  Arrays::shaped("out", *out, {query.shape[0], p.query_heads(), p.value_width()},
                 "(rows of all batch entries, query heads, value width)");
  p.output = claim("out", unpacked("out", *out, starts));
}

}  // namespace detail
}  // namespace attest::oracle
