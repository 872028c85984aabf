// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Hard attention: every query takes the value of the key it resembles most. What softmax attention
// tends to as the scale grows.
#pragma once
#include <attest/attention.hpp>
#include <attest/count.hpp>
#include <attest/heads.hpp>

namespace attest {

// One query's row of the output, all zeros before; `score_of_key` is scratch.
template <Rule rule, class T, size_t D, size_t Tk, size_t Dv, class Visible, class Bias, class Sink>
constexpr void attend_hard(const T (&q)[D], const Matrix<T, Tk, D>& key,
                           const Matrix<T, Tk, Dv>& value, const Visible& visible, const Bias& bias,
                           const Sink& sink, size_t i, T (&score_of_key)[Tk], T (&output)[Dv]) {
  const auto& counted = counted_by_softmax<rule>(visible);
  T largest{};
  size_t ties = 0;
  const auto meet = [&](const T& met) {
    if (ties == 0 || met > largest) {
      largest = met;
      ties = 1;
    } else if (met == largest) {
      ++ties;
    }
  };
  for (size_t j = 0; j < Tk; ++j)
    if (sees(counted, i, j)) {
      score_of_key[j] =
          sees(visible, i, j) ? score<rule>(q, key.entries[j], bias, i, j) : T(-rule.softcap);
      meet(score_of_key[j]);
    }
  if constexpr (has_score<Sink>) meet(sink.score);
  if (ties == 0) {
    if constexpr (rule.empty_row == EmptyRow::nan)
      for (T& entry : output) entry = quiet_nan<T>();
    if constexpr (rule.empty_row == EmptyRow::mean) {
      const T each = reciprocal_of_count<T>(Tk);
      for (const auto& v : value.entries) axpy(each, v, output);
    }
    return;
  }
  const T share = reciprocal_of_count<T>(ties);
  for (size_t j = 0; j < Tk; ++j)
    if (sees(counted, i, j) && score_of_key[j] == largest) axpy(share, value.entries[j], output);
}

// The mean of the values whose key has the largest visible score; a sink takes part with value 0.
//
// It is the limit of attention. Let M be those n keys, h their mean, g_j ≥ 0 how far score j is
// below the largest, at scale 1; at scale c > 0
//   attention − h = Σ_{j∉M} e^{−c·g_j}·(v_j − h) / (n + Σ_{j∉M} e^{−c·g_j}),
// at most e^{−c·g}·Σ_{j∉M} |v_j − h|/n, g the smallest gap. For no c is it reached: every visible
// key keeps positive weight. In floating point it is, and to the bit for finite values, where every
// c·g_j as computed is 104 or more in float, 746 in double: e^{−c·g_j} is then less than half the
// smallest number, 2^−150 and 2^−1075, which rounds to 0, and n ones add up to n exactly.
template <Rule rule = Rule{}, class Q, class K, class V, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires can_attend<Q, K, V, Visible, Bias, Sink>
constexpr auto hard_attention(const Q& query, const K& key, const V& value,
                              const Visible& mask = {}, const Bias& given_bias = {},
                              const Sink& sink = {}) {
  using T = typename Q::value_type;
  Matrix<T, Q::rows, V::columns> output;
  const auto& bias = bias_of_head<rule, T>(given_bias, 0, 1);
  const auto& visible = visible_to_rule<rule>(mask, bias);
  for (size_t i = 0; i < Q::rows; ++i) {
    T score_of_key[K::rows]{};
    attend_hard<rule>(query.matrix.entries[i], key.matrix, value.matrix, visible, bias, sink, i,
                      score_of_key, output.entries[i]);
  }
  return output;
}

// In heads and in a batch, as attention is (heads.hpp).
template <Rule rule = Rule{}, class Q, size_t Hq, class K, size_t Hk, class V, size_t Hv,
          class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
requires can_attend_in_heads<Heads<Q, Hq>, Heads<K, Hk>, Heads<V, Hv>, Visible, Bias, Sink>
constexpr auto hard_attention(const Heads<Q, Hq>& query, const Heads<K, Hk>& key,
                              const Heads<V, Hv>& value, const Visible& mask = {},
                              const Bias& bias = {}, const Sink& sink = {}) {
  return for_each_head<rule>(query, key, value, mask, bias, sink, [](const auto&... parts) {
    return hard_attention<without_alibi(rule)>(parts...);
  });
}
template <Rule rule = Rule{}, class Q, size_t N, class K, class V, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires can_attend_in_batch<Batch<Q, N>, K, V, Visible, Bias, Sink>
constexpr auto hard_attention(const Batch<Q, N>& query, const K& key, const V& value,
                              const Visible& mask = {}, const Bias& bias = {},
                              const Sink& sink = {}) {
  return for_each_element([](const auto&... parts) { return hard_attention<rule>(parts...); },
                          query, key, value, mask, bias, sink);
}

}  // namespace attest
