// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Attention: softmax(QKᵀ/√d_k)V, where every query takes the weighted mean of the values whose keys
// resemble it, and what a rule makes of it.
#pragma once
#include <attest/algebra.hpp>
#include <attest/bias.hpp>
#include <attest/concepts.hpp>
#include <attest/log.hpp>
#include <attest/mask.hpp>
#include <attest/matrix.hpp>
#include <attest/roles.hpp>
#include <attest/rows.hpp>
#include <attest/rule.hpp>
#include <attest/score.hpp>
#include <attest/softmax.hpp>

namespace attest {

// What attention asks of its arguments.
template <class Q, class K, class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
concept can_score = can_compare<Q, K> &&
    number_type_has_an_exp_of_its_own<typename Q::value_type> && fits<Visible, Q::rows, K::rows> &&
    adds_to_scores<Bias, typename Q::value_type, Q::rows, K::rows> &&
    sink_has_the_number_type_of_the_scores<Sink, typename Q::value_type>;
template <class Q, class K, class V, class Visible = Everything, class Bias = NoBias,
          class Sink = NoSink>
concept can_attend = query_key_and_value_agree<Q, K, V> && can_score<Q, K, Visible, Bias, Sink>;

// How much each query resembles each key (score.hpp), softcap and bias included, masks not.
template <Rule rule = Rule{}, class Q, class K, class Bias = NoBias>
requires can_score<Q, K, Everything, Bias>
constexpr auto attention_scores(const Q& query, const K& key, const Bias& given_bias = {}) {
  using T = typename Q::value_type;
  Matrix<T, Q::rows, K::rows> scores;
  const auto& bias = bias_of_head<rule, T>(given_bias, 0, 1);
  for (size_t i = 0; i < Q::rows; ++i) {
    const auto& q = query.matrix.entries[i];
    for (size_t j = 0; j < K::rows; ++j)
      scores.entries[i][j] = score<rule>(q, key.matrix.entries[j], bias, i, j);
  }
  return scores;
}

// What share of its attention each query gives to each key: row i is a distribution over the keys
// that query i sees, and the sink if there is one.
template <Rule rule = Rule{}, class Q, class K, class Visible = Everything, class Bias = NoBias,
          class Sink = NoSink>
requires can_score<Q, K, Visible, Bias, Sink>
constexpr auto attention_weights(const Q& query, const K& key, const Visible& mask = {},
                                 const Bias& given_bias = {}, const Sink& sink = {}) {
  using T = typename Q::value_type;
  Matrix<T, Q::rows, K::rows> weights;
  const auto& bias = bias_of_head<rule, T>(given_bias, 0, 1);
  const auto& visible = visible_to_rule<rule>(mask, bias);
  weigh_rows<rule>(query.matrix, key.matrix, visible, bias, sink, weights);
  return weights;
}

// attention_weights(query, key, …) * value to the bit, without the matrix of weights: one query at
// a time, or a few where the processor has vectors (rows.hpp); the scratch is a row of Tk weights
// for each, and the keys transposed where there are several (cost.hpp). The weights are divided by
// their sum before they meet the values, so that no sum leaves the hull of the values: where the
// exact result is finite nothing overflows on the way, which a quotient of sums would for values
// near the end of the range.
//
// A hidden key takes no part: neither its score nor its value is read, so NaN and infinity stay
// where they are. A query that sees no key gets a row of zeros, as ONNX and PyTorch's safe softmax
// have it, unless the rule says otherwise, or the sink takes all.
//
// Error of entry t of a query's output o, to first order in the unit roundoff u; p_j are the exact
// weights, s_j the exact scores, a_j = max s − s_j, n the number of visible keys, d the width of
// query and key:
//   Σ_j p_j φ_j |v_jt − o_t| + (n + 1)·u·(Σ_j p_j |v_jt| + |o_t|),
//   φ_j = u·((d + 1)·|scale|·Σ_k |q_k k_jk| + a_j + 1), and 2·u·|s_j| more where scale is the
//   rounded 1/√d.
// φ_j bounds the relative error of e^{s_j − max}: the dot product, its scaling, the subtraction,
// exp. What all weights have in common cancels in the quotient, hence the centred |v_jt − o_t|. The
// second term is the division of each weight, the weighted sum (Jeannerod & Rump 2013) and the sum
// of weights. Underflow adds a few times the smallest subnormal for each visible key. A bias adds
// u·|s_j| to φ_j, s_j the score with it. A softcap contracts the error that comes before it and
// adds u·(|s_j| + 3·softcap). A sink counts as one key more, of value 0.
template <Rule rule = Rule{}, class Q, class K, class V, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires can_attend<Q, K, V, Visible, Bias, Sink>
constexpr auto attention(const Q& query, const K& key, const V& value, const Visible& mask = {},
                         const Bias& given_bias = {}, const Sink& sink = {}) {
  using T = typename Q::value_type;
  Matrix<T, Q::rows, V::columns> output;
  const auto& bias = bias_of_head<rule, T>(given_bias, 0, 1);
  const auto& visible = visible_to_rule<rule>(mask, bias);
  attend_rows<rule>(query.matrix, key.matrix, value.matrix, visible, bias, sink, output,
                    [](size_t, const auto&) {});
  return output;
}

// The type of a log-sum-exp, which is −∞ where there is no key. A number type without infinity,
// float8_e4m3fn or fixed point, has its log-sum-exp in float, of 32 bits in double.
template <class T>
concept is_without_infinity = !has_infinity<T> && requires(const T& x) {
  static_cast<double>(x);
};
template <class T>
struct LogSumExpOf {
  using type = T;
};
template <is_without_infinity T>
requires(sizeof(T) <= 2) struct LogSumExpOf<T> {
  using type = float;
};
template <is_without_infinity T>
requires(sizeof(T) > 2) struct LogSumExpOf<T> {
  using type = double;
};
template <class T>
using LogSumExp = typename LogSumExpOf<T>::type;

// exact.hpp has none: the logarithm of a fraction is no fraction.
template <class T>
concept number_type_has_a_logarithm = requires(const LogSumExp<T>& x) {
  log(x);
};

// ln Σ_j e^{s_j}, or log₂ of that sum, over what softmax counted; −∞ of nothing. Its error is that
// of the largest score and, u·(n + 1 + |log(total)|) to first order, that of the sum of n terms and
// its logarithm; of fixed point, where the sum is 1 or more, n half units, as long as it does not
// saturate.
template <Rule rule, class T>
constexpr LogSumExp<T> log_sum_exp(const SoftmaxDenominator<T>& denominator) {
  using L = LogSumExp<T>;
  if (denominator.total == T(0)) return minus_infinity<L>();
  if constexpr (rule.log_sum_exp_base == LogBase::e)
    return static_cast<L>(denominator.largest) + log(static_cast<L>(denominator.total));
  else
    return L(0x1.71547652b82fep+0) * static_cast<L>(denominator.largest) +
           log2(static_cast<L>(denominator.total));  // log₂ e
}

template <class T, size_t Tq, size_t Dv>
struct OutputAndLogSumExp {
  Matrix<T, Tq, Dv> output;
  LogSumExp<T> log_sum_exp[Tq]{};
};

// attention, and the log-sum-exp of each query's scores: what two partial results are merged by,
// and what a backward pass starts from.
template <Rule rule = Rule{}, class Q, class K, class V, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires can_attend<Q, K, V, Visible, Bias, Sink> &&
    number_type_has_a_logarithm<typename Q::value_type>
constexpr auto attention_with_log_sum_exp(const Q& query, const K& key, const V& value,
                                          const Visible& mask = {}, const Bias& given_bias = {},
                                          const Sink& sink = {}) {
  using T = typename Q::value_type;
  OutputAndLogSumExp<T, Q::rows, V::columns> result;
  const auto& bias = bias_of_head<rule, T>(given_bias, 0, 1);
  const auto& visible = visible_to_rule<rule>(mask, bias);
  attend_rows<rule>(query.matrix, key.matrix, value.matrix, visible, bias, sink, result.output,
                    [&](size_t i, const SoftmaxDenominator<T>& denominator) {
                      result.log_sum_exp[i] = log_sum_exp<rule>(denominator);
                    });
  return result;
}

}  // namespace attest
