// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Several attentions side by side: multi-head, grouped and multi-query heads, and a batch of
// sequences.
#pragma once
#include <attest/attention.hpp>

namespace attest {

template <size_t H>
concept there_is_a_head = H != 0;
template <size_t N>
concept there_is_an_element_of_the_batch = N != 0;

// H heads, one after the other in memory: of queries, keys, values, and of outputs; of masks,
// biases and sinks where each head has its own.
template <class A, size_t H>
struct Heads {
  static_assert(there_is_a_head<H>);
  using head_type = A;
  static constexpr size_t heads = H;

  A head[H]{};

  constexpr A& operator[](size_t h) { return head[h]; }
  constexpr const A& operator[](size_t h) const { return head[h]; }

  friend constexpr bool operator==(const Heads& a, const Heads& b) {
    for (size_t h = 0; h < H; ++h)
      if (!(a.head[h] == b.head[h])) return false;
    return true;
  }
};
template <class A, class... Others>
Heads(A, Others...) -> Heads<A, 1 + sizeof...(Others)>;

// N sequences that have nothing to do with one another: of Query, Key, … or of Heads of them.
template <class A, size_t N>
struct Batch {
  static_assert(there_is_an_element_of_the_batch<N>);
  using element_type = A;
  static constexpr size_t elements = N;

  A element[N]{};

  constexpr A& operator[](size_t n) { return element[n]; }
  constexpr const A& operator[](size_t n) const { return element[n]; }

  friend constexpr bool operator==(const Batch& a, const Batch& b) {
    for (size_t n = 0; n < N; ++n)
      if (!(a.element[n] == b.element[n])) return false;
    return true;
  }
};
template <class A, class... Others>
Batch(A, Others...) -> Batch<A, 1 + sizeof...(Others)>;

// A part that all heads share stands for itself, Heads for one of them each.
template <class Part>
struct PartOfHead {
  using type = Part;
};
template <class A, size_t H>
struct PartOfHead<Heads<A, H>> {
  using type = A;
};
template <class Part>
constexpr Part& part_of_head(Part& shared, size_t) {
  return shared;
}
template <class A, size_t H>
constexpr A& part_of_head(Heads<A, H>& each, size_t h) {
  return each.head[h];
}
template <class A, size_t H>
constexpr const A& part_of_head(const Heads<A, H>& each, size_t h) {
  return each.head[h];
}
template <class Part, size_t H>
inline constexpr bool shared_or_one_per_head = true;
template <class A, size_t N, size_t H>
inline constexpr bool shared_or_one_per_head<Heads<A, N>, H> = N == H;

template <class Part>
struct PartOfElement {
  using type = Part;
};
template <class A, size_t N>
struct PartOfElement<Batch<A, N>> {
  using type = A;
};
template <class Part>
constexpr Part& part_of_element(Part& shared, size_t) {
  return shared;
}
template <class A, size_t N>
constexpr A& part_of_element(Batch<A, N>& each, size_t n) {
  return each.element[n];
}
template <class A, size_t N>
constexpr const A& part_of_element(const Batch<A, N>& each, size_t n) {
  return each.element[n];
}
template <class Part, size_t N>
inline constexpr bool shared_or_one_per_element = true;
template <class A, size_t M, size_t N>
inline constexpr bool shared_or_one_per_element<Batch<A, M>, N> = M == N;

// A key/value head is read by as many query heads as another: one (multi-head), several (grouped)
// or all of them (multi-query: Shazeer, "Fast transformer decoding", 2019; grouped: Ainslie et al.,
// "GQA", EMNLP 2023).
template <size_t QueryHeads, size_t KeyValueHeads>
concept query_heads_are_a_multiple_of_key_value_heads = KeyValueHeads >
0 && QueryHeads % KeyValueHeads == 0;
template <size_t KeyHeads, size_t ValueHeads>
concept one_value_head_per_key_head = KeyHeads == ValueHeads;
template <class Visible, size_t QueryHeads>
concept mask_is_shared_or_one_per_query_head = shared_or_one_per_head<Visible, QueryHeads>;
template <class Bias, size_t QueryHeads>
concept bias_is_shared_or_one_per_query_head = shared_or_one_per_head<Bias, QueryHeads>;
template <class Sink, size_t QueryHeads>
concept sink_is_shared_or_one_per_query_head = shared_or_one_per_head<Sink, QueryHeads>;
template <class Part, size_t Elements>
concept part_is_shared_or_one_per_element_of_the_batch = shared_or_one_per_element<Part, Elements>;

template <class Q, class K, class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
concept heads_agree = query_heads_are_a_multiple_of_key_value_heads<Q::heads, K::heads> &&
    mask_is_shared_or_one_per_query_head<Visible, Q::heads> &&
    bias_is_shared_or_one_per_query_head<Bias, Q::heads> &&
    sink_is_shared_or_one_per_query_head<Sink, Q::heads>;

// What attention in heads asks of its arguments; Q, K and V are Heads.
template <class Q, class K, class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
concept can_score_in_heads =
    heads_agree<Q, K, Visible, Bias, Sink> && can_score < typename Q::head_type,
        typename K::head_type, typename PartOfHead<Visible>::type,
typename PartOfHead<Bias>::type, typename PartOfHead<Sink>::type > ;
template <class Q, class K, class V, class Visible = Everything, class Bias = NoBias,
          class Sink = NoSink>
concept can_attend_in_heads =
    heads_agree<Q, K, Visible, Bias, Sink> && one_value_head_per_key_head<K::heads, V::heads> &&
    can_attend < typename Q::head_type,
        typename K::head_type, typename V::head_type, typename PartOfHead<Visible>::type,
typename PartOfHead<Bias>::type, typename PartOfHead<Sink>::type > ;

// What is left of a rule for a single head once ALiBi, whose slope depends on the head, has become
// a bias.
constexpr Rule without_alibi(Rule rule) {
  rule.alibi = false;
  return rule;
}

// What `of_head` returns for each query head, given its number and that of the key/value head it
// reads.
template <Rule rule, size_t Hq, size_t Hk, class OfHead>
constexpr auto for_each_query_head(const OfHead& of_head) {
  Heads<decltype(of_head(0, 0)), Hq> result;
  for (size_t h = 0; h < Hq; ++h)
    result.head[h] = of_head(h, key_value_head(rule.head_map, h, Hq, Hk));
  return result;
}
// What `attend` returns for each query head, given its query, the key and the value it reads
// (key_value_head), and what mask, bias and sink are to it; earlier_keys as in bias_of_head.
template <Rule rule, class Q, size_t Hq, class K, size_t Hk, class V, class Visible, class Bias,
          class Sink, class Attend>
constexpr auto for_each_head(const Heads<Q, Hq>& query, const Heads<K, Hk>& key,
                             const Heads<V, Hk>& value, const Visible& mask, const Bias& bias,
                             const Sink& sink, const Attend& attend, long earlier_keys = 0) {
  return for_each_query_head<rule, Hq, Hk>([&](size_t h, size_t read) {
    return attend(
        query.head[h], key.head[read], value.head[read], part_of_head(mask, h),
        bias_of_head<rule, typename Q::value_type>(part_of_head(bias, h), h, Hq, earlier_keys),
        part_of_head(sink, h));
  });
}

// Head h of the output is the attention of query head h alone, to the key/value head that the rule
// says it reads, with the slope of head h of H if the rule has ALiBi. Mask, bias and sink are
// shared by all heads, or Heads with one for each query head.
template <Rule rule = Rule{}, class Q, size_t Hq, class K, size_t Hk, class V, size_t Hv,
          class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
requires can_attend_in_heads<Heads<Q, Hq>, Heads<K, Hk>, Heads<V, Hv>, Visible, Bias, Sink>
constexpr auto attention(const Heads<Q, Hq>& query, const Heads<K, Hk>& key,
                         const Heads<V, Hv>& value, const Visible& mask = {}, const Bias& bias = {},
                         const Sink& sink = {}) {
  return for_each_head<rule>(query, key, value, mask, bias, sink, [](const auto&... parts) {
    return attention<without_alibi(rule)>(parts...);
  });
}

template <Rule rule = Rule{}, class Q, size_t Hq, class K, size_t Hk, class V, size_t Hv,
          class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
requires can_attend_in_heads<Heads<Q, Hq>, Heads<K, Hk>, Heads<V, Hv>, Visible, Bias, Sink>
constexpr auto attention_with_log_sum_exp(const Heads<Q, Hq>& query, const Heads<K, Hk>& key,
                                          const Heads<V, Hv>& value, const Visible& mask = {},
                                          const Bias& bias = {}, const Sink& sink = {}) {
  return for_each_head<rule>(query, key, value, mask, bias, sink, [](const auto&... parts) {
    return attention_with_log_sum_exp<without_alibi(rule)>(parts...);
  });
}

template <Rule rule = Rule{}, class Q, size_t Hq, class K, size_t Hk, class Bias = NoBias>
requires can_score_in_heads<Heads<Q, Hq>, Heads<K, Hk>, Everything, Bias>
constexpr auto attention_scores(const Heads<Q, Hq>& query, const Heads<K, Hk>& key,
                                const Bias& bias = {}) {
  return for_each_head<rule>(
      query, key, key, everything, bias, NoSink{},
      [](const auto& q, const auto& k, const auto&, const auto&, const auto& of_head, const auto&) {
        return attention_scores<without_alibi(rule)>(q, k, of_head);
      });
}

template <Rule rule = Rule{}, class Q, size_t Hq, class K, size_t Hk, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires can_score_in_heads<Heads<Q, Hq>, Heads<K, Hk>, Visible, Bias, Sink>
constexpr auto attention_weights(const Heads<Q, Hq>& query, const Heads<K, Hk>& key,
                                 const Visible& mask = {}, const Bias& bias = {},
                                 const Sink& sink = {}) {
  return for_each_head<rule>(query, key, key, mask, bias, sink,
                             [](const auto& q, const auto& k, const auto&, const auto&... parts) {
                               return attention_weights<without_alibi(rule)>(q, k, parts...);
                             });
}

// What `attend` returns for each element of a batch, given its query and what the other parts are
// to it: whatever is no Batch is shared by all of them.
template <class Q, size_t N, class Attend, class... Parts>
constexpr auto for_each_element(const Attend& attend, const Batch<Q, N>& query,
                                const Parts&... parts) {
  const auto of_element = [&](size_t n) {
    return attend(query.element[n], part_of_element(parts, n)...);
  };
  Batch<decltype(of_element(0)), N> result;
  for (size_t n = 0; n < N; ++n) result.element[n] = of_element(n);
  return result;
}

template <class K, class V, class Visible, class Bias, class Sink, size_t N>
concept batch_agrees = part_is_shared_or_one_per_element_of_the_batch<K, N> &&
    part_is_shared_or_one_per_element_of_the_batch<V, N> &&
    part_is_shared_or_one_per_element_of_the_batch<Visible, N> &&
    part_is_shared_or_one_per_element_of_the_batch<Bias, N> &&
    part_is_shared_or_one_per_element_of_the_batch<Sink, N>;

// An element of a batch is a single head or Heads. A single one stands for one of Heads, so that
// both are asked the same and a compiler names what does not hold of the one that is meant.
template <class Part>
inline constexpr bool is_in_heads = false;
template <class A, size_t H>
inline constexpr bool is_in_heads<Heads<A, H>> = true;
template <class Part>
struct InHeads {
  using type = Heads<Part, 1>;
};
template <class A, size_t H>
struct InHeads<Heads<A, H>> {
  using type = Heads<A, H>;
};
template <class Q, class K, class V, class Visible, class Bias, class Sink>
inline constexpr bool in_heads_or_not =
    is_in_heads<Q> ? is_in_heads<K>&& is_in_heads<V>
                   : !(is_in_heads<K> || is_in_heads<V> || is_in_heads<Visible> ||
                       is_in_heads<Bias> || is_in_heads<Sink>);
template <class Q, class K, class V, class Visible, class Bias, class Sink>
concept query_key_and_value_are_in_heads_or_nothing_is =
    in_heads_or_not<Q, K, V, Visible, Bias, Sink>;

template <class Q, class K, class Visible, class Bias, class Sink>
concept element_can_score =
    query_key_and_value_are_in_heads_or_nothing_is<Q, K, K, Visible, Bias, Sink> &&
    can_score_in_heads < typename InHeads<Q>::type,
typename InHeads<K>::type, Visible, Bias, Sink > ;
template <class Q, class K, class V, class Visible, class Bias, class Sink>
concept element_can_attend =
    query_key_and_value_are_in_heads_or_nothing_is<Q, K, V, Visible, Bias, Sink> &&
    can_attend_in_heads < typename InHeads<Q>::type,
typename InHeads<K>::type, typename InHeads<V>::type, Visible, Bias, Sink > ;

// What attention in a batch asks of its arguments.
template <class Q, class K, class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
concept can_score_in_batch = batch_agrees<K, K, Visible, Bias, Sink, Q::elements> &&
                             element_can_score < typename PartOfElement<Q>::type,
typename PartOfElement<K>::type, typename PartOfElement<Visible>::type,
    typename PartOfElement<Bias>::type, typename PartOfElement<Sink>::type > ;
template <class Q, class K, class V, class Visible = Everything, class Bias = NoBias,
          class Sink = NoSink>
concept can_attend_in_batch = batch_agrees<K, V, Visible, Bias, Sink, Q::elements> &&
                              element_can_attend < typename PartOfElement<Q>::type,
typename PartOfElement<K>::type, typename PartOfElement<V>::type,
    typename PartOfElement<Visible>::type, typename PartOfElement<Bias>::type,
    typename PartOfElement<Sink>::type > ;

// Element n of the output is the attention of element n.
template <Rule rule = Rule{}, class Q, size_t N, class K, class V, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires can_attend_in_batch<Batch<Q, N>, K, V, Visible, Bias, Sink>
constexpr auto attention(const Batch<Q, N>& query, const K& key, const V& value,
                         const Visible& mask = {}, const Bias& bias = {}, const Sink& sink = {}) {
  return for_each_element([](const auto&... parts) { return attention<rule>(parts...); }, query,
                          key, value, mask, bias, sink);
}

template <Rule rule = Rule{}, class Q, size_t N, class K, class V, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires can_attend_in_batch<Batch<Q, N>, K, V, Visible, Bias, Sink>
constexpr auto attention_with_log_sum_exp(const Batch<Q, N>& query, const K& key, const V& value,
                                          const Visible& mask = {}, const Bias& bias = {},
                                          const Sink& sink = {}) {
  return for_each_element(
      [](const auto&... parts) { return attention_with_log_sum_exp<rule>(parts...); }, query, key,
      value, mask, bias, sink);
}

template <Rule rule = Rule{}, class Q, size_t N, class K, class Bias = NoBias>
requires can_score_in_batch<Batch<Q, N>, K, Everything, Bias>
constexpr auto attention_scores(const Batch<Q, N>& query, const K& key, const Bias& bias = {}) {
  return for_each_element([](const auto&... parts) { return attention_scores<rule>(parts...); },
                          query, key, bias);
}

template <Rule rule = Rule{}, class Q, size_t N, class K, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires can_score_in_batch<Batch<Q, N>, K, Visible, Bias, Sink>
constexpr auto attention_weights(const Batch<Q, N>& query, const K& key, const Visible& mask = {},
                                 const Bias& bias = {}, const Sink& sink = {}) {
  return for_each_element([](const auto&... parts) { return attention_weights<rule>(parts...); },
                          query, key, mask, bias, sink);
}

template <size_t Width, size_t H>
concept width_is_a_multiple_of_the_number_of_heads = H >
0 && Width % H == 0;

// Head h of H takes columns h·D … h·D + D − 1 of every row, D the width of a head: entry d of head
// h stands in column h·D + d.
template <size_t H, class T, size_t R, size_t C>
requires width_is_a_multiple_of_the_number_of_heads<C, H>
constexpr Heads<Matrix<T, R, C / H>, H> split_heads(const Matrix<T, R, C>& joined) {
  constexpr size_t width = C / H;
  Heads<Matrix<T, R, width>, H> split;
  for (size_t h = 0; h < H; ++h)
    for (size_t i = 0; i < R; ++i)
      for (size_t d = 0; d < width; ++d)
        split.head[h].entries[i][d] = joined.entries[i][h * width + d];
  return split;
}
// Query, Key and Value keep their role.
template <size_t H, template <class, size_t, size_t> class Role, class T, size_t R, size_t C>
requires width_is_a_multiple_of_the_number_of_heads<C, H>
constexpr Heads<Role<T, R, C / H>, H> split_heads(const Role<T, R, C>& joined) {
  const auto matrices = split_heads<H>(joined.matrix);
  Heads<Role<T, R, C / H>, H> split;
  for (size_t h = 0; h < H; ++h) split.head[h].matrix = matrices.head[h];
  return split;
}

// The inverse: the outputs of all heads of a token in one row.
template <class T, size_t R, size_t D, size_t H>
constexpr Matrix<T, R, H * D> join_heads(const Heads<Matrix<T, R, D>, H>& split) {
  Matrix<T, R, H * D> joined;
  for (size_t h = 0; h < H; ++h)
    for (size_t i = 0; i < R; ++i)
      for (size_t d = 0; d < D; ++d) joined.entries[i][h * D + d] = split.head[h].entries[i][d];
  return joined;
}

}  // namespace attest
