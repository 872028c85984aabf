// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The laws of attention, proved by trying all cases of small sizes. In exact fractions, with the
// weight 2^x on integer scores (exact.hpp), they hold with ==; and each is false of an attention
// that breaks it.
#include <attest/attention.hpp>
#include <attest/cache.hpp>
#include <attest/exact.hpp>
#include <attest/gradient.hpp>
#include <attest/hard.hpp>
#include <attest/heads.hpp>
#include <attest/laws.hpp>
#include <attest/streaming.hpp>

#include "exhaustion.hpp"

namespace {
using namespace attest;
using namespace proofs;
using Rational = small_rational;

constexpr auto plain = [](const auto& q, const auto& k, const auto& v) {
  return attention<unscaled>(q, k, v);
};
template <class Visible>
constexpr auto masked(const Visible& visible) {
  return [&visible](const auto& q, const auto& k, const auto& v) {
    return attention<unscaled>(q, k, v, visible);
  };
}
inline constexpr Rule unscaled_and_causal{.scale = Scale::of(1), .causal = true};
constexpr auto causally = [](const auto& q, const auto& k, const auto& v) {
  return attention<unscaled_and_causal>(q, k, v);
};

// Four tokens, of which no two are alike.
constexpr Query Q{matrix<Rational>({{1, 0}, {0, -1}, {2, 1}, {0, 0}})};
constexpr Key K{matrix<Rational>({{1, 1}, {0, 2}, {-1, 0}, {1, -1}})};
constexpr Value V{matrix<Rational>({{5, 0}, {1, -4}, {0, 3}, {-2, 7}})};
constexpr Key other_K{matrix<Rational>({{-1, 2}, {1, 0}, {2, -1}, {0, 1}})};
constexpr Value other_V{matrix<Rational>({{-9, 1}, {4, 4}, {8, -2}, {0, 5}})};

// Attentions that break a law: each law is tried on one that must not pass.
constexpr auto without_division = [](const auto& q, const auto& k, const auto& v) {
  auto output = attention<unscaled>(q, k, v);
  for (auto& row : output.entries)
    for (auto& entry : row) entry = entry + entry;
  return output;
};
constexpr auto first_query_for_all = [](const auto& q, const auto& k, const auto& v) {
  auto output = attention<unscaled>(q, k, v);
  for (auto& row : output.entries)
    for (size_t t = 0; t < V.columns; ++t) row[t] = output.entries[0][t];
  return output;
};
constexpr auto one_key_ahead = [](const auto& q, const auto& k, const auto& v) {
  return attention<unscaled>(q, k, v, causal_after(1));
};

// The first tokens of several.
template <size_t tokens, template <class, size_t, size_t> class Role, class T, size_t R, size_t C>
constexpr Role<T, tokens, C> first(const Role<T, R, C>& all) {
  Role<T, tokens, C> some;
  for (size_t i = 0; i < tokens; ++i)
    for (size_t t = 0; t < C; ++t) some.matrix.entries[i][t] = all.matrix.entries[i][t];
  return some;
}

// Permutations: all 24 of four tokens, and those of fewer.
template <size_t tokens>
constexpr auto q_of = first<tokens>(Q);
template <size_t tokens>
constexpr auto k_of = first<tokens>(K);
template <size_t tokens>
constexpr auto v_of = first<tokens>(V);
template <size_t tokens>
constexpr bool is_equivariant = for_all_orders<tokens>([](const auto& order) {
  return laws::permutation_equivariance(plain, q_of<tokens>, k_of<tokens>, v_of<tokens>, order);
});
static_assert(is_equivariant<1> && is_equivariant<2> && is_equivariant<3> && is_equivariant<4>,
              "S8: shuffle the queries and the outputs shuffle the same way");
template <size_t tokens>
constexpr bool does_not_depend_on_order = for_all_orders<tokens>([](const auto& order) {
  return laws::key_value_permutation_invariance(plain, q_of<tokens>, k_of<tokens>, v_of<tokens>,
                                                order);
});
static_assert(does_not_depend_on_order<1> && does_not_depend_on_order<2> &&
                  does_not_depend_on_order<3> && does_not_depend_on_order<4>,
              "S8: shuffling keys with their values changes nothing");
template <size_t tokens>
constexpr bool shuffles_with_its_tokens = for_all_orders<tokens>([](const auto& order) {
  return attention<unscaled>(laws::rows_in_order(q_of<tokens>, order),
                             laws::rows_in_order(k_of<tokens>, order),
                             laws::rows_in_order(v_of<tokens>, order)) ==
         laws::rows_in_order(plain(q_of<tokens>, k_of<tokens>, v_of<tokens>), order);
});
static_assert(shuffles_with_its_tokens<1> && shuffles_with_its_tokens<2> &&
                  shuffles_with_its_tokens<3> && shuffles_with_its_tokens<4>,
              "S8: shuffle the tokens and the outputs shuffle the same way");
constexpr size_t turned[] = {1, 2, 3, 0};
static_assert(!laws::permutation_equivariance(first_query_for_all, Q, K, V, turned));
static_assert(!laws::permutation_equivariance(causally, Q, K, V, turned));
static_assert(!laws::key_value_permutation_invariance(causally, Q, K, V, turned));

// Masks, all 512 of three queries and three keys.
constexpr Query q3{matrix<Rational>({{1, 0}, {0, -1}, {2, 1}})};
constexpr Key k3{matrix<Rational>({{1, 1}, {0, 2}, {-1, 0}})};
constexpr Value v3{matrix<Rational>({{5, 0}, {1, -4}, {0, 3}})};
constexpr Key other_k3{matrix<Rational>({{-1, 2}, {1, 0}, {2, -1}})};
constexpr Value other_v3{matrix<Rational>({{-9, 1}, {4, 4}, {8, -2}})};
static_assert(
    for_all_masks<3, 3>([](const auto& mask) {
      const auto weights = attention_weights<unscaled>(q3, k3, mask);
      return laws::rows_sum_to_one(weights, mask) && laws::weights_are_positive(weights, mask);
    }),
    "S21, S17: each row is a distribution over the visible keys, none of them without weight");
template <size_t half>
constexpr bool outputs_lie_in_the_convex_hull =
    for_masks<3, 3>(256 * half, 256, [](const auto& mask) {
      return laws::outputs_lie_in_the_convex_hull(masked(mask), q3, k3, v3, mask);
    });
static_assert(outputs_lie_in_the_convex_hull<0> && outputs_lie_in_the_convex_hull<1>,
              "S21: outputs lie in the hull of the visible values");
static_assert(!laws::outputs_lie_in_the_convex_hull(without_division, q3, k3, v3));
template <size_t half>
constexpr bool zero_scores_average = for_masks<3, 3>(256 * half, 256, [](const auto& mask) {
  return laws::zero_scores_average(masked(mask), q3, k3, v3, mask);
});
static_assert(zero_scores_average<0> && zero_scores_average<1>, "S1: equal scores average");
static_assert(!laws::zero_scores_average(without_division, q3, k3, v3));
template <size_t eighth>
constexpr bool hidden_keys_change_nothing = for_masks<3, 3>(64 * eighth, 64, [](const auto& mask) {
  return laws::hidden_keys_change_nothing(masked(mask), q3, k3, v3, other_k3, other_v3, mask);
});
static_assert(hidden_keys_change_nothing<0> && hidden_keys_change_nothing<1> &&
                  hidden_keys_change_nothing<2> && hidden_keys_change_nothing<3> &&
                  hidden_keys_change_nothing<4> && hidden_keys_change_nothing<5> &&
                  hidden_keys_change_nothing<6> && hidden_keys_change_nothing<7>,
              "what a query may not see does not matter");
template <size_t eighth>
constexpr bool every_visible_key_matters = for_masks<3, 3>(64 * eighth, 64, [](const auto& mask) {
  return laws::every_visible_key_matters(masked(mask), q3, k3, v3, mask);
});
static_assert(every_visible_key_matters<0> && every_visible_key_matters<1> &&
                  every_visible_key_matters<2> && every_visible_key_matters<3> &&
                  every_visible_key_matters<4> && every_visible_key_matters<5> &&
                  every_visible_key_matters<6> && every_visible_key_matters<7>,
              "S22: every visible key reaches the query in one step");

// And all masks of one token and of two.
template <size_t tokens>
constexpr bool laws_of_masks = for_all_masks<tokens, tokens>([](const auto& mask) {
  const auto weights = attention_weights<unscaled>(q_of<tokens>, k_of<tokens>, mask);
  const auto holds = [&](const auto& law, const auto&... others) {
    return law(masked(mask), q_of<tokens>, k_of<tokens>, v_of<tokens>, others..., mask);
  };
  return laws::rows_sum_to_one(weights, mask) && laws::weights_are_positive(weights, mask) &&
         holds([](const auto&... call) { return laws::outputs_lie_in_the_convex_hull(call...); }) &&
         holds([](const auto&... call) { return laws::zero_scores_average(call...); }) &&
         holds([](const auto&... call) { return laws::hidden_keys_change_nothing(call...); },
               first<tokens>(other_K), first<tokens>(other_V)) &&
         holds([](const auto&... call) { return laws::every_visible_key_matters(call...); });
});
static_assert(laws_of_masks<1> && laws_of_masks<2>, "S1, S17, S21, S22: of fewer tokens too");

// What an empty row returns is for the rule to say: zeros, or the mean of all values, hidden too.
static_assert(attention<unscaled>(q3, k3, v3, Matrix<bool, 3, 3>{}) == Matrix<Rational, 3, 2>{});
static_assert(attention<Rule{.scale = Scale::of(1), .empty_row = EmptyRow::mean}>(
                  q3, k3, v3, Matrix<bool, 3, 3>{}) ==
                  attention<unscaled>(Query<Rational, 3, 2>{}, k3, v3),
              "without a key, the mean of all values");

// Scores: all of three keys between -3 and 3, for one query; its weights are those of the
// definition, 2^s over their sum, written out.
static_assert(
    for_all_integers<Rational, 3, 1>(
        -3, 3,
        [](const auto& scores) {
          const auto w = attention_weights<unscaled>(Query{matrix<Rational>({{1}})}, Key{scores});
          const Rational e[] = {weight(scores[0][0]), weight(scores[1][0]), weight(scores[2][0])};
          const Rational sum = e[0] + e[1] + e[2];
          return w == matrix({{e[0] / sum, e[1] / sum, e[2] / sum}});
        }),
    "S4: softmax(QK^T) with the weight 2^x");
static_assert(for_all_integers<Rational, 1, 2>(-3, 3,
                                               [](const auto& shift) {
                                                 return laws::shift_invariance(plain, Q, K, V,
                                                                               shift.entries[0]);
                                               }),
              "a shift of all scores of a query changes nothing");
constexpr auto keys_squared = [](const auto& q, auto k, const auto& v) {
  for (auto& row : k.matrix.entries)
    for (auto& entry : row) entry = entry * entry;
  return attention<unscaled>(q, k, v);
};
constexpr Rational one_aside[] = {Rational(1), Rational(0)};
static_assert(!laws::shift_invariance(keys_squared, Q, K, V, one_aside));

// Causality and windows, with offsets before the first key and behind it.
static_assert(laws::causality(causally, Q, K, V, other_K, other_V),
              "S10: changing the future changes nothing in the past");
static_assert(!laws::causality(plain, Q, K, V, other_K, other_V));
static_assert(!laws::causality(one_key_ahead, Q, K, V, other_K, other_V));
template <long left, long right, long offset>
constexpr bool a_window_is_local = laws::window_locality(
    [](const auto& q, const auto& k, const auto& v) {
      return attention<Rule{
          .scale = Scale::of(1), .offset = offset, .window_left = left, .window_right = right}>(
          q, k, v);
    },
    Q, K, V, other_K, other_V, left, right, offset);
static_assert(a_window_is_local<0, 0, 0> && a_window_is_local<1, 0, 0> &&
                  a_window_is_local<0, 2, 0> && a_window_is_local<1, 1, 2> &&
                  a_window_is_local<2, 1, -3>,
              "what lies outside a window changes nothing");
static_assert(!laws::window_locality(causally, Q, K, V, other_K, other_V, 1, 0));

// Linear in the values, for all small coefficients.
static_assert(for_all_integers<Rational, 1, 2>(-3, 3,
                                               [](const auto& c) {
                                                 return laws::linearity_in_values(
                                                     plain, Q, K, V, other_V, c[0][0], c[0][1]);
                                               }),
              "attention is linear in the values");

// Scale: 2^(c·s) is the weight of c times the score.
template <int c>
constexpr bool scaled_alike = laws::scale_law(
    plain,
    [](const auto& q, const auto& k, const auto& v) {
      return attention<Rule{.scale = Scale::of(c)}>(q, k, v);
    },
    Q, K, V, Rational(c));
static_assert(scaled_alike<-2> && scaled_alike<0> && scaled_alike<1> && scaled_alike<3>,
              "only the product of scale and queries counts");
static_assert(!laws::scale_law(plain, plain, Q, K, V, Rational(2)));

// Variance: over all queries and keys with entries of ±1.
constexpr auto product_of = [](const auto& q, const auto& k) { return dot(q, k); };
static_assert(laws::variance_over_signs<Rational, 1>(product_of) == Rational(1) &&
                  laws::variance_over_signs<Rational, 2>(product_of) == Rational(2) &&
                  laws::variance_over_signs<Rational, 3>(product_of) == Rational(3) &&
                  laws::variance_over_signs<Rational, 4>(product_of) == Rational(4),
              "S7: Var(q.k) = d_k");
constexpr auto scaled_product = [](const auto& q, const auto& k) {
  return score<Rule{}>(q, k, no_bias, 0, 0);
};
static_assert(laws::variance_over_signs<double, 1>(scaled_product) == 1 &&
                  laws::variance_over_signs<double, 4>(scaled_product) == 1,
              "S7: scaled by 1/sqrt(d_k), variance 1: exact where d_k is a power of four");
static_assert(laws::magnitude(laws::variance_over_signs<double, 3>(scaled_product) - 1) < 0x1p-48,
              "S7: 64 squares of scores, each within 6u of 3·(1/sqrt 3)² and summed");

// Heads and batches, in double too: a head or a sequence gets the bits it gets alone.
constexpr Heads queries{Q, Query{other_K.matrix}, Query{K.matrix}, Query{Q.matrix + K.matrix}};
constexpr Heads keys{K, other_K};
constexpr Heads values{V, other_V};
template <HeadMap map>
inline constexpr Rule mapped{.scale = Scale::of(1), .head_map = map};
template <HeadMap map>
constexpr auto in_heads =
    [](const auto& q, const auto& k, const auto& v) { return attention<mapped<map>>(q, k, v); };
static_assert(laws::head_independence<mapped<HeadMap::blocked>>(in_heads<HeadMap::blocked>, plain,
                                                                queries, keys, values) &&
                  laws::head_independence<mapped<HeadMap::tiled>>(in_heads<HeadMap::tiled>, plain,
                                                                  queries, keys, values),
              "S11: several attentions side by side, each as if alone");
static_assert(!laws::head_independence<mapped<HeadMap::blocked>>(in_heads<HeadMap::tiled>, plain,
                                                                 queries, keys, values),
              "which key/value head a query head reads matters");
static_assert(laws::grouped_heads_are_repeated_heads<mapped<HeadMap::blocked>>(
                  in_heads<HeadMap::blocked>, in_heads<HeadMap::blocked>, queries, keys, values),
              "grouped heads are repeated heads");
constexpr Batch sequences{Q, Query{K.matrix}};
static_assert(laws::batch_independence(plain, plain, sequences, Batch{K, other_K},
                                       Batch{V, other_V}),
              "S12: a batch dimension changes nothing for each sequence");

// Other ways to the same result: tiles of every size, a cache met token by token.
template <size_t tile>
constexpr auto in_tiles_of = [](const auto& q, const auto& k, const auto& v) {
  return streaming_attention<tile, unscaled>(q, k, v);
};
static_assert(laws::two_ways_agree(in_tiles_of<1>, plain, Q, K, V) &&
                  laws::two_ways_agree(in_tiles_of<2>, plain, Q, K, V) &&
                  laws::two_ways_agree(in_tiles_of<3>, plain, Q, K, V) &&
                  laws::two_ways_agree(in_tiles_of<4>, plain, Q, K, V),
              "streaming is whole (streaming.cpp: for every way to cut six keys)");
constexpr auto from_a_cache = []<class T, size_t N, size_t D, size_t Dv>(const Query<T, N, D>& q,
                                                                         const Key<T, N, D>& k,
                                                                         const Value<T, N, Dv>& v) {
  KeyValueCache<T, N, D, Dv> cache;
  Matrix<T, N, Dv> output;
  for (size_t i = 0; i < N; ++i) {
    const bool there_is_room = cache.append(k.matrix.entries[i], v.matrix.entries[i]);
    Query<T, 1, D> one;
    for (size_t t = 0; t < D; ++t) one.matrix.entries[0][t] = q.matrix.entries[i][t];
    const auto row = attention<unscaled_and_causal>(one, cache);
    for (size_t t = 0; there_is_room && t < Dv; ++t) output.entries[i][t] = row.entries[0][t];
  }
  return output;
};
static_assert(laws::two_ways_agree(from_a_cache, causally, Q, K, V), "a cache is whole");
static_assert(!laws::two_ways_agree(from_a_cache, plain, Q, K, V));

// Partial results of one key each, of all the 27 triples of three keys.
template <size_t j>
constexpr auto of_key =
    partial_attention<unscaled>(Q, Key{matrix({{K.matrix.entries[j][0], K.matrix.entries[j][1]}})},
                                Value{matrix({{V.matrix.entries[j][0], V.matrix.entries[j][1]}})});
constexpr auto merged = [](const auto& a, const auto& b) { return merge(a, b); };
constexpr bool merging_is_associative_and_commutative() {
  const decltype(of_key<0>) partial[] = {of_key<0>, of_key<1>, of_key<2>};
  for (const auto& a : partial)
    for (const auto& b : partial) {
      if (!laws::merge_is_commutative(merged, a, b)) return false;
      for (const auto& c : partial)
        if (!laws::merge_is_associative(merged, a, b, c)) return false;
    }
  return true;
}
static_assert(merging_is_associative_and_commutative(), "partial results merge in any order");
constexpr auto first_maximum = [](auto a, const auto& b) {  // forgets that the maxima may differ
  const auto largest = a.denominator[0].largest;
  a = merge(a, b);
  a.denominator[0].largest = largest;
  return a;
};
static_assert(!laws::merge_is_commutative(first_maximum, of_key<0>, of_key<1>));

// The hard limit, at scales from 1 to 6, of queries with one best key and with two; and for none of
// them is it reached.
template <int c>
constexpr auto sharp = [](const auto& q, const auto& k, const auto& v) {
  return attention<Rule{.scale = Scale::of(c)}>(q, k, v);
};
constexpr auto hard = [](const auto& q, const auto& k, const auto& v) {
  return hard_attention<unscaled>(q, k, v);
};
template <int c>
constexpr bool nears_hard_attention = laws::hard_attention_is_the_limit(sharp<c>, Q, K, V,
                                                                        Rational(c)) &&
                                      laws::hard_attention_is_the_limit(hard, Q, K, V,
                                                                        Rational(c)) &&
                                      !laws::two_ways_agree(sharp<c>, hard, Q, K, V);
static_assert(nears_hard_attention<1> && nears_hard_attention<2> && nears_hard_attention<3> &&
                  nears_hard_attention<4> && nears_hard_attention<5> && nears_hard_attention<6>,
              "S17: hard attention is the limit, and softmax is soft, however sharp");
static_assert(!laws::hard_attention_is_the_limit(sharp<5>, Q, K, V, Rational(6)),
              "a scale of 5 is not as sharp as one of 6");
static_assert(!laws::hard_attention_is_the_limit(sharp<4>, Q, K, V, Rational(4), causal),
              "nor are keys that are hidden");

// Where a rule wants NaN of rows without keys, two ways agree that both return it
// (tests/laws_and_nan.cpp: and nowhere else).
constexpr Query q_d{matrix({{1., 0.}, {0., -1.}})};
constexpr Key k_d{matrix({{1., 1.}, {0., 2.}, {-1., 0.}})};
constexpr Value v_d{matrix({{5., 0.}, {1., -4.}, {0., 3.}})};
template <size_t tile>
constexpr auto with_nan = [](const auto& q, const auto& k, const auto& v) {
  constexpr Rule rule{.causal = true, .offset = -1, .empty_row = EmptyRow::nan};
  return streaming_attention<tile, rule>(q, k, v);
};
static_assert(laws::two_ways_agree(with_nan<1>, with_nan<3>, q_d, k_d, v_d),
              "NaN where it is meant");

// The gradient of half the squared output by the queries, against differences of 2^-13: h²/6 times
// the third derivative, some hundreds for these numbers, and 2^-50/h for rounding.
constexpr auto half_square = [](const Matrix<double, 2, 2>& q) {
  const auto o = attention(Query{q}, k_d, v_d);
  return 0.5 * (dot(o.entries[0], o.entries[0]) + dot(o.entries[1], o.entries[1]));
};
constexpr auto gradient_by_queries =
    attention_gradient(q_d, k_d, v_d, attention(q_d, k_d, v_d)).query;
static_assert(laws::gradient_is_finite_difference(half_square, q_d.matrix, gradient_by_queries,
                                                  0x1p-13, 0x1p-18),
              "a gradient is what a finite difference sees");
static_assert(!laws::gradient_is_finite_difference(half_square, q_d.matrix,
                                                   1.0001 * gradient_by_queries, 0x1p-13, 0x1p-18));

}  // namespace
