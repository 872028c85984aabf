// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Sorting that keeps the order of equals; std::stable_sort of libstdc++ 12 uses what clang calls
// deprecated.
#pragma once
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace attest::oracle::detail {

// The items by rank(item), lowest first, those of the same rank in their order.
template <class T, class Rank>
std::vector<T> ordered(std::vector<T> items, Rank rank) {
  std::vector<std::pair<decltype(rank(items.front())), std::size_t>> order;
  for (std::size_t n = 0; n < items.size(); ++n) order.emplace_back(rank(items[n]), n);
  std::sort(order.begin(), order.end());
  std::vector<T> result;
  result.reserve(items.size());
  for (const auto& [of_item, n] : order) result.push_back(std::move(items[n]));
  return result;
}

}  // namespace attest::oracle::detail
