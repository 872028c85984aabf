// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Which keys a query may see: all of them, none of the future, or what a boolean matrix says.
#pragma once
#include <attest/concepts.hpp>
#include <attest/matrix.hpp>
#include <attest/rule.hpp>

namespace attest {

struct Everything {
  constexpr bool operator()(size_t, size_t) const { return true; }
};
inline constexpr Everything everything{};

// Key j is visible to query i when j ≤ i + earlier_keys: nobody reads ahead. Where queries and keys
// start together (top-left alignment) earlier_keys is 0; where the queries are the last of the
// sequence, its first keys already in a cache (bottom-right alignment), it is how many keys came
// before the first query: keys − queries.
struct Causal {
  size_t earlier_keys = 0;

  constexpr bool operator()(size_t i, size_t j) const { return j <= i + earlier_keys; }
};
inline constexpr Causal causal{};
constexpr Causal causal_after(size_t earlier_keys) {
  return {earlier_keys};
}

// What causality and window of a rule leave visible to queries of which `earlier_keys` keys come
// before the first, the rule's own offset not counted.
template <Rule rule>
struct VisibleByPosition {
  long earlier_keys = 0;

  constexpr bool operator()(size_t i, size_t j) const {
    return position_visible(rule, static_cast<long>(i) + earlier_keys + rule.offset,
                            static_cast<long>(j));
  }
};

// A mask is a Matrix<bool, queries, keys>: true lets the query attend (the polarity of PyTorch and
// ONNX). Besides masks, anything that answers visible(i, j) will do, a user's own included; it fits
// every shape.
template <class Visible>
concept answers_for_a_query_and_a_key = requires(const Visible& visible, size_t i) {
  requires is_same_type<decltype(by_value(visible(i, i))), bool>;
};

template <answers_for_a_query_and_a_key Visible>
constexpr bool sees(const Visible& visible, size_t i, size_t j) {
  return visible(i, j);
}
constexpr bool sees(const Everything&, size_t, size_t) {
  return true;  // a call less to evaluate, four times for each pair
}
template <size_t Queries, size_t Keys>
constexpr bool sees(const Matrix<bool, Queries, Keys>& mask, size_t i, size_t j) {
  return __builtin_bit_cast(unsigned char, mask.entries[i][j]) != 0;  // GCC 12: no vectors of bool
}

template <class Visible>
concept says_which_keys_a_query_sees = requires(const Visible& visible, size_t i) {
  sees(visible, i, i);
};

// The shape a mask has, and the one that everything else takes on.
template <class Visible, size_t Queries>
inline constexpr size_t mask_rows = Queries;
template <size_t R, size_t C, size_t Queries>
inline constexpr size_t mask_rows<Matrix<bool, R, C>, Queries> = R;
template <class Visible, size_t Keys>
inline constexpr size_t mask_columns = Keys;
template <size_t R, size_t C, size_t Keys>
inline constexpr size_t mask_columns<Matrix<bool, R, C>, Keys> = C;

template <class Visible, size_t Queries, size_t Keys>
concept fits = says_which_keys_a_query_sees<Visible> &&
    mask_has_one_row_per_query_and_one_column_per_key<mask_rows<Visible, Queries>,
                                                      mask_columns<Visible, Keys>, Queries, Keys>;

}  // namespace attest
