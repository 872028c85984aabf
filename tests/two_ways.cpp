// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Two ways to one result, on random calls in every number type: tiles of every size, a cache, a
// ring, the matrix of weights, hard attention as the limit, and partial results merged in another
// order.
#include "eighths.hpp"
//
#include <algorithm>
#include <attest/cache.hpp>
#include <attest/exact.hpp>
#include <attest/hard.hpp>
#include <attest/laws.hpp>
#include <attest/streaming.hpp>
#include <cmath>
#include <utility>

namespace {
using namespace attest;
using namespace tests;

// How far a quotient of sums of positive terms may be off, relatively: of `above` factors 1 + δ in
// each term above the line and `below` of them in each below, |δ| <= u, and of exponentials of what
// is off by u·exponent. Infinite where that may be anything.
template <class T>
double quotient_error(double above, double below, double exponent = 0) {
  const double u = unit_roundoff<T>;
  const double most = std::pow(1 + u, above) * std::exp(u * exponent) - 1;
  const double least = 2 - std::pow(1 + u, below) * std::exp(u * exponent);
  return least > 0 ? (1 + most) / least - 1 : bits::infinity<double>;
}

// attention in tiles, and how far it may be off: as attention is, and by what M merges add. With
// e_j the exponentials after all rescaling, each by one more exponential,
//   output = Σ_j e_j·v_j·(1 + θ_j) / Σ_j e_j·(1 + θ'_j),
// for the totals that a mean was divided by are those it is weighed with. e_j has M factors 1 + δ
// more than in attention, whose subtractions, relative to the maximum so far, add up to the same:
// e^{u·a_j}. θ_j: n + 1 of the tile and four for each merge, the product with the rescaled total,
// the quotient, the product with the mean and the sum. θ'_j: n and two for each. With V the largest
// value, 2·μ/(1 − μ)·V is what changing all e_j by 1 ± μ does to a mean. Where numbers
// underflow, a merge errs by an exponential and its product, times at most n, two quotients and two
// products with means.
template <size_t tile, Rule rule, class Visible>
auto in_tiles(const Visible& mask) {
  return laws::Within{
      [mask](const auto& q, const auto& k, const auto& v) {
        return streaming_attention<tile, rule>(q, k, v, mask);
      },
      [mask]<class K, class V>(const auto& q, const K& k, const V& v) {
        using T = typename V::value_type;
        auto bound = attention_error_bound<rule>(q, k, v, mask);
        constexpr double merges = (K::rows + tile - 1) / tile - 1, n = K::rows;
        const double rescaled = std::pow(1 + unit_roundoff<T>, merges) - 1;
        const double relative =
            2 * rescaled / (1 - rescaled) + quotient_error<T>(n + 1 + 4 * merges, n + 2 * merges);
        for (auto& row : bound.entries)
          for (size_t t = 0; t < V::columns; ++t) {
            double largest = 0;
            for (const auto& value : v.matrix.entries)
              largest = std::max(largest, std::abs(static_cast<double>(value[t])));
            row[t] +=
                relative * largest + merges * smallest_number<T> * (2 + 2 * (n + 2) * largest);
          }
        return bound;
      }};
}
template <Rule rule, class Visible>
auto whole(const Visible& mask) {
  return laws::Within{[mask](const auto& q, const auto& k, const auto& v) {
                        return attention<rule>(q, k, v, mask);
                      },
                      [mask](const auto& q, const auto& k, const auto& v) {
                        return attention_error_bound<rule>(q, k, v, mask);
                      }};
}
// Without an error: two of them agree only if their numbers are equal.
template <Rule rule>
constexpr auto to_the_bit =
    [](const auto& q, const auto& k, const auto& v) { return attention<rule>(q, k, v); };
template <Rule rule>
constexpr auto by_weights = [](const auto& q, const auto& k, const auto& v) {
  return attention_weights<rule>(q, k) * v.matrix;
};
template <Rule rule>
constexpr auto in_one_tile = []<class K>(const auto& q, const K& k, const auto& v) {
  return streaming_attention<K::rows, rule>(q, k, v);
};
// Each query is answered when its token has come.
template <Rule rule, template <class, size_t, size_t, size_t> class Cache, size_t room>
constexpr auto token_by_token =
    []<class T, size_t N, size_t D, size_t Dv>(const Query<T, N, D>& q, const Key<T, N, D>& k,
                                               const Value<T, N, Dv>& v) {
      Cache<T, room, D, Dv> cache;
      Matrix<T, N, Dv> output;
      for (size_t i = 0; i < N; ++i) {
        Query<T, 1, D> newest;
        for (size_t t = 0; t < D; ++t) newest.matrix[0][t] = q.matrix[i][t];
        if constexpr (decltype(cache)::rolls) {
          cache.append(k.matrix[i], v.matrix[i]);
        } else {
          // Apart: inside the macro GCC 12 ends with an internal error.
          const bool had_room = cache.append(k.matrix[i], v.matrix[i]);
          RC_ASSERT(had_room);
        }
        const auto row = attention<rule>(newest, cache);
        for (size_t t = 0; t < Dv; ++t) output[i][t] = row[0][t];
      }
      return output;
    };

template <class T, size_t Tq, size_t Tk, size_t D, size_t Dv>
struct Call {
  const Query<T, Tq, D> q{eighths<T, Tq, D>()};
  const Key<T, Tk, D> k{eighths<T, Tk, D>()};
  const Value<T, Tk, Dv> v{eighths<T, Tk, Dv>()};
};

template <class T, size_t Tokens, Rule rule, Rule windowed>
void same_bits() {
  const Call<T, Tokens, Tokens, 3, 2> c;
  RC_ASSERT(laws::two_ways_agree(by_weights<rule>, to_the_bit<rule>, c.q, c.k, c.v));
  RC_ASSERT(laws::two_ways_agree(in_one_tile<rule>, to_the_bit<rule>, c.q, c.k, c.v));
  RC_ASSERT(laws::two_ways_agree(token_by_token<rule, KeyValueCache, Tokens + 2>, to_the_bit<rule>,
                                 c.q, c.k, c.v));
  constexpr size_t window = windowed.window_left + 1;
  RC_ASSERT(laws::two_ways_agree(token_by_token<windowed, RollingKeyValueCache, window>,
                                 to_the_bit<windowed>, c.q, c.k, c.v));
}

template <class T, Rule rule, size_t Tq, size_t Tk, size_t D, size_t Dv, size_t... smaller>
void tiles(std::index_sequence<smaller...>) {
  const Call<T, Tq, Tk, D, Dv> c;
  const auto mask = masks<Tq, Tk>();
  const auto agrees = [&](const auto& streaming) {
    RC_ASSERT(laws::two_ways_agree(streaming, whole<rule>(mask), c.q, c.k, c.v));
  };
  (agrees(in_tiles<smaller + 1, rule>(mask)), ...);
}
template <class T, Rule rule, size_t Tq, size_t Tk, size_t D, size_t Dv>
void every_tile() {
  tiles<T, rule, Tq, Tk, D, Dv>(std::make_index_sequence<Tk>{});
}

// Partial results that are equal if no more lies between them than the roundings of two merges of
// three may: a merge of totals is an exponential of a difference, a product and a sum; a mean has
// the quotient, the product and the sum besides, and is divided by the total. The differences add
// up to at most that of the maxima.
template <class T, size_t Tq, size_t Dv>
struct Merged {
  PartialAttention<T, Tq, Dv> partial;
  double maxima_apart, largest_value, keys;

  friend bool operator==(const Merged& a, const Merged& b) {
    const double total_error = quotient_error<T>(6, 6, a.maxima_apart);  // of one by the other
    const double mean_error = 2 * quotient_error<T>(10, 6, a.maxima_apart) * a.largest_value +
                              4 * smallest_number<T> * (2 + 2 * (a.keys + 2) * a.largest_value);
    for (size_t i = 0; i < Tq; ++i) {
      const auto &x = a.partial.denominator[i], &y = b.partial.denominator[i];
      const double total = static_cast<double>(x.total);
      if (!(x.largest == y.largest &&
            laws::agree(x.total, y.total,
                        total_error * total + 4 * (a.keys + 1) * smallest_number<T>)))
        return false;
      for (size_t t = 0; t < Dv; ++t)
        if (!laws::agree(a.partial.mean[i][t], b.partial.mean[i][t], mean_error)) return false;
    }
    return true;
  }
};

template <class T, Rule rule>
void merges() {
  constexpr size_t Tq = 2, keys = 3, D = 2, Dv = 2;
  const Query<T, Tq, D> q{eighths<T, Tq, D>()};
  const auto tile = [&q] {
    return partial_attention<rule>(q, Key{eighths<T, keys, D>()}, Value{eighths<T, keys, Dv>()}, 0,
                                   masks<Tq, keys>());
  };
  const auto a = tile(), b = tile(), c = tile();
  const auto merged = [](const auto& x, const auto& y) { return merge(x, y); };
  RC_ASSERT(laws::merge_is_commutative(merged, a, b));
  // A score of two entries below 1 is below 2, and one value below 1.
  using M = Merged<T, Tq, Dv>;
  const auto of = [](const auto& partial) { return M{partial, 4, 1, 3 * keys}; };
  const auto merged_nearly = [&](const M& x, const M& y) {
    return of(merge(x.partial, y.partial));
  };
  RC_ASSERT(laws::merge_is_associative(merged_nearly, of(a), of(b), of(c)));
}

// In exact fractions. Integers have scores that have weights, and few of them small fractions.
template <size_t R, size_t C>
Matrix<small_rational, R, C> whole_numbers(int largest) {
  const auto m = integers<double, R, C>(largest);
  Matrix<small_rational, R, C> result;
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < C; ++j) result[i][j] = small_rational(static_cast<int>(m[i][j]));
  return result;
}
template <size_t Tq, size_t Tk>
struct ExactCall {
  const Query<small_rational, Tq, 2> q{whole_numbers<Tq, 2>(1)};
  const Key<small_rational, Tk, 2> k{whole_numbers<Tk, 2>(1)};
  const Value<small_rational, Tk, 2> v{whole_numbers<Tk, 2>(5)};
};
template <Rule rule, size_t... smaller>
void every_tile_exactly(std::index_sequence<smaller...>) {
  const ExactCall<2, 5> c;
  const auto mask = masks<2, 5>();
  const auto attend = [&](const auto& q, const auto& k, const auto& v) {
    return attention<rule>(q, k, v, mask);
  };
  const auto agrees = [&](const auto& streaming) {
    RC_ASSERT(laws::two_ways_agree(streaming, attend, c.q, c.k, c.v));
  };
  (agrees([&](const auto& q, const auto& k, const auto& v) {
     return streaming_attention<smaller + 1, rule>(q, k, v, mask);
   }),
   ...);
}
template <Rule rule>
void merges_exactly() {
  const Query<small_rational, 2, 2> q{whole_numbers<2, 2>(1)};
  const auto tile = [&q] {
    return partial_attention<rule>(q, Key{whole_numbers<2, 2>(1)}, Value{whole_numbers<2, 2>(5)}, 0,
                                   masks<2, 2>());
  };
  const auto a = tile(), b = tile(), c = tile();
  const auto merged = [](const auto& x, const auto& y) { return merge(x, y); };
  RC_ASSERT(laws::merge_is_commutative(merged, a, b));
  RC_ASSERT(laws::merge_is_associative(merged, a, b, c));
}

inline constexpr Rule plain{};
inline constexpr Rule causally{.causal = true};
inline constexpr Rule capped{.softcap = 1.5, .causal = true};
inline constexpr Rule with_alibi{.alibi = true, .causal = true};
inline constexpr Rule last_three{.causal = true, .window_left = 2};
inline constexpr Rule last_two_capped{
    .softcap = 2, .alibi = true, .causal = true, .window_left = 1};
// Scores of eighths differ by 1/64 or not at all, and these by 2,048.
inline constexpr Rule sharp{.scale = Scale::of(0x1p17), .causal = true};
inline constexpr Rule mean_of_all{.offset = -1, .window_right = 1, .empty_row = EmptyRow::mean};

constexpr Rule unscaled_as(Rule rule) {
  rule.scale = Scale::of(1);
  return rule;
}

template <class T>
void hold_to_the_bit() {
  rc::prop("causal, six tokens", same_bits<T, 6, causally, last_three>);
  rc::prop("softcap, ALiBi, five tokens", same_bits<T, 5, capped, last_two_capped>);
  rc::prop("ALiBi, seven tokens", same_bits<T, 7, with_alibi, last_three>);
}
template <class T>
void hold_in_tiles() {
  rc::prop("four keys", every_tile<T, plain, 3, 4, 2, 2>);
  rc::prop("causal, softcap, five keys", every_tile<T, capped, 4, 5, 3, 1>);
  rc::prop("ALiBi, five keys", every_tile<T, with_alibi, 3, 5, 2, 3>);
  rc::prop("empty rows, four keys", every_tile<T, mean_of_all, 4, 4, 2, 2>);
  rc::prop("merging", merges<T, plain>);
  rc::prop("merging, ALiBi and a softcap", merges<T, last_two_capped>);
}
template <class T>
void hold_in_the_limit() {
  rc::prop("hard attention", [] {
    const Call<T, 5, 5, 3, 2> c;
    RC_ASSERT(laws::two_ways_agree(
        to_the_bit<sharp>,
        [](const auto& q, const auto& k, const auto& v) { return hard_attention<sharp>(q, k, v); },
        c.q, c.k, c.v));
  });
}
template <Rule rule>
void hold_exactly() {
  rc::prop("tiles", [] { every_tile_exactly<rule>(std::make_index_sequence<5>{}); });
  rc::prop("cache", [] {
    const ExactCall<4, 4> c;
    RC_ASSERT(laws::two_ways_agree(token_by_token<rule, KeyValueCache, 4>, to_the_bit<rule>, c.q,
                                   c.k, c.v));
  });
  rc::prop("merging", merges_exactly<rule>);
}

}  // namespace

TEST_CASE("two ways agree to the bit in float") {
  hold_to_the_bit<float>();
  hold_in_the_limit<float>();
}
TEST_CASE("two ways agree to the bit in double") {
  hold_to_the_bit<double>();
  hold_in_the_limit<double>();
}
TEST_CASE("two ways agree to the bit in float16") {
  hold_to_the_bit<float16>();
}
TEST_CASE("two ways agree to the bit in bfloat16") {
  hold_to_the_bit<bfloat16>();
}
TEST_CASE("two ways agree to the bit in float8_e4m3fn") {
  hold_to_the_bit<float8_e4m3fn>();
}
TEST_CASE("two ways agree to the bit in float8_e5m2") {
  hold_to_the_bit<float8_e5m2>();
}
TEST_CASE("two ways agree to the bit in fixed point of 16 bits") {
  hold_to_the_bit<fixed<std::int16_t, 11>>();
}
TEST_CASE("every tiling agrees and partial results merge in any order in float") {
  hold_in_tiles<float>();
}
TEST_CASE("every tiling agrees and partial results merge in any order in double") {
  hold_in_tiles<double>();
}
TEST_CASE("every tiling agrees and partial results merge in any order in float16") {
  hold_in_tiles<float16>();
}
TEST_CASE("every tiling agrees and partial results merge in any order in bfloat16") {
  hold_in_tiles<bfloat16>();
}
TEST_CASE("two ways agree in exact fractions, whatever the tiles") {
  hold_exactly<unscaled_as(causally)>();
  hold_exactly<unscaled_as(last_three)>();
}
