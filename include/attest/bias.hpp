// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What is added to a score before softmax: nothing, an additive mask, or a slope times distance
// (ALiBi).
#pragma once
#include <attest/concepts.hpp>
#include <attest/count.hpp>
#include <attest/exp.hpp>
#include <attest/matrix.hpp>
#include <attest/special.hpp>

namespace attest {

struct NoBias {};
inline constexpr NoBias no_bias{};

// A bias is a Matrix<T, queries, keys>, the additive mask of the frameworks, or anything that
// answers bias(i, j) with a T. Where it is −∞ the key is hidden from the query, as a mask hides it:
// it has no part in the result, and a query from which all keys are hidden has an empty row.
template <class Bias, class T>
concept answers_with_a_score = requires(const Bias& bias, size_t i) {
  requires is_same_type<decltype(by_value(bias(i, i))), T>;
};
template <class T, size_t R, size_t C>
constexpr const T& bias_at(const Matrix<T, R, C>& bias, size_t i, size_t j) {
  return bias.entries[i][j];
}
template <class Bias>
constexpr auto bias_at(const Bias& bias, size_t i, size_t j) -> decltype(bias(i, j)) {
  return bias(i, j);
}

// −slope·|j − (i + earlier_keys)|: the further a key, the less it counts (Press, Smith & Lewis,
// "Train short, test long", ICLR 2022). earlier_keys: how many keys come before the first query.
template <class T>
struct Alibi {
  T slope;
  long earlier_keys = 0;

  constexpr T operator()(size_t i, size_t j) const {
    const long ahead = static_cast<long>(j) - static_cast<long>(i) - earlier_keys;
    return -product_with_count(slope, static_cast<size_t>(ahead < 0 ? -ahead : ahead));
  }
};
template <class T>
Alibi(T) -> Alibi<T>;
template <class T>
Alibi(T, long) -> Alibi<T>;

// The slope of head h of H, 2^(−8(h + 1)/H) where H is a power of two; else those of the next lower
// power of two n, and then every other one of 2n. Rounded to nearest, exact where H divides 8.
template <class T>
constexpr T alibi_slope(size_t head, size_t heads) {
  size_t power = 1;
  while (power * 2 <= heads) power *= 2;
  const size_t step = head < power ? head + 1 : 2 * (head - power) + 1;
  const size_t steps = head < power ? power : 2 * power;
  return T(exp2(-8 * static_cast<double>(step) / static_cast<double>(steps)));
}

// Two biases at once: their sum, rounded. The first, which may be a matrix, stays where it is.
template <class A, class B>
struct BiasSum {
  const A& first;
  B second;

  constexpr auto operator()(size_t i, size_t j) const {
    return bias_at(first, i, j) + bias_at(second, i, j);
  }
};

template <class Bias, class T>
inline constexpr bool is_bias = is_same_type<Bias, NoBias> || answers_with_a_score<Bias, T>;
template <class U, size_t R, size_t C, class T>
inline constexpr bool is_bias<Matrix<U, R, C>, T> = is_same_type<U, T>;
template <class Bias, class T>
concept bias_has_the_number_type_of_the_scores = is_bias<Bias, T>;

// The shape a matrix of biases has, and the one that every other bias takes on.
template <class Bias, size_t Queries>
inline constexpr size_t bias_rows = Queries;
template <class T, size_t R, size_t C, size_t Queries>
inline constexpr size_t bias_rows<Matrix<T, R, C>, Queries> = R;
template <class Bias, size_t Keys>
inline constexpr size_t bias_columns = Keys;
template <class T, size_t R, size_t C, size_t Keys>
inline constexpr size_t bias_columns<Matrix<T, R, C>, Keys> = C;

template <size_t BiasRows, size_t BiasColumns, size_t Queries, size_t Keys>
concept bias_has_one_row_per_query_and_one_column_per_key =
    BiasRows == Queries&& BiasColumns == Keys;

template <class Bias, class T, size_t Queries, size_t Keys>
concept adds_to_scores = bias_has_the_number_type_of_the_scores<Bias, T> &&
    bias_has_one_row_per_query_and_one_column_per_key<bias_rows<Bias, Queries>,
                                                      bias_columns<Bias, Keys>, Queries, Keys>;

}  // namespace attest
