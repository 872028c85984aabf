// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What attention costs, known before it runs: how many operations it performs and how many bytes it
// needs, whole, in heads, in tiles or from a cache.
#pragma once
#include <attest/attention.hpp>
#include <attest/cache.hpp>
#include <attest/heads.hpp>
#include <attest/mask.hpp>
#include <attest/matrix.hpp>
#include <attest/streaming.hpp>

namespace attest {

struct Cost {
  size_t multiplications = 0;
  size_t additions = 0;  // and subtractions
  size_t exponentials = 0;
  size_t divisions = 0;
  size_t hyperbolic_tangents = 0;  // of a softcap
  size_t score_matrix_bytes = 0;   // what attention_scores and attention_weights return
  size_t scratch_bytes = 0;        // what attention keeps instead: the scores of some queries
  size_t state_bytes = 0;          // what stays from one tile or token to the next

  friend constexpr bool operator==(const Cost&, const Cost&) = default;
};

// One after the other: operations and matrices add up, scratch is used again.
constexpr Cost operator+(const Cost& a, const Cost& b) {
  return {.multiplications = a.multiplications + b.multiplications,
          .additions = a.additions + b.additions,
          .exponentials = a.exponentials + b.exponentials,
          .divisions = a.divisions + b.divisions,
          .hyperbolic_tangents = a.hyperbolic_tangents + b.hyperbolic_tangents,
          .score_matrix_bytes = a.score_matrix_bytes + b.score_matrix_bytes,
          .scratch_bytes = a.scratch_bytes < b.scratch_bytes ? b.scratch_bytes : a.scratch_bytes,
          .state_bytes = a.state_bytes + b.state_bytes};
}
constexpr Cost times(size_t n, const Cost& a) {
  return {.multiplications = n * a.multiplications,
          .additions = n * a.additions,
          .exponentials = n * a.exponentials,
          .divisions = n * a.divisions,
          .hyperbolic_tangents = n * a.hyperbolic_tangents,
          .score_matrix_bytes = n * a.score_matrix_bytes,
          .scratch_bytes = n > 0 ? a.scratch_bytes : 0,
          .state_bytes = n * a.state_bytes};
}

constexpr Cost with_state(Cost cost, size_t state_bytes) {
  cost.state_bytes = state_bytes;
  return cost;
}

// How many of the keys begin … end − 1 a query sees, and how many stand between the first and the
// last of them, those two included.
struct Seen {
  size_t keys = 0;
  size_t span = 0;
};
template <class Visible>
constexpr Seen seen_by(const Visible& visible, size_t i, size_t begin, size_t end) {
  Seen seen;
  size_t first = begin;
  for (size_t j = begin; j < end; ++j)
    if (sees(visible, i, j)) {
      if (seen.keys++ == 0) first = j;
      seen.span = j + 1 - first;
    }
  return seen;
}
constexpr Seen seen_by(const Everything&, size_t, size_t begin, size_t end) {
  return {.keys = end - begin, .span = end - begin};
}

// One score: a dot product and its scaling, or the scaling of query and key; a softcap's quotient,
// hyperbolic tangent and product; the sum with a bias. What the bias itself computes is not
// counted, nor are the multiplications of ALiBi.
template <Rule rule>
constexpr Cost cost_of_score(size_t width, bool biased) {
  const size_t capped = rule.softcap != 0 ? 1 : 0;
  return {.multiplications = (rule.scale_by_square_roots ? 3 * width : width + 1) + capped,
          .additions = width + (biased || rule.alibi ? 1 : 0),
          .divisions = capped,
          .hyperbolic_tangents = capped};
}

// One query and the keys begin … end − 1, whose weights stand in a row of `slots`: softmax does one
// subtraction, one exponential and one division for each key from the first it counts to the last,
// and a sum over all slots; the values of all keys counted are weighed. (Of floats, up to 31 hidden
// neighbours on either side have their exponentials computed along (softmax.hpp), which are not
// counted.)
template <Rule rule>
constexpr Cost cost_of_keys(const Cost& score, size_t value_width, size_t slots,
                            const auto& visible, size_t i, size_t begin, size_t end) {
  const Seen seen = seen_by(visible, i, begin, end);
  const Seen counted = seen_by(counted_by_softmax<rule>(visible), i, begin, end);
  const size_t weighed = counted.keys * value_width;
  return times(seen.keys, score) +
         Cost{.multiplications = weighed,
              .additions = weighed + counted.span + (counted.keys > 0 ? slots - 1 : 0),
              .exponentials = counted.span,
              .divisions = counted.span};
}

// A row of zeros costs nothing; NaN, or the share 1/n of n keys, a constant, times each value does.
template <Rule rule>
constexpr Cost cost_of_empty_row(size_t keys, size_t value_width) {
  const bool weighs = rule.empty_row == EmptyRow::mean || rule.empty_row == EmptyRow::nan;
  const size_t weighed = weighs ? keys * value_width : 0;
  return {.multiplications = weighed, .additions = weighed};
}

// The query's keys in one row, with the sink's exponential and its way into the sum.
template <Rule rule, class Sink>
constexpr Cost cost_of_row(const Cost& score, size_t value_width, size_t slots, const auto& visible,
                           size_t i, size_t keys) {
  const Cost row = cost_of_keys<rule>(score, value_width, slots, visible, i, 0, keys);
  if (row.exponentials > 0)
    return row +
           Cost{.additions = has_score<Sink> ? 2u : 0u, .exponentials = has_score<Sink> ? 1u : 0u};
  return has_score<Sink> ? Cost{} : cost_of_empty_row<rule>(keys, value_width);
}

// A row of scores for each query that is met at once, and where those are several, the keys
// transposed (rows.hpp).
template <Rule rule, class Q, class K>
inline constexpr size_t scratch_numbers = [] {
  constexpr size_t together = queries_together<rule, typename Q::value_type, Q::rows>;
  return together * K::rows + (together > 1 ? K::rows * K::columns : 0);
}();

template <class Bias>
inline constexpr bool is_biased = !is_same_type<Bias, NoBias>;

// The cost of attention<rule>(query, key, value, mask, bias, sink), exactly. Where visible keys are
// neighbours, as with causal, no hidden key costs an exponential. In vectors more products are made
// than are used: those with the neighbours that fill up a vector, and with keys hidden from one
// query but not from the next.
template <Rule rule, class Q, class K, class V, class Visible, class Bias, class Sink>
constexpr Cost cost_of_attention(const Visible& mask, const Bias& bias) {
  constexpr size_t bytes = sizeof(typename Q::value_type);
  const auto& visible = visible_to_rule<without_alibi(rule)>(mask, bias);
  Cost cost;
  for (size_t i = 0; i < Q::rows; ++i)
    cost = cost + cost_of_row<rule, Sink>(cost_of_score<rule>(Q::columns, is_biased<Bias>),
                                          V::columns, K::rows, visible, i, K::rows);
  cost.score_matrix_bytes = Q::rows * K::rows * bytes;
  cost.scratch_bytes = scratch_numbers<rule, Q, K> * bytes;
  return cost;
}
template <Rule rule = Rule{}, class Q, class K, class V, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires can_attend<Q, K, V, Visible, Bias, Sink>
constexpr Cost attention_cost(const Q&, const K&, const V&, const Visible& mask = {},
                              const Bias& bias = {}, const Sink& = {}) {
  return cost_of_attention<rule, Q, K, V, Visible, Bias, Sink>(mask, bias);
}

// Two partial results of a row become one: an exponential and a product rescale a total, two
// quotients weigh the means.
constexpr Cost cost_of_merge(size_t value_width) {
  return {.multiplications = 1 + 2 * value_width,
          .additions = 2 + value_width,
          .exponentials = 1,
          .divisions = 2};
}

// The cost of streaming_attention<tile, rule>(query, key, value, mask, bias, sink), exactly. A tile
// that holds no key for a query costs it no merge, nor does the first that does. Scratch: the
// scores of one query and tile, and the mean of their values; state: what the query has of the
// tiles before, of which the mean stands in the output.
template <size_t tile, Rule rule, class Q, class K, class V, class Visible, class Bias, class Sink>
constexpr Cost cost_of_streaming(const Visible& mask, const Bias& bias) {
  using T = typename Q::value_type;
  constexpr size_t keys_of_a_tile = tile < K::rows ? tile : K::rows;
  const Cost score = cost_of_score<rule>(Q::columns, is_biased<Bias>);
  const auto& visible = visible_to_rule<without_alibi(rule)>(mask, bias);
  Cost cost;
  for (size_t i = 0; i < Q::rows; ++i) {
    size_t partial_results = has_score<Sink> ? 1 : 0;
    for (size_t begin = 0; begin < K::rows; begin += keys_of_a_tile) {
      const size_t left = K::rows - begin;
      const size_t keys = left < keys_of_a_tile ? left : keys_of_a_tile;
      const Cost of_tile =
          cost_of_keys<rule>(score, V::columns, keys, visible, i, begin, begin + keys);
      if (of_tile.exponentials > 0) ++partial_results;
      cost = cost + of_tile;
    }
    if (partial_results > 0)
      cost = cost + times(partial_results - 1, cost_of_merge(V::columns));
    else if (rule.empty_row == EmptyRow::mean)
      cost = cost + cost_of_empty_row<rule>(K::rows, V::columns);
  }
  cost.score_matrix_bytes = Q::rows * K::rows * sizeof(T);
  cost.scratch_bytes = (keys_of_a_tile + V::columns) * sizeof(T);
  cost.state_bytes = sizeof(PartialAttention<T, 1, V::columns>);
  return cost;
}
template <size_t tile, Rule rule = Rule{}, class Q, class K, class V, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires a_tile_holds_a_key<tile> && can_attend<Q, K, V, Visible, Bias, Sink>
constexpr Cost streaming_attention_cost(const Q&, const K&, const V&, const Visible& mask = {},
                                        const Bias& bias = {}, const Sink& = {}) {
  return cost_of_streaming<tile, rule, Q, K, V, Visible, Bias, Sink>(mask, bias);
}

// The cost of attention<rule>(query, cache, mask, bias, sink) once the cache holds `held` tokens.
// State: the cache.
template <Rule rule, class Q, class Cache, class Visible, class Bias, class Sink>
constexpr Cost cost_from_cache(size_t held, const Visible& mask, const Bias& bias) {
  constexpr size_t bytes = sizeof(typename Q::value_type), dv = Cache::value_type::columns;
  const long earlier_keys = static_cast<long>(held) - static_cast<long>(Q::rows);
  const auto& visible = visible_to_rule<without_alibi(rule)>(mask, bias, earlier_keys);
  Cost cost;
  for (size_t i = 0; i < Q::rows; ++i)
    cost = cost + cost_of_row<rule, Sink>(cost_of_score<rule>(Q::columns, is_biased<Bias>), dv,
                                          Cache::slots, visible, i, held);
  cost.score_matrix_bytes = Q::rows * held * bytes;
  cost.scratch_bytes = Cache::slots * bytes;
  cost.state_bytes = sizeof(Cache);
  return cost;
}
template <Rule rule = Rule{}, class Q, class Cache, class Visible = Everything, class Bias = NoBias,
          class Sink = NoSink>
requires can_attend_to_cache<rule, Q, Cache, Visible, Bias, Sink>
constexpr Cost attention_cost(const Q&, const Cache& cache, const Visible& mask = {},
                              const Bias& bias = {}, const Sink& = {}) {
  return cost_from_cache<rule, Q, Cache, Visible, Bias, Sink>(cache.held(), mask, bias);
}

// Of heads and of a batch: the sum of all. They are met one after the other: the state of a tile is
// that of one, that of a cache is all caches.
template <size_t N>
constexpr Cost sum_of(const Cost (&costs)[N]) {
  Cost sum;
  for (const Cost& cost : costs) sum = sum + cost;
  return sum;
}
template <Rule rule = Rule{}, class Q, size_t Hq, class K, size_t Hk, class V, size_t Hv,
          class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
requires can_attend_in_heads<Heads<Q, Hq>, Heads<K, Hk>, Heads<V, Hv>, Visible, Bias, Sink>
constexpr Cost attention_cost(const Heads<Q, Hq>& query, const Heads<K, Hk>& key,
                              const Heads<V, Hv>& value, const Visible& mask = {},
                              const Bias& bias = {}, const Sink& sink = {}) {
  const auto of_heads = for_each_head<rule>(
      query, key, value, mask, bias, sink,
      [](const auto&... parts) { return attention_cost<without_alibi(rule)>(parts...); });
  return sum_of(of_heads.head);
}
template <size_t tile, Rule rule = Rule{}, class Q, size_t Hq, class K, size_t Hk, class V,
          size_t Hv, class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
requires a_tile_holds_a_key<tile> &&
    can_attend_in_heads<Heads<Q, Hq>, Heads<K, Hk>, Heads<V, Hv>, Visible, Bias, Sink>
constexpr Cost streaming_attention_cost(const Heads<Q, Hq>& query, const Heads<K, Hk>& key,
                                        const Heads<V, Hv>& value, const Visible& mask = {},
                                        const Bias& bias = {}, const Sink& sink = {}) {
  const auto of_heads =
      for_each_head<rule>(query, key, value, mask, bias, sink, [](const auto&... parts) {
        return streaming_attention_cost<tile, without_alibi(rule)>(parts...);
      });
  return with_state(sum_of(of_heads.head), of_heads.head[0].state_bytes);
}
template <Rule rule = Rule{}, class Q, size_t Hq, class Cache, size_t Hk,
          class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
requires can_attend_to_caches<rule, Heads<Q, Hq>, Heads<Cache, Hk>, Visible, Bias, Sink>
constexpr Cost attention_cost(const Heads<Q, Hq>& query, const Heads<Cache, Hk>& cache,
                              const Visible& mask = {}, const Bias& bias = {},
                              const Sink& sink = {}) {
  const auto of_heads = for_each_head<rule>(
      query, cache, mask, bias, sink,
      [](const auto&... parts) { return attention_cost<without_alibi(rule)>(parts...); });
  return with_state(sum_of(of_heads.head), sizeof(cache));
}

template <Rule rule = Rule{}, class Q, size_t N, class K, class V, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires can_attend_in_batch<Batch<Q, N>, K, V, Visible, Bias, Sink>
constexpr Cost attention_cost(const Batch<Q, N>& query, const K& key, const V& value,
                              const Visible& mask = {}, const Bias& bias = {},
                              const Sink& sink = {}) {
  const auto of_elements =
      for_each_element([](const auto&... parts) { return attention_cost<rule>(parts...); }, query,
                       key, value, mask, bias, sink);
  return sum_of(of_elements.element);
}
template <size_t tile, Rule rule = Rule{}, class Q, size_t N, class K, class V,
          class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
requires a_tile_holds_a_key<tile> && can_attend_in_batch<Batch<Q, N>, K, V, Visible, Bias, Sink>
constexpr Cost streaming_attention_cost(const Batch<Q, N>& query, const K& key, const V& value,
                                        const Visible& mask = {}, const Bias& bias = {},
                                        const Sink& sink = {}) {
  const auto of_elements = for_each_element(
      [](const auto&... parts) { return streaming_attention_cost<tile, rule>(parts...); }, query,
      key, value, mask, bias, sink);
  return with_state(sum_of(of_elements.element), of_elements.element[0].state_bytes);
}
template <Rule rule = Rule{}, class Q, size_t N, class Cache, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires can_attend_to_caches_in_batch<rule, Batch<Q, N>, Cache, Visible, Bias, Sink>
constexpr Cost attention_cost(const Batch<Q, N>& query, const Cache& cache,
                              const Visible& mask = {}, const Bias& bias = {},
                              const Sink& sink = {}) {
  const auto of_elements =
      for_each_element([](const auto&... parts) { return attention_cost<rule>(parts...); }, query,
                       cache, mask, bias, sink);
  return with_state(sum_of(of_elements.element), sizeof(cache));
}

// The same by types alone, before there is a query: cost_of<rule, Query<…>, Key<…>, Value<…>> and,
// if need be, types of mask, bias and sink; cost_of<rule, Query<…>, KeyValueCache<…>>, the cost of
// the longest step, when the cache is full; Heads of them, and Batches of either. A bias that is a
// matrix has no −∞ here.
template <Rule rule, class... Parts>
struct CostOf;
template <Rule rule, class Q, class K, class V, class Visible, class Bias, class Sink>
struct CostOf<rule, Q, K, V, Visible, Bias, Sink> {
  static_assert(can_attend<Q, K, V, Visible, Bias, Sink>);
  static constexpr Cost cost =
      cost_of_attention<rule, Q, K, V, Visible, Bias, Sink>(Visible{}, Bias{});
};
template <Rule rule, class Q, size_t Hq, class K, size_t Hk, class V, size_t Hv, class Visible,
          class Bias, class Sink>
struct CostOf<rule, Heads<Q, Hq>, Heads<K, Hk>, Heads<V, Hv>, Visible, Bias, Sink> {
  static_assert(can_attend_in_heads<Heads<Q, Hq>, Heads<K, Hk>, Heads<V, Hv>, Visible, Bias, Sink>);
  static constexpr Cost cost =
      times(Hq, CostOf<rule, Q, K, V, typename PartOfHead<Visible>::type,
                       typename PartOfHead<Bias>::type, typename PartOfHead<Sink>::type>::cost);
};
template <Rule rule, class Q, size_t N, class K, class V, class Visible, class Bias, class Sink>
struct CostOf<rule, Batch<Q, N>, K, V, Visible, Bias, Sink> {
  static_assert(can_attend_in_batch<Batch<Q, N>, K, V, Visible, Bias, Sink>);
  static constexpr Cost cost =
      times(N, CostOf<rule, Q, typename PartOfElement<K>::type, typename PartOfElement<V>::type,
                      typename PartOfElement<Visible>::type, typename PartOfElement<Bias>::type,
                      typename PartOfElement<Sink>::type>::cost);
};
template <Rule rule, class Q, class K, class V>
struct CostOf<rule, Q, K, V> : CostOf<rule, Q, K, V, Everything, NoBias, NoSink> {};
template <Rule rule, class Q, class Cache>
requires can_attend_to_cache<rule, Q, Cache>
struct CostOf<rule, Q, Cache> {
  static constexpr Cost cost = cost_from_cache<rule, Q, Cache, Everything, NoBias, NoSink>(
      Cache::key_type::rows, everything, no_bias);
};
// What query heads or sequences share is there once.
template <Rule rule, class Q, size_t Hq, class Cache, size_t Hk>
requires can_attend_to_caches<rule, Heads<Q, Hq>, Heads<Cache, Hk>>
struct CostOf<rule, Heads<Q, Hq>, Heads<Cache, Hk>> {
  static constexpr Cost cost =
      with_state(times(Hq, CostOf<rule, Q, Cache>::cost), sizeof(Heads<Cache, Hk>));
};
template <Rule rule, class Q, size_t N, class Cache>
requires can_attend_to_caches_in_batch<rule, Batch<Q, N>, Cache>
struct CostOf<rule, Batch<Q, N>, Cache> {
  static constexpr Cost cost = with_state(
      times(N, CostOf<rule, Q, typename PartOfElement<Cache>::type>::cost), sizeof(Cache));
};
template <Rule rule, class... Parts>
inline constexpr Cost cost_of = CostOf<rule, Parts...>::cost;

// Of streaming_attention, with a head or an element of a batch for each.
template <size_t tile, Rule rule, class Q, class K, class V, class Visible, class Bias, class Sink>
struct StreamingCostOf {
  static_assert(can_attend<Q, K, V, Visible, Bias, Sink>);
  static constexpr Cost cost =
      cost_of_streaming<tile, rule, Q, K, V, Visible, Bias, Sink>(Visible{}, Bias{});
};
template <size_t tile, Rule rule, class Q, size_t Hq, class K, size_t Hk, class V, size_t Hv,
          class Visible, class Bias, class Sink>
struct StreamingCostOf<tile, rule, Heads<Q, Hq>, Heads<K, Hk>, Heads<V, Hv>, Visible, Bias, Sink> {
  static_assert(can_attend_in_heads<Heads<Q, Hq>, Heads<K, Hk>, Heads<V, Hv>, Visible, Bias, Sink>);
  static constexpr Cost one =
      StreamingCostOf<tile, rule, Q, K, V, typename PartOfHead<Visible>::type,
                      typename PartOfHead<Bias>::type, typename PartOfHead<Sink>::type>::cost;
  static constexpr Cost cost = with_state(times(Hq, one), one.state_bytes);
};
template <size_t tile, Rule rule, class Q, size_t N, class K, class V, class Visible, class Bias,
          class Sink>
struct StreamingCostOf<tile, rule, Batch<Q, N>, K, V, Visible, Bias, Sink> {
  static_assert(can_attend_in_batch<Batch<Q, N>, K, V, Visible, Bias, Sink>);
  static constexpr Cost one =
      StreamingCostOf<tile, rule, Q, typename PartOfElement<K>::type,
                      typename PartOfElement<V>::type, typename PartOfElement<Visible>::type,
                      typename PartOfElement<Bias>::type, typename PartOfElement<Sink>::type>::cost;
  static constexpr Cost cost = with_state(times(N, one), one.state_bytes);
};
template <size_t tile, Rule rule, class Q, class K, class V, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires a_tile_holds_a_key<tile>
inline constexpr Cost streaming_cost_of =
    StreamingCostOf<tile, rule, Q, K, V, Visible, Bias, Sink>::cost;

}  // namespace attest
