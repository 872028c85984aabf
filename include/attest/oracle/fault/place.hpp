// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Place: where a fault strikes — everywhere, or only some batch entries, heads, rows or keys.
#pragma once
#include <attest/oracle/fault/implementation.hpp>

#include <cstddef>
#include <limits>
#include <string>

namespace attest::oracle {

// The n with first <= n < last and n mod period = remainder.
struct Stretch {
  std::size_t first = 0, last = std::numeric_limits<std::size_t>::max();
  std::size_t period = 1, remainder = 0;

  static constexpr Stretch one(std::size_t n) { return {n, n + 1, 1, 0}; }
  static constexpr Stretch from(std::size_t n) { return {.first = n}; }
  static constexpr Stretch below(std::size_t n) { return {.last = n}; }
  static constexpr Stretch every(std::size_t period, std::size_t remainder) {
    return {.period = period, .remainder = remainder};
  }
  constexpr bool holds(std::size_t n) const {
    return n >= first && n < last && n % period == remainder;
  }
  constexpr bool all() const { return *this == Stretch{}; }
  friend constexpr bool operator==(const Stretch&, const Stretch&) = default;

  // "keys >= 64", "rows mod 4 = 3", "batch 1 only"; empty: all of them.
  std::string in_words(const std::string& one, const std::string& many) const {
    std::string text;
    const bool ends = last != std::numeric_limits<std::size_t>::max();
    if (ends && last == first + 1) return one + " " + std::to_string(first) + " only";
    if (first > 0 && ends)
      text = many + " " + std::to_string(first) + " to " + std::to_string(last - 1);
    else if (first > 0)
      text = many + " >= " + std::to_string(first);
    else if (ends)
      text = many + " < " + std::to_string(last);
    if (period > 1)
      text += (text.empty() ? many + " " : " and ") + std::string("mod ") + std::to_string(period) +
              " = " + std::to_string(remainder);
    return text;
  }
};

struct Place {
  Stretch batches, heads, rows, keys;  // query heads

  static Place everywhere() { return {}; }
  bool holds(const RowIndex& row) const {
    return batches.holds(row.batch) && heads.holds(row.head) && rows.holds(row.row);
  }
  bool is_everywhere() const { return batches.all() && heads.all() && rows.all() && keys.all(); }
  std::string in_words() const {
    std::string text;
    for (const std::string& part :
         {batches.in_words("batch", "batches"), heads.in_words("head", "heads"),
          rows.in_words("row", "rows"), keys.in_words("key", "keys")})
      if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
    return text.empty() ? "everywhere" : text;
  }
  friend bool operator==(const Place&, const Place&) = default;
};

}  // namespace attest::oracle
