// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The simplest place that holds some rows and none of some others.
#pragma once
#include <attest/oracle/diagnosis/ordered.hpp>
#include <attest/oracle/fault/place.hpp>
#include <attest/oracle/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace attest::oracle::detail {

struct RankedStretch {
  Stretch stretch;
  int rank;  // the lower the simpler
};

// Stretches that hold all of `numbers`, below `extent`.
inline std::vector<RankedStretch> stretches(const std::vector<std::size_t>& numbers,
                                            std::size_t extent) {
  std::vector<RankedStretch> found{{Stretch{}, 0}};
  if (extent < 2 || numbers.empty()) return found;
  const std::size_t least = *std::min_element(numbers.begin(), numbers.end());
  const std::size_t most = *std::max_element(numbers.begin(), numbers.end());
  if (least == most) found.push_back({Stretch::one(least), 2});
  if (least > 0) found.push_back({Stretch::from(least), 3});
  if (most + 1 < extent) found.push_back({Stretch::below(most + 1), 3});
  if (least > 0 && most + 1 < extent && least != most)
    found.push_back({{.first = least, .last = most + 1, .period = 1, .remainder = 0}, 6});
  for (const std::size_t n : {8u, 16u, 32u, 64u, 128u}) {
    const std::size_t from = least / n * n;
    if (n < extent && most < from + n)
      found.push_back({{.first = from, .last = from + n, .period = 1, .remainder = 0}, 4});
  }
  if (least != most)
    for (const std::size_t n : {2u, 4u, 8u, 16u, 32u, 64u, 3u, 5u, 6u, 7u, 128u}) {
      if (2 * n > extent) continue;
      const bool one_remainder = std::all_of(numbers.begin(), numbers.end(),
                                             [&](std::size_t x) { return x % n == least % n; });
      if (one_remainder)
        found.push_back({Stretch::every(n, least % n), (n & (n - 1)) == 0 ? 3 : 4});
    }
  return found;
}

// Nothing: no such place is simple.
inline std::optional<Place> simplest_place(const Problem& problem,
                                           const std::vector<RowIndex>& inside,
                                           const std::vector<RowIndex>& outside) {
  std::vector<std::size_t> batches, heads, rows;
  for (const RowIndex& row : inside) {
    batches.push_back(row.batch);
    heads.push_back(row.head);
    rows.push_back(row.row);
  }
  std::vector<std::pair<int, Place>> places;
  for (const RankedStretch& b : stretches(batches, problem.batches()))
    for (const RankedStretch& h : stretches(heads, problem.query_heads()))
      for (const RankedStretch& i : stretches(rows, problem.queries()))
        places.push_back({b.rank + h.rank + i.rank, {b.stretch, h.stretch, i.stretch, Stretch{}}});
  places = ordered(std::move(places), [](const auto& one) { return one.first; });
  for (const auto& [rank, place] : places) {
    const bool holds_none = std::none_of(outside.begin(), outside.end(),
                                         [&](const RowIndex& row) { return place.holds(row); });
    if (holds_none) return place;
  }
  return std::nullopt;
}

}  // namespace attest::oracle::detail
