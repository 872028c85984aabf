// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A cache changes nothing: tokens that come one at a time, or a few, get the rows that the whole
// sequence gets, in whichever portions they come. In exact fractions with the weight 2^x on integer
// scores (exact.hpp), and in float, == is meant.
#include <attest/cache.hpp>
#include <attest/exact.hpp>
#include <type_traits>

namespace {
using namespace attest;
using Rational = small_rational;

constexpr size_t tokens = 6;
template <class T>
constexpr Query Q{matrix<T>({{1, 0}, {0, -1}, {2, 1}, {-1, 2}, {1, 1}, {0, 3}})};
template <class T>
constexpr Key K{matrix<T>({{1, 1}, {0, 2}, {-1, 0}, {3, -1}, {2, 2}, {0, -3}})};
template <class T>
constexpr Value V{
    matrix<T>({{5, 0, 1}, {1, -4, 0}, {0, 3, 2}, {-2, 7, 7}, {9, 1, 0}, {-6, -1, 3}})};

template <size_t length, class M>
constexpr auto rows_from(const M& m, size_t first) {
  Matrix<typename M::value_type, length, M::columns> part;
  for (size_t i = 0; i < length; ++i)
    for (size_t t = 0; t < M::columns; ++t) part[i][t] = m[first + i][t];
  return part;
}

constexpr bool store(auto& cache, const auto& keys, const auto& values) {
  if constexpr (std::remove_reference_t<decltype(cache)>::rolls) {
    cache.append(keys, values);
    return true;
  } else {
    return cache.append(keys, values);
  }
}

// The tokens from `first` on come in portions: one ends behind token j where bit j of `cuts` is
// set.
template <Rule rule, unsigned cuts, size_t first, class T, class Cache>
constexpr bool rest_in_portions_is(Cache cache, const Matrix<T, tokens, 3>& whole,
                                   const auto&... bias_and_sink) {
  if constexpr (first == tokens) {
    return true;
  } else {
    constexpr size_t length = [] {
      size_t last = first;
      while (last + 1 < tokens && (cuts >> last & 1u) == 0) ++last;
      return last + 1 - first;
    }();
    if (!store(cache, Key{rows_from<length>(K<T>.matrix, first)},
               Value{rows_from<length>(V<T>.matrix, first)}))
      return false;
    const Query newest{rows_from<length>(Q<T>.matrix, first)};
    return attention<rule>(newest, cache, bias_and_sink...) == rows_from<length>(whole, first) &&
           rest_in_portions_is<rule, cuts, first + length>(cache, whole, bias_and_sink...);
  }
}
// All 2^5 ways to portion six tokens.
template <Rule rule, class Cache, class T, unsigned cuts = 0>
constexpr bool in_all_portions(const Matrix<T, tokens, 3>& whole, const auto&... bias_and_sink) {
  if constexpr (cuts == 1u << (tokens - 1))
    return true;
  else
    return rest_in_portions_is<rule, cuts, 0>(Cache{}, whole, bias_and_sink...) &&
           in_all_portions<rule, Cache, T, cuts + 1>(whole, bias_and_sink...);
}

template <class T, size_t Capacity>
using Cache = KeyValueCache<T, Capacity, 2, 3>;
template <class T, size_t W>
using Rolling = RollingKeyValueCache<T, W, 2, 3>;
constexpr Rule causally{.scale = Scale::of(1), .causal = true};
constexpr Rule banded{.scale = Scale::of(1), .causal = true, .window_left = 2};

template <Rule rule, class T>
constexpr auto whole = attention<rule>(Q<T>, K<T>, V<T>);
static_assert(in_all_portions<causally, Cache<Rational, 6>>(whole<causally, Rational>) &&
                  in_all_portions<causally, Cache<Rational, 9>>(whole<causally, Rational>),
              "cache = whole, for all 32 ways to portion six tokens, however much room is left");
static_assert(in_all_portions<banded, Cache<Rational, 6>>(whole<banded, Rational>),
              "under a window");
static_assert(!in_all_portions<causally, Cache<Rational, 6>>(whole<banded, Rational>),
              "the check can fail");
static_assert(in_all_portions<causally, Cache<float, 6>>(whole<causally, float>) &&
                  in_all_portions<banded, Cache<float, 40>>(whole<banded, float>),
              "in float, to the bit");
constexpr Sink sink{Rational(1)};
static_assert(in_all_portions<causally, Cache<Rational, 7>>(
                  attention<causally>(Q<Rational>, K<Rational>, V<Rational>, everything, no_bias,
                                      sink),
                  everything, no_bias, sink),
              "with a sink");
constexpr Rule sloped{.alibi = true, .causal = true};
static_assert(in_all_portions<sloped, Cache<float, 8>>(whole<sloped, float>),
              "with ALiBi: distances are those in the whole sequence");

// A rolling cache of W tokens serves a window of W − 1 to the left and the token itself, one token
// at a time; portions of three need two more.
template <class T, size_t W>
constexpr bool rolls_through_all() {
  constexpr Rule rule{.scale = Scale::of(1), .causal = true, .window_left = W - 1};
  return rest_in_portions_is<rule, 31u, 0>(Rolling<T, W>{}, whole<rule, T>);
}
static_assert(rolls_through_all<Rational, 1>() && rolls_through_all<Rational, 2>() &&
                  rolls_through_all<Rational, 3>() && rolls_through_all<Rational, 4>() &&
                  rolls_through_all<Rational, 5>() && rolls_through_all<Rational, 6>() &&
                  rolls_through_all<Rational, 7>(),
              "a ring of W is a window of W - 1");
static_assert(rolls_through_all<float, 1>() && rolls_through_all<float, 3>() &&
                  rolls_through_all<float, 4>(),
              "to the bit");
static_assert(in_all_portions<banded, Rolling<Rational, 8>>(whole<banded, Rational>),
              "in portions: a ring of 6 + 2");

// A full cache refuses, says so, and stays as it is; also if part of a portion would fit.
constexpr bool a_full_cache_refuses() {
  Cache<float, 3> cache;
  const Key two_keys{rows_from<2>(K<float>.matrix, 0)};
  const Value two_values{rows_from<2>(V<float>.matrix, 0)};
  if (!cache.append(two_keys, two_values) || cache.length != 2) return false;
  if (cache.append(two_keys, two_values) || cache.length != 2) return false;
  if (!cache.append(K<float>.matrix[4], V<float>.matrix[4]) || cache.length != 3) return false;
  const auto before = attention(Query{rows_from<1>(Q<float>.matrix, 4)}, cache);
  return !cache.append(K<float>.matrix[5], V<float>.matrix[5]) && cache.length == 3 &&
         attention(Query{rows_from<1>(Q<float>.matrix, 4)}, cache) == before;
}
static_assert(a_full_cache_refuses(), "no token is overwritten");

// What does not count: rows not yet filled. The mean that an empty row may return is that of the
// values there are, and a softcap after the mask counts hidden keys, but not missing ones.
template <Rule rule>
constexpr bool counts_what_is_there(const auto& mask_of_three) {
  Cache<float, 5> cache;
  if (!cache.append(Key{rows_from<3>(K<float>.matrix, 0)}, Value{rows_from<3>(V<float>.matrix, 0)}))
    return false;
  for (size_t j = 3; j < 5; ++j)
    for (float& x : cache.value.matrix[j]) x = 1e30f;
  const Query query{rows_from<2>(Q<float>.matrix, 1)};
  const auto first_three = attention<rule>(query, Key{rows_from<3>(K<float>.matrix, 0)},
                                           Value{rows_from<3>(V<float>.matrix, 0)}, mask_of_three);
  const auto mask_of_five = [&](size_t i, size_t j) { return j >= 3 || mask_of_three[i][j]; };
  return attention<rule>(query, cache, mask_of_five) == first_three;
}
constexpr auto one_row_empty = matrix({{true, false, true}, {false, false, false}});
static_assert(counts_what_is_there<Rule{}>(one_row_empty) &&
                  counts_what_is_there<Rule{.empty_row = EmptyRow::mean}>(one_row_empty) &&
                  counts_what_is_there<Rule{
                      .softcap = 2, .softcap_place = SoftcapPlace::after_mask}>(one_row_empty),
              "what is not there does not count");

// Heads: a cache for each key/value head, here two for four query heads.
constexpr bool heads_have_their_own() {
  constexpr Rule rule{.alibi = true, .causal = true};
  const auto keys = Heads{K<float>, Key{2.f * K<float>.matrix}};
  const auto values = Heads{V<float>, Value{-3.f * V<float>.matrix}};
  const auto queries = Heads{Q<float>, Query{3.f * Q<float>.matrix}, Query{-1.f * Q<float>.matrix},
                             Query{0.5f * Q<float>.matrix}};
  const auto all_at_once = attention_with_log_sum_exp<rule>(queries, keys, values);
  Heads<Cache<float, 7>, 2> caches;
  Heads<Rolling<float, 6>, 2> rings;
  for (size_t token = 0; token < tokens; ++token) {
    Heads<Query<float, 1, 2>, 4> q;
    Heads<Key<float, 1, 2>, 2> k;
    Heads<Value<float, 1, 3>, 2> v;
    for (size_t h = 0; h < 4; ++h) q[h] = {rows_from<1>(queries[h].matrix, token)};
    for (size_t h = 0; h < 2; ++h) k[h] = {rows_from<1>(keys[h].matrix, token)};
    for (size_t h = 0; h < 2; ++h) v[h] = {rows_from<1>(values[h].matrix, token)};
    if (!append(caches, k, v)) return false;
    append(rings, k, v);
    const auto output = attention<rule>(q, caches);
    const auto of_rings =
        attention<Rule{.alibi = true, .causal = true, .window_left = 5}>(q, rings);
    const auto with_log = attention_with_log_sum_exp<rule>(q, caches);
    for (size_t h = 0; h < 4; ++h)
      if (output[h] != rows_from<1>(all_at_once[h].output, token) || of_rings[h] != output[h] ||
          with_log[h].output != output[h] ||
          with_log[h].log_sum_exp[0] != all_at_once[h].log_sum_exp[token])
        return false;
  }
  return !append(
             caches,
             Heads{Key{rows_from<2>(K<float>.matrix, 0)}, Key{rows_from<2>(K<float>.matrix, 0)}},
             Heads{Value{rows_from<2>(V<float>.matrix, 0)},
                   Value{rows_from<2>(V<float>.matrix, 0)}}) &&
         caches[0].length == tokens;
}
static_assert(heads_have_their_own(), "a cache per key/value head, the slope of the query head");

// S12: a batch has a cache for each sequence, of another length each, or one that all share; single
// heads or several.
constexpr bool sequences_have_their_own() {
  using OfTwo = Batch<Cache<Rational, 6>, 2>;
  OfTwo caches;
  if (!caches[0].append(Key{rows_from<3>(K<Rational>.matrix, 0)},
                        Value{rows_from<3>(V<Rational>.matrix, 0)}) ||
      !caches[1].append(K<Rational>, V<Rational>))
    return false;
  const Batch queries{Query{rows_from<2>(Q<Rational>.matrix, 1)},
                      Query{rows_from<2>(Q<Rational>.matrix, 4)}};
  const auto output = attention<causally>(queries, caches);
  const auto shared = attention<causally>(queries, caches[1]);
  const Batch in_heads{Heads{queries[0], queries[1]}, Heads{queries[1], queries[0]}};
  const auto of_heads = attention<causally>(in_heads, Heads{caches[1]});
  return output[0] == rows_from<2>(whole<causally, Rational>, 1) &&
         output[1] == rows_from<2>(whole<causally, Rational>, 4) && shared[1] == output[1] &&
         shared[0] == attention<causally>(queries[0], caches[1]) && shared[0] != output[0] &&
         of_heads == Batch{Heads{shared[0], shared[1]}, Heads{shared[1], shared[0]}};
}
static_assert(sequences_have_their_own(), "S12: a batch of caches");
static_assert(!can_attend_to_caches_in_batch<causally, Batch<Query<Rational, 1, 2>, 3>,
                                             Batch<Cache<Rational, 4>, 2>> &&
                  !can_attend_to_caches_in_batch<causally, Batch<Query<Rational, 1, 2>, 2>,
                                                 Batch<Heads<Cache<Rational, 4>, 1>, 2>>,
              "three sequences, two caches; heads of caches for queries without");

constexpr bool log_sum_exp_is_that_of_the_whole() {
  const auto all_at_once = attention_with_log_sum_exp<causally>(Q<float>, K<float>, V<float>);
  Cache<float, 6> cache;
  if (!cache.append(K<float>, V<float>)) return false;
  const auto last =
      attention_with_log_sum_exp<causally>(Query{rows_from<2>(Q<float>.matrix, 4)}, cache);
  const auto of_batch =
      attention_with_log_sum_exp<causally>(Batch{Query{rows_from<2>(Q<float>.matrix, 4)}}, cache);
  return of_batch[0].output == last.output && of_batch[0].log_sum_exp[1] == last.log_sum_exp[1] &&
         last.log_sum_exp[0] == all_at_once.log_sum_exp[4] &&
         last.log_sum_exp[1] == all_at_once.log_sum_exp[5] &&
         last.output == rows_from<2>(all_at_once.output, 4);
}
static_assert(log_sum_exp_is_that_of_the_whole());

// A rolling cache serves only rules that never ask for what it has overwritten.
using OneQuery = Query<float, 1, 2>;
using Ring = Rolling<float, 4>;
template <Rule rule, class Q_ = OneQuery>
concept ring_serves = can_attend_to_cache<rule, Q_, Ring>;
static_assert(ring_serves<Rule{.causal = true, .window_left = 3}> &&
                  ring_serves<Rule{.causal = true, .window_left = 1}, Query<float, 3, 2>>,
              "a window of 3 + 1; of 1 + 3 queries");
static_assert(!ring_serves<Rule{.causal = true}> &&
                  !ring_serves<Rule{.causal = true, .window_left = 4}> &&
                  !ring_serves<Rule{.causal = true, .window_left = 3}, Query<float, 2, 2>> &&
                  !ring_serves<Rule{.causal = true, .offset = -1, .window_left = 3}>,
              "windows that reach further back");
static_assert(!ring_serves<Rule{.window_left = 3, .empty_row = EmptyRow::mean}> &&
                  !ring_serves<Rule{
                      .softcap = 2, .softcap_place = SoftcapPlace::after_mask, .window_left = 3}>,
              "rules that count hidden keys");
static_assert(!can_attend_to_cache<Rule{}, Query<float, 1, 5>, Cache<float, 4>> &&
                  !can_attend_to_cache<Rule{}, Key<float, 1, 2>, Cache<float, 4>> &&
                  !can_attend_to_cache<Rule{}, OneQuery, Key<float, 4, 2>>,
              "widths and roles");

static_assert(std::is_trivially_copyable_v<Cache<float, 6>> &&
                  sizeof(Cache<float, 6>) == 6 * (2 + 3) * sizeof(float) + sizeof(size_t) &&
                  sizeof(Ring) == 4 * (2 + 3) * sizeof(float) + sizeof(size_t),
              "a cache is its rows and a length");

}  // namespace
