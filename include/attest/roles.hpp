// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Query, Key, Value: matrices that know their role in attention, so that no two can be exchanged.
#pragma once
#include <attest/concepts.hpp>
#include <attest/matrix.hpp>

namespace attest {

// What there must be for a query to look for something.
template <size_t Queries>
concept there_is_a_query = Queries != 0;
template <size_t Keys>
concept there_is_a_key = Keys != 0;
template <size_t Width>
concept query_and_key_have_an_entry = Width != 0;

// The three roles of a token, one row per token: what it looks for, what it is found by, what it
// hands over. Each is a type of its own, so that no two of them can be exchanged by accident:
// Query{x * w_q}, Key{x * w_k}, Value{x * w_v}.
template <class T, size_t Tq, size_t D>
struct Query {
  static_assert(there_is_a_query<Tq> && query_and_key_have_an_entry<D>);
  using value_type = T;
  static constexpr size_t rows = Tq;
  static constexpr size_t columns = D;

  Matrix<T, Tq, D> matrix;

  friend constexpr bool operator==(const Query&, const Query&) = default;
};

template <class T, size_t Tk, size_t D>
struct Key {
  static_assert(there_is_a_key<Tk> && query_and_key_have_an_entry<D>);
  using value_type = T;
  static constexpr size_t rows = Tk;
  static constexpr size_t columns = D;

  Matrix<T, Tk, D> matrix;

  friend constexpr bool operator==(const Key&, const Key&) = default;
};

template <class T, size_t Tk, size_t Dv>
struct Value {
  static_assert(there_is_a_key<Tk>);
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

// What a dot product of queries and keys asks of them.
template <class Q, class K>
concept can_compare = first_argument_is_a_query<Q> && second_argument_is_a_key<K> &&
    same_number_type<typename Q::value_type, typename K::value_type> &&
    query_width_equals_key_width<Q::columns, K::columns>;

// What attention asks of query, key and value, whatever else a form of it takes.
template <class Q, class K, class V>
concept query_key_and_value_agree = can_compare<Q, K> && third_argument_is_a_value<V> &&
    same_number_type<typename K::value_type, typename V::value_type> &&
    one_value_row_per_key_row<K::rows, V::rows>;

}  // namespace attest
