// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Attention to a few keys at a time: partial results that merge, so that no row of all weights is
// kept.
#pragma once
#include <attest/attention.hpp>
#include <attest/count.hpp>
#include <attest/heads.hpp>
#include <attest/selection.hpp>

namespace attest {

// What each query has of the keys it has met so far: the weighted mean of their values, and what
// their weights were divided by (Milakov & Gimelshein, "Online normalizer calculation for softmax",
// 2018; Dao et al., "FlashAttention", NeurIPS 2022). All zeros of no key.
//
// The mean is kept, not the sum of weighted values that it is the quotient of: a mean stays in the
// hull of the values, so that where the exact result is finite nothing overflows on the way, as in
// attention. It costs two divisions for each merge.
template <class T, size_t Tq, size_t Dv>
struct PartialAttention {
  Matrix<T, Tq, Dv> mean;
  SoftmaxDenominator<T> denominator[Tq]{};

  friend constexpr bool operator==(const PartialAttention& a, const PartialAttention& b) {
    for (size_t i = 0; i < Tq; ++i)
      if (!(a.denominator[i].largest == b.denominator[i].largest &&
            a.denominator[i].total == b.denominator[i].total))
        return false;
    return a.mean == b.mean;
  }
};

// Two partial results of one query for disjoint keys become that of all of them, in the place of
// the first. With m the larger of the maxima m_a, m_b, t'_a = t_a·e^{m_a − m}, t'_b alike,
//   t = t'_a + t'_b,   mean = (t'_a/t)·mean_a + (t'_b/t)·mean_b.
// One of the exponentials is e^0 and is not computed. A result of no key changes nothing, and its
// maximum is not looked at: −∞ − −∞ does not happen. In exact arithmetic this is associative; it
// commutes to the bit, as + does.
template <class T, size_t Dv>
constexpr void merge_row(SoftmaxDenominator<T>& denominator, T (&mean)[Dv],
                         const SoftmaxDenominator<T>& other, const T (&other_mean)[Dv]) {
  if (other.total == T(0)) return;
  if (denominator.total == T(0)) {
    denominator = other;
    for (size_t t = 0; t < Dv; ++t) mean[t] = other_mean[t];
    return;
  }
  T kept = denominator.total, added = other.total;
  if (other.largest > denominator.largest) {
    kept = kept * exp(denominator.largest - other.largest);
    denominator.largest = other.largest;
  } else {
    added = added * exp(other.largest - denominator.largest);
  }
  denominator.total = kept + added;
  kept = kept / denominator.total;
  added = added / denominator.total;
  for (T& entry : mean) entry = kept * entry;
  axpy(added, other_mean, mean);
}

template <class T, size_t Tq, size_t Dv>
constexpr PartialAttention<T, Tq, Dv> merge(PartialAttention<T, Tq, Dv> a,
                                            const PartialAttention<T, Tq, Dv>& b) {
  for (size_t i = 0; i < Tq; ++i)
    merge_row(a.denominator[i], a.mean.entries[i], b.denominator[i], b.mean.entries[i]);
  return a;
}

// In heads and in a batch, each head and each element for itself; so it is with finish.
template <class Partial, size_t H>
constexpr Heads<Partial, H> merge(Heads<Partial, H> a, const Heads<Partial, H>& b) {
  for (size_t h = 0; h < H; ++h) a.head[h] = merge(a.head[h], b.head[h]);
  return a;
}
template <class Partial, size_t N>
constexpr Batch<Partial, N> merge(Batch<Partial, N> a, const Batch<Partial, N>& b) {
  for (size_t n = 0; n < N; ++n) a.element[n] = merge(a.element[n], b.element[n]);
  return a;
}

// A sink is one more key, of value 0.
template <class T, size_t Dv, class Sink>
constexpr void merge_sink(SoftmaxDenominator<T>& denominator, T (&mean)[Dv], const Sink& sink) {
  if constexpr (has_score<Sink>) {
    const T nothing[Dv]{};
    merge_row(denominator, mean, {sink.score, T(1)}, nothing);
  }
}

// A tile without a visible key says nothing yet of the row.
constexpr Rule with_zeros_for_empty_rows(Rule rule) {
  rule.empty_row = EmptyRow::zero;
  return rule;
}

// What the queries have of a tile of the keys. Mask and bias are those columns of the whole that
// belong to the tile; first_key is where the tile begins among the keys of the rule, whose
// causality, window and ALiBi look at positions.
template <Rule rule = Rule{}, class Q, class K, class V, class Visible = Everything,
          class Bias = NoBias>
requires can_attend<Q, K, V, Visible, Bias>
constexpr auto partial_attention(const Q& query, const K& key, const V& value, long first_key = 0,
                                 const Visible& mask = {}, const Bias& given_bias = {}) {
  using T = typename Q::value_type;
  PartialAttention<T, Q::rows, V::columns> partial;
  const auto& bias = bias_of_head<rule, T>(given_bias, 0, 1, -first_key);
  const auto& visible = visible_to_rule<rule>(mask, bias, -first_key);
  for (size_t i = 0; i < Q::rows; ++i) {
    T weight[K::rows]{};
    partial.denominator[i] = attend<with_zeros_for_empty_rows(rule)>(
        query.matrix.entries[i], key.matrix, value.matrix, visible, bias, NoSink{}, i, weight,
        partial.mean.entries[i]);
  }
  return partial;
}

// In heads and in a batch, as attention is (heads.hpp).
template <Rule rule = Rule{}, class Q, size_t Hq, class K, size_t Hk, class V, size_t Hv,
          class Visible = Everything, class Bias = NoBias>
requires can_attend_in_heads<Heads<Q, Hq>, Heads<K, Hk>, Heads<V, Hv>, Visible, Bias>
constexpr auto partial_attention(const Heads<Q, Hq>& query, const Heads<K, Hk>& key,
                                 const Heads<V, Hv>& value, long first_key = 0,
                                 const Visible& mask = {}, const Bias& bias = {}) {
  const auto of_head = [&](const auto& q, const auto& k, const auto& v, const auto& visible,
                           const auto& sloped, NoSink) {
    return partial_attention<without_alibi(rule)>(q, k, v, first_key, visible, sloped);
  };
  return for_each_head<rule>(query, key, value, mask, bias, NoSink{}, of_head, -first_key);
}
template <Rule rule = Rule{}, class Q, size_t N, class K, class V, class Visible = Everything,
          class Bias = NoBias>
requires can_attend_in_batch<Batch<Q, N>, K, V, Visible, Bias>
constexpr auto partial_attention(const Batch<Q, N>& query, const K& key, const V& value,
                                 long first_key = 0, const Visible& mask = {},
                                 const Bias& bias = {}) {
  const auto of_element = [&](const auto& q, const auto& k, const auto& v, const auto&... parts) {
    return partial_attention<rule>(q, k, v, first_key, parts...);
  };
  return for_each_element(of_element, query, key, value, mask, bias);
}

// The sink takes its share, and a row without a key is what the rule says.
template <Rule rule, class T, size_t Dv, class Sink>
constexpr void finish_row(SoftmaxDenominator<T>& denominator, T (&mean)[Dv], const Sink& sink) {
  merge_sink(denominator, mean, sink);
  if constexpr (rule.empty_row == EmptyRow::nan)
    if (denominator.total == T(0))
      for (T& entry : mean) entry = quiet_nan<T>();
}

// The mean of all values, hidden ones too, is not in a partial result.
template <Rule rule>
concept empty_rows_are_known_without_values = rule.empty_row != EmptyRow::mean;

// What attention returns once all keys are met.
template <Rule rule = Rule{}, class T, size_t Tq, size_t Dv, class Sink = NoSink>
requires empty_rows_are_known_without_values<rule>
constexpr Matrix<T, Tq, Dv> finish(PartialAttention<T, Tq, Dv> partial, const Sink& sink = {}) {
  for (size_t i = 0; i < Tq; ++i)
    finish_row<rule>(partial.denominator[i], partial.mean.entries[i], sink);
  return partial.mean;
}
template <Rule rule = Rule{}, class T, size_t Tq, size_t Dv, class Sink = NoSink>
requires empty_rows_are_known_without_values<rule> && number_type_has_a_logarithm<T>
constexpr OutputAndLogSumExp<T, Tq, Dv> finish_with_log_sum_exp(PartialAttention<T, Tq, Dv> partial,
                                                                const Sink& sink = {}) {
  OutputAndLogSumExp<T, Tq, Dv> result;
  for (size_t i = 0; i < Tq; ++i) {
    finish_row<rule>(partial.denominator[i], partial.mean.entries[i], sink);
    result.log_sum_exp[i] = log_sum_exp<rule>(partial.denominator[i]);
  }
  result.output = partial.mean;
  return result;
}
template <Rule rule = Rule{}, class T, size_t Tq, size_t Dv, size_t H, class Sink = NoSink>
requires empty_rows_are_known_without_values<rule> && sink_is_shared_or_one_per_query_head<Sink, H>
constexpr auto finish(const Heads<PartialAttention<T, Tq, Dv>, H>& partial, const Sink& sink = {}) {
  Heads<Matrix<T, Tq, Dv>, H> output;
  for (size_t h = 0; h < H; ++h)
    output.head[h] = finish<rule>(partial.head[h], part_of_head(sink, h));
  return output;
}
template <Rule rule = Rule{}, class T, size_t Tq, size_t Dv, size_t H, class Sink = NoSink>
requires empty_rows_are_known_without_values<rule> && number_type_has_a_logarithm<T> &&
    sink_is_shared_or_one_per_query_head<Sink, H>
constexpr auto finish_with_log_sum_exp(const Heads<PartialAttention<T, Tq, Dv>, H>& partial,
                                       const Sink& sink = {}) {
  Heads<OutputAndLogSumExp<T, Tq, Dv>, H> result;
  for (size_t h = 0; h < H; ++h)
    result.head[h] = finish_with_log_sum_exp<rule>(partial.head[h], part_of_head(sink, h));
  return result;
}
template <Rule rule = Rule{}, class Partial, size_t N, class Sink = NoSink>
requires empty_rows_are_known_without_values<rule> &&
    part_is_shared_or_one_per_element_of_the_batch<Sink, N>
constexpr auto finish(const Batch<Partial, N>& partial, const Sink& sink = {}) {
  return for_each_element([](const auto&... parts) { return finish<rule>(parts...); }, partial,
                          sink);
}
template <Rule rule = Rule{}, class Partial, size_t N, class Sink = NoSink>
requires empty_rows_are_known_without_values<rule> &&
    part_is_shared_or_one_per_element_of_the_batch<Sink, N>
constexpr auto finish_with_log_sum_exp(const Batch<Partial, N>& partial, const Sink& sink = {}) {
  return for_each_element(
      [](const auto&... parts) { return finish_with_log_sum_exp<rule>(parts...); }, partial, sink);
}

// One query meets the `keys` keys from `first` on.
template <size_t keys, Rule rule, class T, size_t D, size_t Tk, size_t Dv, class Visible,
          class Bias>
constexpr void meet_tile(SoftmaxDenominator<T>& denominator, T (&mean)[Dv], const T (&q)[D],
                         const Matrix<T, Tk, D>& key, const Matrix<T, Tk, Dv>& value,
                         const Visible& visible, const Bias& bias, size_t i, size_t first) {
  T weight[keys]{}, of_tile[Dv]{};
  const auto denominator_of_tile = attend_to<with_zeros_for_empty_rows(rule)>(
      Tile{first}, q, key, value, visible, bias, NoSink{}, i, weight, of_tile);
  merge_row(denominator, mean, denominator_of_tile, of_tile);
}

// One query's row of the output, all zeros before.
template <size_t tile, Rule rule, class T, size_t D, size_t Tk, size_t Dv, class Visible,
          class Bias, class Sink>
constexpr SoftmaxDenominator<T> attend_in_tiles(const T (&q)[D], const Matrix<T, Tk, D>& key,
                                                const Matrix<T, Tk, Dv>& value,
                                                const Visible& visible, const Bias& bias,
                                                const Sink& sink, size_t i, T (&output)[Dv]) {
  constexpr size_t rest = Tk % tile;
  SoftmaxDenominator<T> denominator;
  for (size_t first = 0; first + tile <= Tk; first += tile)
    meet_tile<tile, rule>(denominator, output, q, key, value, visible, bias, i, first);
  if constexpr (rest > 0)
    meet_tile<rest, rule>(denominator, output, q, key, value, visible, bias, i, Tk - rest);
  finish_row<rule>(denominator, output, sink);
  if constexpr (rule.empty_row == EmptyRow::mean)
    if (denominator.total == T(0)) {
      const T each = reciprocal_of_count<T>(Tk);
      for (const auto& v : value.entries) axpy(each, v, output);
    }
  return denominator;
}

template <size_t Tile>
concept a_tile_holds_a_key = Tile >
0;

// attention, met in tiles of `tile` keys, the last one of what is left: scratch does not grow with
// the number of keys (cost.hpp). In exact arithmetic it is attention for every tiling; a tile that
// holds all keys gives the same bits, but for a sink, which here joins last.
//
// Error of entry t of a query's output o, in the terms of attention.hpp, M the number of merges
// (tiles with a visible key, less one, and the sink), n the largest number of visible keys in a
// tile:
//   Σ_j p_j (φ_j + 2·M·u)·|v_jt − o_t| + u·((n + 3·M + 1)·Σ_j p_j |v_jt| + (n + M)·|o_t|).
// A total that a merge rescales errs by the subtraction, which is u·(m − m_a) and telescopes with
// that of the tile to u·a_j; by exp and by the product, 2·u. Both stand before the mean and in the
// new total alike, hence the centred term. The quotient, the product with the mean and the sum are
// 3·u of every value's share, the sum of the totals is u of the denominator. Underflow adds a few
// times the smallest subnormal for each visible key and each merge.
template <size_t tile, Rule rule = Rule{}, class Q, class K, class V, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires a_tile_holds_a_key<tile> && can_attend<Q, K, V, Visible, Bias, Sink>
constexpr auto streaming_attention(const Q& query, const K& key, const V& value,
                                   const Visible& mask = {}, const Bias& given_bias = {},
                                   const Sink& sink = {}) {
  using T = typename Q::value_type;
  Matrix<T, Q::rows, V::columns> output;
  const auto& bias = bias_of_head<rule, T>(given_bias, 0, 1);
  const auto& visible = visible_to_rule<rule>(mask, bias);
  for (size_t i = 0; i < Q::rows; ++i)
    attend_in_tiles<tile, rule>(query.matrix.entries[i], key.matrix, value.matrix, visible, bias,
                                sink, i, output.entries[i]);
  return output;
}

template <size_t tile, Rule rule = Rule{}, class Q, class K, class V, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires a_tile_holds_a_key<tile> && can_attend<Q, K, V, Visible, Bias, Sink> &&
    number_type_has_a_logarithm<typename Q::value_type>
constexpr auto streaming_attention_with_log_sum_exp(const Q& query, const K& key, const V& value,
                                                    const Visible& mask = {},
                                                    const Bias& given_bias = {},
                                                    const Sink& sink = {}) {
  using T = typename Q::value_type;
  OutputAndLogSumExp<T, Q::rows, V::columns> result;
  const auto& bias = bias_of_head<rule, T>(given_bias, 0, 1);
  const auto& visible = visible_to_rule<rule>(mask, bias);
  for (size_t i = 0; i < Q::rows; ++i)
    result.log_sum_exp[i] = log_sum_exp<rule>(
        attend_in_tiles<tile, rule>(query.matrix.entries[i], key.matrix, value.matrix, visible,
                                    bias, sink, i, result.output.entries[i]));
  return result;
}

// In heads, as attention is.
template <size_t tile, Rule rule = Rule{}, class Q, size_t Hq, class K, size_t Hk, class V,
          size_t Hv, class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
requires a_tile_holds_a_key<tile> &&
    can_attend_in_heads<Heads<Q, Hq>, Heads<K, Hk>, Heads<V, Hv>, Visible, Bias, Sink>
constexpr auto streaming_attention(const Heads<Q, Hq>& query, const Heads<K, Hk>& key,
                                   const Heads<V, Hv>& value, const Visible& mask = {},
                                   const Bias& bias = {}, const Sink& sink = {}) {
  return for_each_head<rule>(query, key, value, mask, bias, sink, [](const auto&... parts) {
    return streaming_attention<tile, without_alibi(rule)>(parts...);
  });
}
template <size_t tile, Rule rule = Rule{}, class Q, size_t Hq, class K, size_t Hk, class V,
          size_t Hv, class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
requires a_tile_holds_a_key<tile> &&
    can_attend_in_heads<Heads<Q, Hq>, Heads<K, Hk>, Heads<V, Hv>, Visible, Bias, Sink>
constexpr auto streaming_attention_with_log_sum_exp(const Heads<Q, Hq>& query,
                                                    const Heads<K, Hk>& key,
                                                    const Heads<V, Hv>& value,
                                                    const Visible& mask = {}, const Bias& bias = {},
                                                    const Sink& sink = {}) {
  return for_each_head<rule>(query, key, value, mask, bias, sink, [](const auto&... parts) {
    return streaming_attention_with_log_sum_exp<tile, without_alibi(rule)>(parts...);
  });
}

// And in a batch.
template <size_t tile, Rule rule = Rule{}, class Q, size_t N, class K, class V,
          class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
requires a_tile_holds_a_key<tile> && can_attend_in_batch<Batch<Q, N>, K, V, Visible, Bias, Sink>
constexpr auto streaming_attention(const Batch<Q, N>& query, const K& key, const V& value,
                                   const Visible& mask = {}, const Bias& bias = {},
                                   const Sink& sink = {}) {
  return for_each_element(
      [](const auto&... parts) { return streaming_attention<tile, rule>(parts...); }, query, key,
      value, mask, bias, sink);
}
template <size_t tile, Rule rule = Rule{}, class Q, size_t N, class K, class V,
          class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
requires a_tile_holds_a_key<tile> && can_attend_in_batch<Batch<Q, N>, K, V, Visible, Bias, Sink>
constexpr auto streaming_attention_with_log_sum_exp(const Batch<Q, N>& query, const K& key,
                                                    const V& value, const Visible& mask = {},
                                                    const Bias& bias = {}, const Sink& sink = {}) {
  return for_each_element(
      [](const auto&... parts) {
        return streaming_attention_with_log_sum_exp<tile, rule>(parts...);
      },
      query, key, value, mask, bias, sink);
}

}  // namespace attest
