// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Keys and values of the tokens so far, in memory of a fixed size: attention one token at a time,
// or several, gives the bits it gives to the whole sequence.
#pragma once
#include <attest/attention.hpp>
#include <attest/heads.hpp>
#include <attest/selection.hpp>
#include <attest/streaming.hpp>

namespace attest {

// Keys and values of one head, with room for Capacity tokens, of which the first `length` are
// there. An aggregate without pointers: it may live in static memory, be copied and be saved.
template <class T, size_t Capacity, size_t D, size_t Dv>
struct KeyValueCache {
  using key_type = Key<T, Capacity, D>;
  using value_type = Value<T, Capacity, Dv>;
  using number_type = T;
  static constexpr bool rolls = false;
  static constexpr size_t slots = Capacity;

  key_type key;
  value_type value;
  size_t length = 0;

  constexpr bool has_room_for(size_t tokens) const { return tokens <= Capacity - length; }

  // All of these tokens, or, where there is not room for all, none of them, and false.
  template <size_t N>
  [[nodiscard]] constexpr bool append(const Key<T, N, D>& keys, const Value<T, N, Dv>& values) {
    if (!has_room_for(N)) return false;
    for (size_t n = 0; n < N; ++n) (void)append(keys.matrix.entries[n], values.matrix.entries[n]);
    return true;
  }
  [[nodiscard]] constexpr bool append(const T (&key_row)[D], const T (&value_row)[Dv]) {
    if (!has_room_for(1)) return false;
    for (size_t t = 0; t < D; ++t) key.matrix.entries[length][t] = key_row[t];
    for (size_t t = 0; t < Dv; ++t) value.matrix.entries[length][t] = value_row[t];
    ++length;
    return true;
  }

  constexpr size_t held() const { return length; }
};

// The keys and values of the last W tokens, each in the place of the one W tokens before: what a
// window of W − 1 keys to the left and the token itself needs, however long the sequence. `length`
// is how many there have been, once there are 2W less a multiple of W, so that it never wraps.
template <class T, size_t W, size_t D, size_t Dv>
struct RollingKeyValueCache {
  using key_type = Key<T, W, D>;
  using value_type = Value<T, W, Dv>;
  using number_type = T;
  static constexpr bool rolls = true;
  static constexpr size_t slots = W;

  key_type key;
  value_type value;
  size_t length = 0;

  template <size_t N>
  constexpr void append(const Key<T, N, D>& keys, const Value<T, N, Dv>& values) {
    for (size_t n = 0; n < N; ++n) append(keys.matrix.entries[n], values.matrix.entries[n]);
  }
  constexpr void append(const T (&key_row)[D], const T (&value_row)[Dv]) {
    const size_t place = next_row();
    for (size_t t = 0; t < D; ++t) key.matrix.entries[place][t] = key_row[t];
    for (size_t t = 0; t < Dv; ++t) value.matrix.entries[place][t] = value_row[t];
    length = length + 1 < 2 * W ? length + 1 : W;
  }

  constexpr size_t held() const { return length < W ? length : W; }
  // For the next token: that of the oldest, once the ring is full.
  constexpr size_t next_row() const { return length < W ? length : length - W; }
};

template <class A>
inline constexpr bool is_cache = false;
template <class T, size_t Capacity, size_t D, size_t Dv>
inline constexpr bool is_cache<KeyValueCache<T, Capacity, D, Dv>> = true;
template <class T, size_t W, size_t D, size_t Dv>
inline constexpr bool is_cache<RollingKeyValueCache<T, W, D, Dv>> = true;

template <class A>
concept second_argument_is_a_cache = is_cache<A>;

// What has been overwritten is neither seen nor counted: no key further back than the window of the
// oldest query, not those that a softcap after the mask counts although they are hidden, and not
// the mean of all values.
template <class Cache, Rule rule, size_t Queries>
concept rolling_cache_holds_the_window_of_every_query =
    !Cache::rolls ||
    (rule.window_left >= 0 && static_cast<long>(Queries) + rule.window_left - rule.offset <=
                                  static_cast<long>(Cache::key_type::rows));
template <class Cache, Rule rule>
concept rolling_cache_needs_no_overwritten_key =
    !Cache::rolls || (!hidden_keys_have_scores<rule> && empty_rows_are_known_without_values<rule>);

template <Rule rule, class Q, class Cache, class Visible = Everything, class Bias = NoBias,
          class Sink = NoSink>
concept can_attend_to_cache = second_argument_is_a_cache<Cache> &&
    can_attend<Q, typename Cache::key_type, typename Cache::value_type, Visible, Bias, Sink> &&
    rolling_cache_holds_the_window_of_every_query<Cache, rule, Q::rows> &&
    rolling_cache_needs_no_overwritten_key<Cache, rule>;
template <Rule rule, class Q, class Cache, class Visible = Everything, class Bias = NoBias,
          class Sink = NoSink>
concept can_attend_to_caches =
    heads_agree<Q, Cache, Visible, Bias, Sink> && can_attend_to_cache < rule,
        typename Q::head_type, typename Cache::head_type, typename PartOfHead<Visible>::type,
typename PartOfHead<Bias>::type, typename PartOfHead<Sink>::type > ;

// The tokens of a cache in the order in which they came: a selection (selection.hpp). That the
// oldest of a ring moves to slot 0 costs no bit: softmax pairs its summands by their distance, 32,
// 16, … 1, so that moving all of them changes at most which of two is the first.
struct TokensHeld {
  size_t held, oldest_row, rows;

  constexpr bool filled(size_t slot) const { return slot < held; }
  constexpr size_t row(size_t slot) const {
    const size_t place = oldest_row + slot;
    return place < rows ? place : place - rows;
  }
  constexpr size_t key(size_t slot) const { return slot; }
  constexpr size_t filled_slots(size_t) const { return held; }
};
template <class T, size_t Capacity, size_t D, size_t Dv>
constexpr TokensHeld tokens_of(const KeyValueCache<T, Capacity, D, Dv>& cache) {
  return {cache.length, 0, Capacity};
}
template <class T, size_t W, size_t D, size_t Dv>
constexpr TokensHeld tokens_of(const RollingKeyValueCache<T, W, D, Dv>& cache) {
  return {cache.held(), cache.held() < W ? 0 : cache.next_row(), W};
}

// How many tokens came before the first of these queries.
template <class Cache>
constexpr long tokens_before(const Cache& cache, size_t queries) {
  return static_cast<long>(cache.held()) - static_cast<long>(queries);
}

// The output, all zeros before; keep(i, denominator) is told what the weights of row i were divided
// by.
template <Rule rule, class T, size_t Tq, size_t D, size_t Dv, class Cache, class Visible,
          class Bias, class Sink, class Keep>
constexpr void attend_to_cache(const Query<T, Tq, D>& query, const Cache& cache,
                               const Visible& mask, const Bias& given_bias, const Sink& sink,
                               Matrix<T, Tq, Dv>& output, const Keep& keep) {
  const auto tokens = tokens_of(cache);
  const long earlier_keys = tokens_before(cache, Tq);
  const auto& bias = bias_of_head<rule, T>(given_bias, 0, 1, earlier_keys);
  const auto& visible = visible_to_rule<rule>(mask, bias, earlier_keys);
  for (size_t i = 0; i < Tq; ++i) {
    T weight[Cache::slots]{};
    keep(i, attend_to<rule>(tokens, query.matrix.entries[i], cache.key.matrix, cache.value.matrix,
                            visible, bias, sink, i, weight, output.entries[i]));
  }
}

// The attention of the newest tokens, keys and values appended before, to all that the cache holds:
// the last query is that of the last token, and the rule's positions count from there (so that its
// offset is 0 where the whole sequence has queries and keys that start together). Equal to the last
// rows of the attention of the whole sequence to the bit; a rolling cache to that under the rule's
// window, which it must hold. Rows of queries that are older than the cache are unspecified.
//
// Column j of a mask or bias is the j-th of the tokens held, the oldest first; they have a column
// for each token there is room for.
template <Rule rule = Rule{}, class Q, class Cache, class Visible = Everything, class Bias = NoBias,
          class Sink = NoSink>
requires can_attend_to_cache<rule, Q, Cache, Visible, Bias, Sink>
constexpr auto attention(const Q& query, const Cache& cache, const Visible& mask = {},
                         const Bias& bias = {}, const Sink& sink = {}) {
  using T = typename Q::value_type;
  Matrix<T, Q::rows, Cache::value_type::columns> output;
  attend_to_cache<rule>(query, cache, mask, bias, sink, output, [](size_t, const auto&) {});
  return output;
}

template <Rule rule = Rule{}, class Q, class Cache, class Visible = Everything, class Bias = NoBias,
          class Sink = NoSink>
requires can_attend_to_cache<rule, Q, Cache, Visible, Bias, Sink> &&
    number_type_has_a_logarithm<typename Q::value_type>
constexpr auto attention_with_log_sum_exp(const Q& query, const Cache& cache,
                                          const Visible& mask = {}, const Bias& bias = {},
                                          const Sink& sink = {}) {
  using T = typename Q::value_type;
  OutputAndLogSumExp<T, Q::rows, Cache::value_type::columns> result;
  attend_to_cache<rule>(query, cache, mask, bias, sink, result.output,
                        [&](size_t i, const SoftmaxDenominator<T>& denominator) {
                          result.log_sum_exp[i] = log_sum_exp<rule>(denominator);
                        });
  return result;
}

// In heads, a cache for each key/value head.
template <Rule rule, class Q, size_t Hq, class Cache, size_t Hk, class Visible, class Bias,
          class Sink, class Attend>
constexpr auto for_each_head(const Heads<Q, Hq>& query, const Heads<Cache, Hk>& cache,
                             const Visible& mask, const Bias& bias, const Sink& sink,
                             const Attend& attend) {
  return for_each_query_head<rule, Hq, Hk>([&](size_t h, size_t read) {
    return attend(query.head[h], cache.head[read], part_of_head(mask, h),
                  bias_of_head<rule, typename Q::value_type>(
                      part_of_head(bias, h), h, Hq, tokens_before(cache.head[read], Q::rows)),
                  part_of_head(sink, h));
  });
}
template <Rule rule = Rule{}, class Q, size_t Hq, class Cache, size_t Hk,
          class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
requires can_attend_to_caches<rule, Heads<Q, Hq>, Heads<Cache, Hk>, Visible, Bias, Sink>
constexpr auto attention(const Heads<Q, Hq>& query, const Heads<Cache, Hk>& cache,
                         const Visible& mask = {}, const Bias& bias = {}, const Sink& sink = {}) {
  return for_each_head<rule>(query, cache, mask, bias, sink, [](const auto&... parts) {
    return attention<without_alibi(rule)>(parts...);
  });
}
template <Rule rule = Rule{}, class Q, size_t Hq, class Cache, size_t Hk,
          class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
requires can_attend_to_caches<rule, Heads<Q, Hq>, Heads<Cache, Hk>, Visible, Bias, Sink> &&
    number_type_has_a_logarithm<typename Q::value_type>
constexpr auto attention_with_log_sum_exp(const Heads<Q, Hq>& query, const Heads<Cache, Hk>& cache,
                                          const Visible& mask = {}, const Bias& bias = {},
                                          const Sink& sink = {}) {
  return for_each_head<rule>(query, cache, mask, bias, sink, [](const auto&... parts) {
    return attention_with_log_sum_exp<without_alibi(rule)>(parts...);
  });
}

// In a batch, a cache for each sequence, or one for each of its key/value heads; or one that all
// share. Each sequence grows on its own: append is to the cache of one element.
template <Rule rule, class Q, class Cache, class Visible, class Bias, class Sink>
concept element_can_attend_to_cache =
    query_key_and_value_are_in_heads_or_nothing_is<Q, Cache, Cache, Visible, Bias, Sink> &&
    can_attend_to_caches < rule,
        typename InHeads<Q>::type,
typename InHeads<Cache>::type, Visible, Bias, Sink > ;
template <Rule rule, class Q, class Cache, class Visible = Everything, class Bias = NoBias,
          class Sink = NoSink>
concept can_attend_to_caches_in_batch =
    batch_agrees<Cache, Cache, Visible, Bias, Sink, Q::elements> &&
    element_can_attend_to_cache < rule,
        typename PartOfElement<Q>::type,
typename PartOfElement<Cache>::type, typename PartOfElement<Visible>::type,
    typename PartOfElement<Bias>::type, typename PartOfElement<Sink>::type > ;
template <Rule rule = Rule{}, class Q, size_t N, class Cache, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires can_attend_to_caches_in_batch<rule, Batch<Q, N>, Cache, Visible, Bias, Sink>
constexpr auto attention(const Batch<Q, N>& query, const Cache& cache, const Visible& mask = {},
                         const Bias& bias = {}, const Sink& sink = {}) {
  return for_each_element([](const auto&... parts) { return attention<rule>(parts...); }, query,
                          cache, mask, bias, sink);
}
template <Rule rule = Rule{}, class Q, size_t N, class Cache, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires can_attend_to_caches_in_batch<rule, Batch<Q, N>, Cache, Visible, Bias, Sink>
constexpr auto attention_with_log_sum_exp(const Batch<Q, N>& query, const Cache& cache,
                                          const Visible& mask = {}, const Bias& bias = {},
                                          const Sink& sink = {}) {
  return for_each_element(
      [](const auto&... parts) { return attention_with_log_sum_exp<rule>(parts...); }, query, cache,
      mask, bias, sink);
}

// To the cache of each head its keys and values: all heads, or, where one has not the room, none.
template <class T, size_t Capacity, size_t D, size_t Dv, size_t H, size_t N>
[[nodiscard]] constexpr bool append(Heads<KeyValueCache<T, Capacity, D, Dv>, H>& caches,
                                    const Heads<Key<T, N, D>, H>& keys,
                                    const Heads<Value<T, N, Dv>, H>& values) {
  for (const auto& cache : caches.head)
    if (!cache.has_room_for(N)) return false;
  for (size_t h = 0; h < H; ++h) (void)caches.head[h].append(keys.head[h], values.head[h]);
  return true;
}
template <class T, size_t W, size_t D, size_t Dv, size_t H, size_t N>
constexpr void append(Heads<RollingKeyValueCache<T, W, D, Dv>, H>& caches,
                      const Heads<Key<T, N, D>, H>& keys, const Heads<Value<T, N, Dv>, H>& values) {
  for (size_t h = 0; h < H; ++h) caches.head[h].append(keys.head[h], values.head[h]);
}

}  // namespace attest
