// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// S17: softmax is soft, and hard attention is what it tends to as the scale grows. In exact
// fractions with the weight 2^x on integer scores (exact.hpp) how far it still is has a closed
// form; in float the limit is reached, at a scale that can be named.
#include <attest/exact.hpp>
#include <attest/hard.hpp>

namespace {
using namespace attest;
using Rational = rational;

// Scores 1 3 2 3 0 and 0 −1 −2 0 −3: two largest each.
constexpr Query Q{matrix<Rational>({{1, 1}, {0, -1}})};
constexpr Key K{matrix<Rational>({{1, 0}, {2, 1}, {0, 2}, {3, 0}, {-3, 3}})};
constexpr Value V{matrix<Rational>({{5}, {1}, {0}, {-2}, {9}})};
constexpr auto scores = attention_scores<unscaled>(Q, K);
static_assert(scores == matrix<Rational>({{1, 3, 2, 3, 0}, {0, -1, -2, 0, -3}}));
constexpr auto hard = hard_attention<unscaled>(Q, K, V);
static_assert(hard == matrix<Rational>({{Rational(1 - 2, 2)}, {Rational(5 - 2, 2)}}),
              "the mean of the values whose key has the largest score");
static_assert(hard_attention<unscaled>(Q, K, V,
                                       matrix({{true, false, true, false, true},
                                               {false, false, false, false, false}})) ==
                  matrix<Rational>({{0}, {0}}),
              "the largest visible score; no key, no value");
static_assert(hard_attention<unscaled>(Q, K, V, everything, no_bias, Sink{Rational(3)})[0][0] ==
                      Rational(1 - 2, 3) &&
                  hard_attention<unscaled>(Q, K, V, everything, no_bias, Sink{Rational(4)})[0][0] ==
                      Rational(0),
              "a sink that is as large takes a share, a larger one takes all");
static_assert(hard_attention<Rule{.scale = Scale::of(-1)}>(Q, K, V)[0][0] == Rational(9),
              "a negative scale looks for the least alike");

// In heads and in a batch, each on its own.
constexpr Query other_q{matrix<Rational>({{0, 1}, {-1, 0}})};
constexpr Key other_k{matrix<Rational>({{0, 0}, {1, 4}, {2, 2}, {-3, 0}, {3, 3}})};
constexpr Heads four_q{Q, other_q, Q, other_q};
constexpr Heads two_k{K, other_k};
constexpr Heads two_v{V, Value{Rational(-1) * V.matrix}};
constexpr auto in_heads = hard_attention<unscaled>(four_q, two_k, two_v, causal);
static_assert(in_heads[1] == hard_attention<unscaled>(other_q, K, V, causal) &&
                  in_heads[2] == hard_attention<unscaled>(Q, other_k, two_v[1], causal) &&
                  in_heads[0] != in_heads[2],
              "S11: each query head to the key/value head it reads");
static_assert(hard_attention<unscaled>(Batch{Q, other_q}, K, Batch{two_v[0], two_v[1]})[1] ==
                      hard_attention<unscaled>(other_q, K, two_v[1]) &&
                  hard_attention<unscaled>(Batch{four_q, four_q}, two_k, two_v, causal)[1] ==
                      in_heads,
              "S12: each sequence alone");
constexpr Query one{matrix({{1.f}})};
static_assert(hard_attention<Rule{.alibi = true}>(Heads{one, one},
                                                  Heads{Key{matrix({{0.f}, {0x1p-4f}, {0.f}})}},
                                                  Heads{Value{matrix({{1.f}, {2.f}, {4.f}})}}) ==
                  Heads{matrix({{1.5f}}), matrix({{2.f}})},
              "with the slope of the head: 2^-4, by which both are as near, and 2^-8");

template <int c>
inline constexpr Rule at_scale{.scale = Scale::of(c)};
constexpr Rational power(int exponent) {
  return weight(Rational(exponent));
}

// attention − h = Σ 2^{−c·g_j}(v_j − h) / (n + Σ 2^{−c·g_j}) over the keys that are not largest.
template <int c>
constexpr bool differs_as_stated() {
  const auto soft = attention<at_scale<c>>(Q, K, V);
  for (size_t i = 0; i < 2; ++i) {
    const Rational largest = i == 0 ? 3 : 0, ties = 2;
    Rational numerator, rest;
    for (size_t j = 0; j < 5; ++j)
      if (scores[i][j] < largest) {
        const Rational w = weight(Rational(c) * (scores[i][j] - largest));
        numerator = numerator + w * (V.matrix[j][0] - hard[i][0]);
        rest = rest + w;
      }
    if (!(soft[i][0] - hard[i][0] == numerator / (ties + rest))) return false;
  }
  return true;
}
static_assert(differs_as_stated<1>() && differs_as_stated<2>() && differs_as_stated<3>() &&
                  differs_as_stated<10>() && differs_as_stated<30>(),
              "S17: attention minus its limit, in closed form");

// Hence it is within 2^{−c·g}·Σ|v_j − h|/n, here g = 1: halved with every step of c.
template <int c>
constexpr bool is_as_near_as_stated() {
  const auto soft = attention<at_scale<c>>(Q, K, V);
  for (size_t i = 0; i < 2; ++i) {
    const Rational difference = soft[i][0] - hard[i][0];
    Rational spread;
    for (size_t j = 0; j < 5; ++j) {
      const Rational d = V.matrix[j][0] - hard[i][0];
      if (scores[i][j] < (i == 0 ? Rational(3) : Rational(0))) spread = spread + (d < 0 ? -d : d);
    }
    const Rational bound = power(-c) * spread / Rational(2);
    if (!(difference <= bound && -difference <= bound)) return false;
    if (difference == Rational(0)) return false;  // and never there
  }
  return true;
}
static_assert(is_as_near_as_stated<1>() && is_as_near_as_stated<2>() && is_as_near_as_stated<4>() &&
                  is_as_near_as_stated<8>() && is_as_near_as_stated<16>() &&
                  is_as_near_as_stated<32>(),
              "S17: the limit, as near as one likes");

// Every visible key keeps positive weight, at every scale, and a larger score more of it.
template <int c>
constexpr bool every_key_keeps_weight() {
  const auto weights = attention_weights<at_scale<c>>(Q, K);
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 5; ++j) {
      if (!(weights[i][j] > Rational(0))) return false;
      for (size_t other = 0; other < 5; ++other)
        if ((weights[i][j] > weights[i][other]) != (scores[i][j] > scores[i][other])) return false;
    }
  return true;
}
static_assert(every_key_keeps_weight<1>() && every_key_keeps_weight<7>() &&
                  every_key_keeps_weight<40>(),
              "S17: softmax is soft");

// In floating point e^-103 and e^-745 are still numbers, e^-104 and e^-746 are not.
constexpr Query q{matrix({{1.f}})};
constexpr Key k{matrix({{2.f}, {3.f}, {3.f}, {1.f}})};
constexpr Value v{matrix({{0x1p100f}, {5.f}, {-2.f}, {-0x1p120f}})};
static_assert(attention<at_scale<104>>(q, k, v) == hard_attention(q, k, v) &&
                  hard_attention(q, k, v) == matrix({{1.5f}}),
              "S17: a gap of 104 is infinite in float");
constexpr Key k_without_ties{matrix({{2.f}, {3.f}})};
static_assert(attention_weights<at_scale<103>>(q, k_without_ties)[0][0] > 0.f &&
                  attention_weights<at_scale<104>>(q, k_without_ties) == matrix({{0.f, 1.f}}),
              "S17: a gap of 103 is not");
constexpr Query q_double{matrix({{1.}})};
constexpr Key k_double{matrix({{2.}, {3.}})};
static_assert(attention_weights<at_scale<745>>(q_double, k_double)[0][0] > 0. &&
                  attention_weights<at_scale<746>>(q_double, k_double) == matrix({{0., 1.}}),
              "S17: in double 745 and 746");

}  // namespace
