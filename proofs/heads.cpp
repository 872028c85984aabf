// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Several attentions side by side are each what they are alone: a head, a group of heads that share
// keys and values, a sequence of a batch. With exact fractions and the weight 2^x on integer scores
// (exact.hpp) == is meant.
#include <attest/exact.hpp>
#include <attest/heads.hpp>
#include <type_traits>

namespace {
using namespace attest;
using Rational = small_rational;

// Small integers, other ones for every seed.
template <class T, size_t R, size_t C>
constexpr Matrix<T, R, C> integers(unsigned seed) {
  Matrix<T, R, C> m;
  for (auto& row : m.entries)
    for (T& x : row) {
      seed = seed * 1664525u + 1013904223u;
      x = T(static_cast<int>(seed >> 24) % 5 - 2);
    }
  return m;
}
template <size_t H, class Role>
constexpr Heads<Role, H> heads(unsigned seed) {
  Heads<Role, H> result;
  for (unsigned h = 0; h < H; ++h)
    result[h] = {integers<typename Role::value_type, Role::rows, Role::columns>(seed + 100 * h)};
  return result;
}

// Four query heads of three tokens; two and four key/value heads of as many.
using Q = Query<Rational, 3, 2>;
using K = Key<Rational, 3, 2>;
using V = Value<Rational, 3, 3>;
constexpr auto q = heads<4, Q>(1);
constexpr auto k4 = heads<4, K>(2);
constexpr auto v4 = heads<4, V>(3);
constexpr auto k = heads<2, K>(4);
constexpr auto v = heads<2, V>(5);

template <size_t h, Rule rule = unscaled>
constexpr bool is_alone(const auto& output, const auto& key, const auto& value, size_t read,
                        const auto& mask) {
  return output[h] == attention<rule>(q[h], key[read], value[read], mask);
}

// S11: every head of multi-head attention is attention of its own, to its own keys and values.
constexpr auto multi_head = attention<unscaled>(q, k4, v4, causal);
static_assert(std::is_same_v<decltype(multi_head), const Heads<Matrix<Rational, 3, 3>, 4>>,
              "S11: one output per query head");
static_assert(is_alone<0>(multi_head, k4, v4, 0, causal) &&
                  is_alone<1>(multi_head, k4, v4, 1, causal) &&
                  is_alone<2>(multi_head, k4, v4, 2, causal) &&
                  is_alone<3>(multi_head, k4, v4, 3, causal),
              "S11: head h is Attention(Q_h, K_h, V_h)");
static_assert(multi_head[0] != multi_head[1] && multi_head[2] != multi_head[3],
              "S11: and no two heads are alike here");

// S11: heads know nothing of one another: change everything of one and the others stay.
constexpr bool heads_are_independent() {
  for (size_t changed = 0; changed < 4; ++changed) {
    auto other_q = q;
    auto other_k = k4;
    auto other_v = v4;
    other_q[changed] = {integers<Rational, 3, 2>(77)};
    other_k[changed] = {integers<Rational, 3, 2>(78)};
    other_v[changed] = {integers<Rational, 3, 3>(79)};
    const auto output = attention<unscaled>(other_q, other_k, other_v, causal);
    for (size_t h = 0; h < 4; ++h)
      if ((output[h] == multi_head[h]) != (h != changed)) return false;
  }
  return true;
}
static_assert(heads_are_independent(), "S11: changing one head changes no other");

// S11: attention in heads is: split the width, attend in each part, join. With one head it is
// attention; with two the widths 4 of query and key become twice 2.
constexpr Query wide_q{integers<Rational, 3, 4>(6)};
constexpr Key wide_k{integers<Rational, 3, 4>(7)};
constexpr Value wide_v{integers<Rational, 3, 6>(8)};
constexpr auto split_q = split_heads<2>(wide_q);
static_assert(std::is_same_v<decltype(split_q), const Heads<Query<Rational, 3, 2>, 2>>,
              "a query is split into queries");
static_assert(split_q[1].matrix[2][0] == wide_q.matrix[2][2] &&
                  split_q[0].matrix[2][1] == wide_q.matrix[2][1],
              "column h D + d is entry d of head h");
static_assert(join_heads(split_heads<2>(wide_v.matrix)) == wide_v.matrix &&
                  join_heads(split_heads<3>(wide_v.matrix)) == wide_v.matrix &&
                  join_heads(split_heads<6>(wide_v.matrix)) == wide_v.matrix,
              "join_heads undoes split_heads");
static_assert(join_heads(attention<unscaled>(split_heads<1>(wide_q), split_heads<1>(wide_k),
                                             split_heads<1>(wide_v))) ==
                  attention<unscaled>(wide_q, wide_k, wide_v),
              "S11: one head is attention");
constexpr auto in_two_heads =
    join_heads(attention<unscaled>(split_q, split_heads<2>(wide_k), split_heads<2>(wide_v)));
static_assert(in_two_heads != attention<unscaled>(wide_q, wide_k, wide_v),
              "S11: two heads are something else");

// Grouped heads: blocked, query heads 0 and 1 read key/value head 0 and 2 and 3 head 1; tiled, 0
// and 2 read 0 and 1 and 3 read 1.
constexpr Rule tiled{.scale = Scale::of(1), .head_map = HeadMap::tiled};
constexpr auto blocked_output = attention<unscaled>(q, k, v);
constexpr auto tiled_output = attention<tiled>(q, k, v);
static_assert(is_alone<0>(blocked_output, k, v, 0, everything) &&
                  is_alone<1>(blocked_output, k, v, 0, everything) &&
                  is_alone<2>(blocked_output, k, v, 1, everything) &&
                  is_alone<3>(blocked_output, k, v, 1, everything),
              "blocked: 0 0 1 1");
static_assert(is_alone<0>(tiled_output, k, v, 0, everything) &&
                  is_alone<1>(tiled_output, k, v, 1, everything) &&
                  is_alone<2>(tiled_output, k, v, 0, everything) &&
                  is_alone<3>(tiled_output, k, v, 1, everything),
              "tiled: 0 1 0 1");
static_assert(blocked_output == attention<unscaled>(q, Heads{k[0], k[0], k[1], k[1]},
                                                    Heads{v[0], v[0], v[1], v[1]}),
              "grouped heads are multi-head attention to repeated keys");
static_assert(attention<unscaled>(q, Heads{k[1]}, Heads{v[1]}) ==
                  attention<unscaled>(q, Heads{k[1], k[1], k[1], k[1]},
                                      Heads{v[1], v[1], v[1], v[1]}),
              "multi-query: one key/value head for all");
static_assert(attention<tiled>(q, k4, v4) == attention<unscaled>(q, k4, v4),
              "with a key/value head each the map does not matter");

// Masks, biases and sinks: one for all heads, or one for each query head.
constexpr auto triangle = matrix({{true, false, false}, {true, true, false}, {true, true, true}});
constexpr auto first_only =
    matrix({{true, false, false}, {true, false, false}, {true, false, false}});
constexpr Heads masks{triangle, first_only, triangle, first_only};
constexpr auto masked = attention<unscaled>(q, k, v, masks);
static_assert(is_alone<0>(masked, k, v, 0, triangle) && is_alone<1>(masked, k, v, 0, first_only) &&
                  is_alone<2>(masked, k, v, 1, triangle) &&
                  is_alone<3>(masked, k, v, 1, first_only),
              "a mask for each query head");
static_assert(attention<unscaled>(q, k, v, Heads{triangle, triangle, triangle, triangle}) ==
                  attention<unscaled>(q, k, v, triangle),
              "a shared mask is the same mask for each");
constexpr Heads<Matrix<Rational, 3, 3>, 4> bias{
    integers<Rational, 3, 3>(10), integers<Rational, 3, 3>(11), integers<Rational, 3, 3>(12),
    integers<Rational, 3, 3>(13)};
constexpr Heads sinks{Sink{Rational(2)}, Sink{Rational(-1)}, Sink{Rational(0)}, Sink{Rational(5)}};
static_assert(attention<unscaled>(q, k, v, everything, bias, sinks)[3] ==
                  attention<unscaled>(q[3], k[1], v[1], everything, bias[3], sinks[3]),
              "a bias and a sink for each query head");
static_assert(attention<unscaled>(q, k, v, everything, bias[2], sinks[3])[1] ==
                  attention<unscaled>(q[1], k[0], v[0], everything, bias[2], sinks[3]),
              "a bias and a sink for all");
static_assert(attention_scores<unscaled>(q, k) == Heads{attention_scores<unscaled>(q[0], k[0]),
                                                        attention_scores<unscaled>(q[1], k[0]),
                                                        attention_scores<unscaled>(q[2], k[1]),
                                                        attention_scores<unscaled>(q[3], k[1])} &&
                  attention_scores<tiled>(q, k, bias)[2] ==
                      attention_scores<unscaled>(q[2], k[0], bias[2]) &&
                  attention_scores<tiled>(q, k, bias[1])[3] ==
                      attention_scores<unscaled>(q[3], k[1], bias[1]),
              "S11: scores of each head, with a bias for each or for all");
static_assert(attention_weights<unscaled>(q, k, masks, bias, sinks)[2] * v[1].matrix ==
                  attention<unscaled>(q, k, v, masks, bias, sinks)[2],
              "outputs are weights times values, head by head");

// ALiBi: query head h of H has the slope of head h of H: 2^-2, 2^-4, 2^-6, 2^-8 of four, whatever
// key/value head it reads.
constexpr Rule with_alibi{.alibi = true};
constexpr auto qf = heads<4, Query<float, 3, 4>>(1);
constexpr auto kf = heads<2, Key<float, 3, 4>>(2);
constexpr auto vf = heads<2, Value<float, 3, 2>>(3);
constexpr auto sloped = attention<with_alibi>(qf, kf, vf, causal);
static_assert(sloped[0] == attention(qf[0], kf[0], vf[0], causal, Alibi{0x1p-2f}) &&
                  sloped[1] == attention(qf[1], kf[0], vf[0], causal, Alibi{0x1p-4f}) &&
                  sloped[2] == attention(qf[2], kf[1], vf[1], causal, Alibi{0x1p-6f}) &&
                  sloped[3] == attention(qf[3], kf[1], vf[1], causal, Alibi{0x1p-8f}),
              "the slope of head h of four");
static_assert(sloped[0] != attention(qf[0], kf[0], vf[0], causal, Alibi{0x1p-8f}));
static_assert(attention_scores<with_alibi>(qf, kf)[3] ==
                  attention_scores(qf[3], kf[1], Alibi{0x1p-8f}),
              "the slope of the last head, in scores");

// Log-sum-exp and output of a head are those it has alone.
constexpr auto both = attention_with_log_sum_exp(qf, kf, vf, causal);
constexpr auto alone = attention_with_log_sum_exp(qf[3], kf[1], vf[1], causal);
static_assert(both[3].output == alone.output && both[3].log_sum_exp[2] == alone.log_sum_exp[2]);

// S12: a batch in front, a head dimension in front, both: what happens to a sequence is the same.
constexpr Batch queries{q, heads<4, Q>(21)};
constexpr Batch keys{k, heads<2, K>(22)};
constexpr Batch values{v, heads<2, V>(23)};
constexpr auto in_batch = attention<unscaled>(queries, keys, values, causal);
static_assert(std::is_same_v<decltype(in_batch), const Batch<Heads<Matrix<Rational, 3, 3>, 4>, 2>>,
              "S12: (batch, heads, queries, d_v)");
static_assert(in_batch[0] == attention<unscaled>(queries[0], keys[0], values[0], causal) &&
                  in_batch[1] == attention<unscaled>(queries[1], keys[1], values[1], causal),
              "S12: element n of the batch is the attention of element n");
static_assert(in_batch[1][3] ==
                  attention<unscaled>(queries[1][3], keys[1][1], values[1][1], causal),
              "S12: and head h of it that of head h");
static_assert(attention<unscaled>(Batch{q[0], q[1]}, Batch{k[0], k[1]}, Batch{v[0], v[1]})[1] ==
                  attention<unscaled>(q[1], k[1], v[1]),
              "S12: a batch without heads");
static_assert(attention<unscaled>(Batch{q[0], q[1]}, k[0], v[0], Batch{triangle, first_only})[1] ==
                  attention<unscaled>(q[1], k[0], v[0], first_only),
              "S12: keys and values shared, a mask each");
static_assert(attention<unscaled>(queries, keys, values, Batch{masks, masks}, bias,
                                  Batch{sinks, sinks})[1][1] ==
                  attention<unscaled>(queries[1][1], keys[1][0], values[1][0], masks[1], bias[1],
                                      sinks[1]),
              "S12: parts of an element may be its heads'");
constexpr auto batch_of_both = attention_with_log_sum_exp(Batch{qf, qf}, Batch{kf, kf}, vf, causal);
static_assert(batch_of_both[1][3].output == alone.output &&
                  batch_of_both[1][3].log_sum_exp[1] == alone.log_sum_exp[1],
              "S12: log-sum-exp too");
static_assert(attention_weights<unscaled>(queries, keys, Batch{masks, masks}, bias,
                                          Batch{sinks, sinks})[1][2] ==
                      attention_weights<unscaled>(queries[1][2], keys[1][1], masks[2], bias[2],
                                                  sinks[2]) &&
                  attention_weights<unscaled>(Batch{q[0], q[1]}, k[0],
                                              Batch{triangle, first_only})[1] ==
                      attention_weights<unscaled>(q[1], k[0], first_only),
              "S12: weights too");
constexpr auto scores = attention_scores<unscaled>(queries, keys, bias);
static_assert(std::is_same_v<decltype(scores), const Batch<Heads<Matrix<Rational, 3, 3>, 4>, 2>>,
              "S12: (batch, heads, queries, keys)");
static_assert(scores[0][3] == attention_scores<unscaled>(queries[0][3], keys[0][1], bias[3]) &&
                  scores[1][0] == attention_scores<unscaled>(queries[1][0], keys[1][0], bias[0]) &&
                  attention_scores<unscaled>(Batch{q[0], q[1]}, k[0], Batch{bias[0], bias[2]})[1] ==
                      attention_scores<unscaled>(q[1], k[0], bias[2]),
              "S12: and scores");

// What does not fit.
static_assert(can_attend_in_heads<Heads<Q, 6>, Heads<K, 2>, Heads<V, 2>>);
static_assert(!can_attend_in_heads<Heads<Q, 5>, Heads<K, 2>, Heads<V, 2>>,
              "five query heads, two key/value heads");
static_assert(!can_attend_in_heads<Heads<Q, 2>, Heads<K, 4>, Heads<V, 4>>,
              "more key/value heads than query heads");
static_assert(!can_attend_in_heads<Heads<Q, 4>, Heads<K, 2>, Heads<V, 4>>,
              "two key heads, four value heads");
static_assert(
    !can_attend_in_heads<Heads<Q, 4>, Heads<K, 2>, Heads<V, 2>, Heads<Matrix<bool, 3, 3>, 2>>,
    "a mask per key/value head is not one per query head");
static_assert(!can_attend_in_heads<Heads<Q, 4>, Heads<K, 2>, Heads<V, 2>, Everything,
                                   Heads<Matrix<Rational, 3, 3>, 3>>);
static_assert(!can_attend_in_heads<Heads<Q, 4>, Heads<K, 2>, Heads<V, 2>, Everything, NoBias,
                                   Heads<Sink<Rational>, 3>>);
static_assert(!can_attend_in_heads<Heads<K, 4>, Heads<Q, 4>, Heads<V, 4>>,
              "S16: roles swapped, in heads");
static_assert(!can_attend_in_batch<Batch<Q, 3>, Batch<K, 2>, Batch<V, 3>>,
              "three sequences of queries, two of keys");
static_assert(
    !can_attend_in_batch<Batch<Heads<Q, 3>, 2>, Batch<Heads<K, 2>, 2>, Batch<Heads<V, 2>, 2>>,
    "heads of an element that do not agree");
static_assert(
    !can_attend_in_batch<Batch<Q, 2>, Batch<Heads<K, 1>, 2>, Batch<Heads<V, 1>, 2>> &&
        !can_attend_in_batch<Batch<Q, 2>, Batch<K, 2>, Batch<V, 2>, Heads<Matrix<bool, 3, 3>, 1>>,
    "heads of some parts, where the queries have none");
static_assert(
    can_score_in_heads<Heads<Q, 4>, Heads<K, 2>> && !can_score_in_heads<Heads<Q, 4>, Heads<K, 3>> &&
        !can_score_in_heads<Heads<Q, 4>, Heads<K, 2>, Everything, Heads<Matrix<Rational, 3, 3>, 2>>,
    "scores of heads that do not agree");
static_assert(can_score_in_batch<Batch<Q, 2>, K> && !can_score_in_batch<Batch<Q, 2>, Batch<K, 3>> &&
                  !can_score_in_batch<Batch<Q, 2>, Batch<Heads<K, 1>, 2>>,
              "nor of a batch");
template <class M, size_t H>
concept can_split = requires(const M& m) {
  split_heads<H>(m);
};
static_assert(can_split<Query<float, 3, 12>, 4> && !can_split<Query<float, 3, 12>, 5> &&
                  !can_split<Matrix<float, 3, 12>, 0>,
              "the width is a multiple of the number of heads");

// They cost nothing but what they hold.
static_assert(sizeof(Heads<Query<float, 3, 4>, 5>) == 5 * 3 * 4 * sizeof(float) &&
              std::is_trivially_copyable_v<Batch<Heads<Query<float, 3, 4>, 5>, 2>>);

}  // namespace
