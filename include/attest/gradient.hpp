// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Gradients: how a number computed from attention changes with query, key, value, bias and sink.
#pragma once
#include <attest/algebra.hpp>
#include <attest/attention.hpp>
#include <attest/concepts.hpp>
#include <attest/exp.hpp>
#include <attest/heads.hpp>
#include <attest/matrix.hpp>
#include <attest/rule.hpp>
#include <attest/score.hpp>
#include <attest/softmax.hpp>

namespace attest {

// How each weight p_j of softmax changes with each score s_k: ∂p_j/∂s_k = p_j·(δ_jk − p_k), the
// matrix diag(p) − p pᵀ. It is symmetric, and each of its rows sums to zero: shifting all scores
// changes no weight.
template <class T, size_t N>
constexpr Matrix<T, N, N> softmax_jacobian(const T (&weight)[N]) {
  Matrix<T, N, N> jacobian;
  for (size_t j = 0; j < N; ++j)
    for (size_t k = 0; k < N; ++k)
      jacobian.entries[j][k] = j == k ? weight[j] * (T(1) - weight[j]) : -(weight[j] * weight[k]);
  return jacobian;
}

// x becomes (diag(p) − p pᵀ)x without the matrix: p_j·(x_j − p·x). An entry without weight gets 0.
template <class T, size_t N>
constexpr void times_softmax_jacobian(const T (&weight)[N], T (&x)[N]) {
  const T mean = dot(weight, x);
  for (size_t j = 0; j < N; ++j) x[j] = weight[j] * (x[j] - mean);
}

// The slope of the softcap where it caps the score z: 1 − tanh²(z/softcap), as 4w/(1 + w)² with
// w = e^{−2|z|/softcap}. Where tanh is near ±1 the subtraction would lose all digits; so the
// relative error is 5·u and, from the quotient, 2·|z/softcap|·u.
template <Rule rule, class T>
constexpr T slope_of_cap(const T& z) {
  const T x = z / T(rule.softcap);
  const T w = exp(x > T(0) ? -(x + x) : x + x);
  const T one_and_w = T(1) + w;
  return T(4) * w / (one_and_w * one_and_w);
}
constexpr Rule without_softcap(Rule rule) {
  rule.softcap = 0;
  return rule;
}

// The gradient of a query, key, value or bias is a matrix, that of a sink a number; of a bias that
// is none and of no sink there is None. Heads and batches of them have one each.
template <class Part, class None>
struct GradientOfPart {
  using type = None;
};
template <class T, size_t R, size_t C, class None>
struct GradientOfPart<Matrix<T, R, C>, None> {
  using type = Matrix<T, R, C>;
};
template <class T, size_t R, size_t C, class None>
struct GradientOfPart<Query<T, R, C>, None> {
  using type = Matrix<T, R, C>;
};
template <class T, size_t R, size_t C, class None>
struct GradientOfPart<Key<T, R, C>, None> {
  using type = Matrix<T, R, C>;
};
template <class T, size_t R, size_t C, class None>
struct GradientOfPart<Value<T, R, C>, None> {
  using type = Matrix<T, R, C>;
};
template <class T, class None>
struct GradientOfPart<Sink<T>, None> {
  using type = T;
};
template <class Part, class None>
concept part_has_a_gradient = !is_same_type<typename GradientOfPart<Part, None>::type, None>;
template <class A, size_t H, class None>
requires part_has_a_gradient<A, None>
struct GradientOfPart<Heads<A, H>, None> {
  using type = Heads<typename GradientOfPart<A, None>::type, H>;
};
template <class A, size_t N, class None>
requires part_has_a_gradient<A, None>
struct GradientOfPart<Batch<A, N>, None> {
  using type = Batch<typename GradientOfPart<A, None>::type, N>;
};

// The derivatives of one number with respect to each entry of what attention was given.
template <class DQuery, class DKey, class DValue, class DBias, class DSink>
struct AttentionGradient {
  DQuery query{};
  DKey key{};
  DValue value{};
  DBias bias{};
  DSink sink{};
};
template <class Q, class K, class V, class Bias, class Sink>
using GradientOf = AttentionGradient<
    typename GradientOfPart<Q, void>::type, typename GradientOfPart<K, void>::type,
    typename GradientOfPart<V, void>::type, typename GradientOfPart<Bias, NoBias>::type,
    typename GradientOfPart<Sink, NoSink>::type>;

// What a gradient starts from: the derivatives of the number with respect to the outputs, in the
// form attention or attention_with_log_sum_exp returns them.
template <class G, class T, size_t Tq, size_t Dv>
concept output_gradient_has_the_form_of_the_output =
    is_same_type<G, Matrix<T, Tq, Dv>> || is_same_type<G, OutputAndLogSumExp<T, Tq, Dv>>;

template <class Q, class K, class V, class G, class Visible = Everything, class Bias = NoBias,
          class Sink = NoSink>
concept can_differentiate_attention = can_attend<Q, K, V, Visible, Bias, Sink> &&
    output_gradient_has_the_form_of_the_output<G, typename Q::value_type, Q::rows, V::columns>;

template <class DOutput>
concept has_log_sum_exp = requires(const DOutput& d_output) {
  d_output.log_sum_exp;
};
template <class T, size_t Tq, size_t Dv>
constexpr const T (&output_row(const Matrix<T, Tq, Dv>& output, size_t i))[Dv] {
  return output.entries[i];
}
template <class T, size_t Tq, size_t Dv>
constexpr const T (&output_row(const OutputAndLogSumExp<T, Tq, Dv>& output, size_t i))[Dv] {
  return output.output.entries[i];
}

// How much the log-sum-exp weighs in the number, by the natural logarithm: d log₂ x = log₂ e·d ln
// x.
template <Rule rule, class T, size_t Tq, size_t Dv>
constexpr T log_sum_exp_gradient(const OutputAndLogSumExp<T, Tq, Dv>& output, size_t i) {
  if constexpr (rule.log_sum_exp_base == LogBase::e)
    return T(output.log_sum_exp[i]);
  else
    return T(0x1.71547652b82fep+0) * T(output.log_sum_exp[i]);
}

// Adds what one query contributes to the gradients.
template <Rule rule, class T, size_t D, size_t Tk, size_t Dv, class DOutput, class Visible,
          class Bias, class Sink, class DBias, class DSink>
constexpr void add_gradients_of_query(const T (&q)[D], const Matrix<T, Tk, D>& key,
                                      const Matrix<T, Tk, Dv>& value, const DOutput& d_outputs,
                                      const Visible& visible, const Bias& bias, const Sink& sink,
                                      size_t i, T (&d_query)[D], Matrix<T, Tk, D>& d_key,
                                      Matrix<T, Tk, Dv>& d_value, DBias& d_bias, DSink& d_sink) {
  const T(&d_output)[Dv] = output_row(d_outputs, i);
  T weight[Tk]{}, d_weight[Tk]{};
  const auto denominator = weigh_keys<rule>(q, key, visible, bias, sink, i, weight);
  if (denominator.total == T(0)) {
    if constexpr (rule.empty_row == EmptyRow::mean || rule.empty_row == EmptyRow::nan)
      for (size_t j = 0; j < Tk; ++j) axpy(weight[j], d_output, d_value.entries[j]);
    return;
  }
  for (size_t j = 0; j < Tk; ++j)
    if (sees(counted_by_softmax<rule>(visible), i, j)) {
      axpy(weight[j], d_output, d_value.entries[j]);
      d_weight[j] = dot(d_output, value.entries[j]);
    }
  T level = dot(weight, d_weight);
  if constexpr (has_log_sum_exp<DOutput>) level = level - log_sum_exp_gradient<rule>(d_outputs, i);
  if constexpr (has_score<Sink>) {
    const T d_score = exp(sink.score - denominator.largest) / denominator.total * level;
    d_sink = d_sink - d_score;
  }
  constexpr bool has_cap = rule.softcap != 0;
  constexpr bool bias_is_capped = has_cap && rule.softcap_place == SoftcapPlace::after_mask;
  for (size_t j = 0; j < Tk; ++j)
    if (sees(visible, i, j)) {
      const T d_score = weight[j] * (d_weight[j] - level);
      T d_product = d_score;
      if constexpr (bias_is_capped)
        d_product = d_score *
                    slope_of_cap<rule>(score<without_softcap(rule)>(q, key.entries[j], bias, i, j));
      else if constexpr (has_cap)
        d_product = d_score * slope_of_cap<rule>(
                                  score<without_softcap(rule)>(q, key.entries[j], no_bias, i, j));
      if constexpr (!is_same_type<DBias, NoBias>)
        d_bias.entries[i][j] = d_bias.entries[i][j] + (bias_is_capped ? d_product : d_score);
      d_product = scale_of<rule, T, D> * d_product;
      axpy(d_product, key.entries[j], d_query);
      axpy(d_product, q, d_key.entries[j]);
    }
}

// Adds what each query of a head contributes, one after the other; so for each head of several, and
// for each element of a batch.
template <Rule rule, class T, size_t Tq, size_t D, class K, class V, class DOutput, class Visible,
          class Bias, class Sink, class DKey, class DValue, class DBias, class DSink>
constexpr void add_gradients(const Query<T, Tq, D>& query, const K& key, const V& value,
                             const DOutput& d_output, const Visible& mask, const Bias& given_bias,
                             const Sink& sink, Matrix<T, Tq, D>& d_query, DKey& d_key,
                             DValue& d_value, DBias& d_bias, DSink& d_sink) {
  const auto& bias = bias_of_head<rule, T>(given_bias, 0, 1);
  const auto& visible = visible_to_rule<rule>(mask, bias);
  for (size_t i = 0; i < Tq; ++i)
    add_gradients_of_query<rule>(query.matrix.entries[i], key.matrix, value.matrix, d_output,
                                 visible, bias, sink, i, d_query.entries[i], d_key, d_value, d_bias,
                                 d_sink);
}
template <Rule rule, class Q, size_t Hq, class K, size_t Hk, class V, class DOutput, class Visible,
          class Bias, class Sink, class DQuery, class DKey, class DValue, class DBias, class DSink>
constexpr void add_gradients(const Heads<Q, Hq>& query, const Heads<K, Hk>& key,
                             const Heads<V, Hk>& value, const Heads<DOutput, Hq>& d_output,
                             const Visible& mask, const Bias& bias, const Sink& sink,
                             DQuery& d_query, DKey& d_key, DValue& d_value, DBias& d_bias,
                             DSink& d_sink) {
  for (size_t h = 0; h < Hq; ++h) {
    const size_t read = key_value_head(rule.head_map, h, Hq, Hk);
    add_gradients<without_alibi(rule)>(
        query.head[h], key.head[read], value.head[read], d_output.head[h], part_of_head(mask, h),
        bias_of_head<rule, typename Q::value_type>(part_of_head(bias, h), h, Hq),
        part_of_head(sink, h), d_query.head[h], d_key.head[read], d_value.head[read],
        part_of_head(d_bias, h), part_of_head(d_sink, h));
  }
}
template <Rule rule, class Q, size_t N, class K, class V, class DOutput, class Visible, class Bias,
          class Sink, class DQuery, class DKey, class DValue, class DBias, class DSink>
constexpr void add_gradients(const Batch<Q, N>& query, const K& key, const V& value,
                             const Batch<DOutput, N>& d_output, const Visible& mask,
                             const Bias& bias, const Sink& sink, DQuery& d_query, DKey& d_key,
                             DValue& d_value, DBias& d_bias, DSink& d_sink) {
  for (size_t n = 0; n < N; ++n)
    add_gradients<rule>(query.element[n], part_of_element(key, n), part_of_element(value, n),
                        d_output.element[n], part_of_element(mask, n), part_of_element(bias, n),
                        part_of_element(sink, n), d_query.element[n], part_of_element(d_key, n),
                        part_of_element(d_value, n), part_of_element(d_bias, n),
                        part_of_element(d_sink, n));
}
template <Rule rule, class Q, class K, class V, class DOutput, class Visible, class Bias,
          class Sink>
constexpr auto gradient_of_attention(const Q& query, const K& key, const V& value,
                                     const DOutput& d_output, const Visible& mask, const Bias& bias,
                                     const Sink& sink) {
  GradientOf<Q, K, V, Bias, Sink> gradient;
  add_gradients<rule>(query, key, value, d_output, mask, bias, sink, gradient.query, gradient.key,
                      gradient.value, gradient.bias, gradient.sink);
  return gradient;
}

// The gradient of a number that depends on attention(query, key, value, mask, bias, sink), given
// its derivatives with respect to the output: Σ_it d_output_it·∂o_it/∂x for every entry x of query,
// key, value, bias (a matrix) and sink. With d_output of the type attention_with_log_sum_exp
// returns, the number depends on the log-sum-exp too.
//
// With p_ij the weights, s_ij the scores, z_ij = scale·(q_i·k_j) and l_i the log-sum-exp:
//   d_value_j = Σ_i p_ij d_output_i
//   d_p_ij    = d_output_i·v_j
//   D_i       = Σ_j p_ij d_p_ij = d_output_i·o_i
//   d_s_ij    = p_ij·(d_p_ij − D_i + d_l_i)      (diag(p) − p pᵀ, and ∂l/∂s_j = p_j)
//   d_z_ij    = d_s_ij·(1 − tanh²)               if there is a softcap
//   d_bias_ij = d_s_ij, or d_z_ij where the softcap stands after the mask
//   d_query_i = Σ_j scale·d_z_ij k_j,  d_key_j = Σ_i scale·d_z_ij q_i
//   d_sink    = Σ_i p_i,sink·(d_l_i − D_i)
// (Dao, "FlashAttention-2", 2023, section 2.3.2; the sink is a key whose value is 0.) One query at
// a time; the scratch is two rows of Tk numbers. Every sum over keys runs in the order of the keys
// and every sum over queries in the order of the queries, so that d_value is
// transpose(attention_weights(…)) * d_output to the bit.
//
// What is hidden is not read and gets zero. A query that sees no key has the gradients of what the
// rule returns for it: of zeros, none; of the mean, d_output/Tk for each value; of NaN, NaN for
// each value. A hidden key with a score (softcap after the mask) has a value but no key of its own.
//
// Error, to first order in the unit roundoff u. φ_ij is the relative error of e^{s_ij − max} stated
// at attention, n the keys a query sees and its sink, m the queries, d_v the width of the values,
// y_ij = d_p_ij − D_i + d_l_i; all sums over keys include the sink:
//   p_ij:      ω_ij·p_ij,  ω_ij = φ_ij + Σ_k p_ik φ_ik + n·u
//   d_p_ij:    e_ij = d_v·u·Σ_t |d_output_it v_jt|
//   D_i − d_l_i: E_i = Σ_j p_ij (φ_ij |d_p_ij − D_i| + e_ij + 2·n·u·|d_p_ij|), and with a d_l
//              u·|D_i − d_l_i| more, in base two 2·u·|d_l_i| besides
//   d_s_ij:    p_ij·(e_ij + E_i + (ω_ij + 2·u)·|y_ij|)
//   d_z_ij:    (1 − tanh²)·(that of d_s_ij + ((6 + 2·|x|)·u + 2·|tanh x|·ζ/softcap)·|d_s_ij|) with
//              a softcap, x = z_ij/softcap and ζ the error of z_ij
//   g_ij = scale·d_z_ij: γ_ij = |scale|·(that of d_z_ij) + 3·u·|g_ij|, 1/√d rounded; u·|g_ij| where
//              scale is a given number
//   d_query_it: Σ_j (γ_ij + n·u·|g_ij|)·|k_jt|
//   d_key_jt:   Σ_i (γ_ij + m·u·|g_ij|)·|q_it|
//   d_value_jt: Σ_i (ω_ij + m·u)·p_ij·|d_output_it|
//   d_sink:     Σ_i p_i,sink·(E_i + (ω_i,sink + (m + 1)·u)·|y_i,sink|)
// A weight's own error comes in twice: as the factor p_ij, and in D_i, where what all weights have
// in common but their sum cancels, hence the centred d_p_ij − D_i. Underflow adds the smallest
// subnormal a few times for each term, multiplied by what the term is multiplied with. On random
// calls the largest error observed is half the bound (tests/gradient.cpp).
template <Rule rule = Rule{}, class Q, class K, class V, class DOutput, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires can_differentiate_attention<Q, K, V, DOutput, Visible, Bias, Sink>
constexpr auto attention_gradient(const Q& query, const K& key, const V& value,
                                  const DOutput& d_output, const Visible& mask = {},
                                  const Bias& bias = {}, const Sink& sink = {}) {
  return gradient_of_attention<rule>(query, key, value, d_output, mask, bias, sink);
}

template <size_t Heads, size_t QueryHeads>
concept one_output_gradient_per_query_head = Heads == QueryHeads;
template <class Q, class K, class V, class G, class Visible = Everything, class Bias = NoBias,
          class Sink = NoSink>
concept can_differentiate_attention_in_heads = can_attend_in_heads<Q, K, V, Visible, Bias, Sink> &&
    one_output_gradient_per_query_head<G::heads, Q::heads> &&
    output_gradient_has_the_form_of_the_output<typename G::head_type,
                                               typename Q::head_type::value_type,
                                               Q::head_type::rows, V::head_type::columns>;

// The gradient of a number that depends on the attention of several heads. What several query heads
// read, a key/value head, a shared bias or a shared sink, has the sum of their gradients: they add
// to it in the order of the heads, each query in turn.
template <Rule rule = Rule{}, class Q, size_t Hq, class K, size_t Hk, class V, size_t Hv,
          class DOutput, size_t Hg, class Visible = Everything, class Bias = NoBias,
          class Sink = NoSink>
requires can_differentiate_attention_in_heads<Heads<Q, Hq>, Heads<K, Hk>, Heads<V, Hv>,
                                              Heads<DOutput, Hg>, Visible, Bias, Sink>
constexpr auto attention_gradient(const Heads<Q, Hq>& query, const Heads<K, Hk>& key,
                                  const Heads<V, Hv>& value, const Heads<DOutput, Hg>& d_output,
                                  const Visible& mask = {}, const Bias& bias = {},
                                  const Sink& sink = {}) {
  return gradient_of_attention<rule>(query, key, value, d_output, mask, bias, sink);
}

template <size_t Elements, size_t QueryElements>
concept one_output_gradient_per_element_of_the_batch = Elements == QueryElements;
template <class G, class Q>
concept output_gradient_is_in_heads_where_the_query_is = is_in_heads<G>
== is_in_heads<Q>;
template <class Q, class K, class V, class G, class Visible, class Bias, class Sink>
concept can_differentiate_attention_of_element =
    query_key_and_value_are_in_heads_or_nothing_is<Q, K, V, Visible, Bias, Sink> &&
    output_gradient_is_in_heads_where_the_query_is<G, Q> &&
    can_differentiate_attention_in_heads < typename InHeads<Q>::type,
typename InHeads<K>::type, typename InHeads<V>::type, typename InHeads<G>::type, Visible, Bias,
    Sink > ;
template <class Q, class K, class V, class G, class Visible = Everything, class Bias = NoBias,
          class Sink = NoSink>
concept can_differentiate_attention_in_batch =
    batch_agrees<K, V, Visible, Bias, Sink, Q::elements> &&
    one_output_gradient_per_element_of_the_batch<G::elements, Q::elements> &&
    can_differentiate_attention_of_element < typename PartOfElement<Q>::type,
typename PartOfElement<K>::type, typename PartOfElement<V>::type, typename PartOfElement<G>::type,
    typename PartOfElement<Visible>::type, typename PartOfElement<Bias>::type,
    typename PartOfElement<Sink>::type > ;

// The gradient of a number that depends on the attention of a batch. Of what each element has its
// own, each has its own gradient; what they share has the sum: they add to it in their order, each
// as it does alone.
template <Rule rule = Rule{}, class Q, size_t N, class K, class V, class DOutput, size_t M,
          class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
requires can_differentiate_attention_in_batch<Batch<Q, N>, K, V, Batch<DOutput, M>, Visible, Bias,
                                              Sink>
constexpr auto attention_gradient(const Batch<Q, N>& query, const K& key, const V& value,
                                  const Batch<DOutput, M>& d_output, const Visible& mask = {},
                                  const Bias& bias = {}, const Sink& sink = {}) {
  return gradient_of_attention<rule>(query, key, value, d_output, mask, bias, sink);
}

}  // namespace attest
