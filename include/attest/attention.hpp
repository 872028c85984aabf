// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Attention: softmax(QKᵀ/√d_k)V, where every query takes the weighted mean of the values whose keys
// resemble it.
#pragma once
#include <attest/algebra.hpp>
#include <attest/concepts.hpp>
#include <attest/exp.hpp>
#include <attest/mask.hpp>
#include <attest/matrix.hpp>
#include <attest/softmax.hpp>
#include <attest/sqrt.hpp>

namespace attest {

// The three roles of a token, one row per token: what it looks for, what it is found by, what it
// hands over. Each is a type of its own, so that no two of them can be exchanged by accident:
// Query{x * w_q}, Key{x * w_k}, Value{x * w_v}.
template <class T, size_t Tq, size_t D>
struct Query {
  using value_type = T;
  static constexpr size_t rows = Tq;
  static constexpr size_t columns = D;

  Matrix<T, Tq, D> matrix;

  friend constexpr bool operator==(const Query&, const Query&) = default;
};

template <class T, size_t Tk, size_t D>
struct Key {
  using value_type = T;
  static constexpr size_t rows = Tk;
  static constexpr size_t columns = D;

  Matrix<T, Tk, D> matrix;

  friend constexpr bool operator==(const Key&, const Key&) = default;
};

template <class T, size_t Tk, size_t Dv>
struct Value {
  using value_type = T;
  static constexpr size_t rows = Tk;
  static constexpr size_t columns = Dv;

  Matrix<T, Tk, Dv> matrix;

  friend constexpr bool operator==(const Value&, const Value&) = default;
};

template <class T, size_t Tq, size_t D>
Query(Matrix<T, Tq, D>) -> Query<T, Tq, D>;
template <class T, size_t Tk, size_t D>
Key(Matrix<T, Tk, D>) -> Key<T, Tk, D>;
template <class T, size_t Tk, size_t Dv>
Value(Matrix<T, Tk, Dv>) -> Value<T, Tk, Dv>;

template <class A>
inline constexpr bool is_query = false;
template <class T, size_t Tq, size_t D>
inline constexpr bool is_query<Query<T, Tq, D>> = true;
template <class A>
inline constexpr bool is_key = false;
template <class T, size_t Tk, size_t D>
inline constexpr bool is_key<Key<T, Tk, D>> = true;
template <class A>
inline constexpr bool is_value = false;
template <class T, size_t Tk, size_t Dv>
inline constexpr bool is_value<Value<T, Tk, Dv>> = true;

template <class A>
concept first_argument_is_a_query = is_query<A>;
template <class A>
concept second_argument_is_a_key = is_key<A>;
template <class A>
concept third_argument_is_a_value = is_value<A>;

// What attention_scores asks of its arguments.
template <class Q, class K>
concept can_compare = first_argument_is_a_query<Q> && second_argument_is_a_key<K> &&
    same_number_type<typename Q::value_type, typename K::value_type> &&
    query_width_equals_key_width<Q::columns, K::columns>;

// What attention asks of its arguments.
template <class Q, class K, class V, class Visible = Everything>
concept can_attend = can_compare<Q, K> && third_argument_is_a_value<V> &&
    same_number_type<typename K::value_type, typename V::value_type> &&
    one_value_row_per_key_row<K::rows, V::rows> && fits<Visible, Q::rows, K::rows>;

// 1/√d, d the length of the vectors in the dot product: if their entries are independent with
// variance 1, q·k has variance d and this brings it back to 1. Computed as T(1) / sqrt(T(d)): two
// roundings, relative error at most 2·u to first order; exact where d is a power of four.
template <class T, size_t D>
inline constexpr T inverse_root = T(1) / sqrt(T(D));

// How much each query resembles each key: scale·(q_i·k_j), the dot product rounded before it is
// scaled.
template <class Q, class K>
  requires can_compare<Q, K>
constexpr auto attention_scores(
    const Q& query, const K& key,
    typename Q::value_type scale = inverse_root<typename Q::value_type, Q::columns>) {
  Matrix<typename Q::value_type, Q::rows, K::rows> scores;
  for (size_t i = 0; i < Q::rows; ++i) {
    const auto& q = query.matrix.entries[i];
    for (size_t j = 0; j < K::rows; ++j)
      scores.entries[i][j] = scale * dot(q, key.matrix.entries[j]);
  }
  return scores;
}

// What share of its attention each query gives to each key: row i is a distribution over the keys
// that query i sees.
template <class Q, class K, class Visible = Everything>
  requires can_compare<Q, K> && fits<Visible, Q::rows, K::rows>
constexpr auto attention_weights(
    const Q& query, const K& key, const Visible& visible = {},
    typename Q::value_type scale = inverse_root<typename Q::value_type, Q::columns>) {
  return softmax(attention_scores(query, key, scale), visible);
}

// attention_weights(query, key, visible, scale) * value to the bit, without the matrix of weights:
// one query at a time, the scratch one row of Tk weights (cost.hpp). The weights are divided by their
// sum before they meet the values, so that no sum leaves the hull of the values: where the exact
// result is finite nothing overflows on the way, which a quotient of sums would for values near the
// end of the range.
//
// A hidden key takes no part: neither its score nor its value is read, so NaN and infinity stay
// where they are. A query that sees no key gets a row of zeros, as ONNX and PyTorch's safe softmax
// have it; other libraries return NaN or the mean of all values.
//
// Error of entry t of a query's output o, to first order in the unit roundoff u; p_j are the exact
// weights, s_j the exact scores, a_j = max s − s_j, n the number of visible keys, d the width of
// query and key:
//   Σ_j p_j φ_j |v_jt − o_t| + (n + 1)·u·(Σ_j p_j |v_jt| + |o_t|),
//   φ_j = u·((d + 1)·|scale|·Σ_k |q_k k_jk| + a_j + 1), and 2·u·|s_j| more where scale is the
//   rounded 1/√d.
// φ_j bounds the relative error of e^{s_j − max}: the dot product, its scaling, the subtraction, exp.
// What all weights have in common cancels in the quotient, hence the centred |v_jt − o_t|. The
// second term is the division of each weight, the weighted sum (Jeannerod & Rump 2013) and the sum
// of weights. Underflow adds a few times the smallest subnormal for each visible key.
template <class Q, class K, class V, class Visible = Everything>
  requires can_attend<Q, K, V, Visible>
constexpr auto attention(
    const Q& query, const K& key, const V& value, const Visible& visible = {},
    typename Q::value_type scale = inverse_root<typename Q::value_type, Q::columns>) {
  using T = typename Q::value_type;
  Matrix<T, Q::rows, V::columns> output;
  for (size_t i = 0; i < Q::rows; ++i) {
    const auto& q = query.matrix.entries[i];
    T weight[K::rows]{};
    for (size_t j = 0; j < K::rows; ++j)
      if (sees(visible, i, j)) weight[j] = scale * dot(q, key.matrix.entries[j]);
    softmax_row(weight, visible, i);

    auto& o = output.entries[i];
    for (size_t j = 0; j < K::rows; ++j)
      if (sees(visible, i, j)) axpy(weight[j], value.matrix.entries[j], o);
  }
  return output;
}

}  // namespace attest
