// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The gradient of attention is its derivative. In exact fractions both are computed, the gradient
// by gradient.hpp, the derivative by putting dual numbers through attention itself, and compared
// with ==; in double the gradient is compared with differences of attention.
//
// The weight there is 2^x, whose derivative is ln 2·2^x. Scores enter attention by nothing else, so
// that every derivative with respect to query, key, bias or sink is a fraction times ln 2, and with
// respect to a value a fraction: what the headers compute are these fractions. Measured in units of
// ln 2 the derivative of 2^x is 2^x, and that is what the dual numbers say.
#include <attest/exact.hpp>
#include <attest/gradient.hpp>
#include <limits>
#include <type_traits>

#include "decimals.hpp"

namespace {
using namespace attest;
using proofs::decimals;
using Rational = small_rational;

// a + b·ε with ε² = 0: b is the derivative of a in the direction that gave the arguments theirs.
struct Dual {
  Rational value, slope;

  constexpr Dual(int whole = 0) : value(whole) {}
  explicit constexpr Dual(double x) : value(x) {}
  constexpr Dual(const Rational& v, const Rational& s) : value(v), slope(s) {}

  friend constexpr Dual operator+(const Dual& x, const Dual& y) {
    return {x.value + y.value, x.slope + y.slope};
  }
  friend constexpr Dual operator-(const Dual& x, const Dual& y) {
    return {x.value - y.value, x.slope - y.slope};
  }
  friend constexpr Dual operator*(const Dual& x, const Dual& y) {
    return {x.value * y.value, x.slope * y.value + x.value * y.slope};
  }
  friend constexpr Dual operator/(const Dual& x, const Dual& y) {
    const Rational quotient = x.value / y.value;
    return {quotient, (x.slope - quotient * y.slope) / y.value};
  }
  friend constexpr bool operator>(const Dual& x, const Dual& y) { return x.value > y.value; }
  friend constexpr Dual exp(const Dual& x) {
    const Rational power = weight(x.value);
    return {power, power * x.slope};
  }
};
template <size_t R, size_t C>
constexpr Matrix<Dual, R, C> dual(const Matrix<Rational, R, C>& a) {
  Matrix<Dual, R, C> result;
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < C; ++j) result[i][j] = Dual(a[i][j], Rational(0));
  return result;
}

// Two queries, three keys, a bias and a sink.
constexpr Query Q{matrix<Rational>({{1, -1}, {2, 1}})};
constexpr Key K{matrix<Rational>({{1, 1}, {-1, 0}, {0, 2}})};
constexpr Value V{matrix<Rational>({{5, 0}, {1, -4}, {-2, 3}})};
constexpr auto B = matrix<Rational>({{1, 0, -1}, {-2, 1, 0}});
constexpr Sink S{Rational(1)};
constexpr auto G = matrix<Rational>({{1, -2}, {3, 1}});  // how much each output matters

template <Rule rule = unscaled, class Visible = Everything>
constexpr auto gradient(const Visible& visible = {}) {
  return attention_gradient<rule>(Q, K, V, G, visible, B, S);
}

// Σ G·∂o, the derivatives ∂o taken by attention in dual numbers.
template <Rule rule>
constexpr Rational derivative(const auto& q, const auto& k, const auto& v, const auto& visible,
                              const auto& b, const Dual& s) {
  const auto output = attention<rule>(Query{q}, Key{k}, Value{v}, visible, b, Sink{s});
  Rational sum;
  for (size_t i = 0; i < 2; ++i)
    for (size_t t = 0; t < 2; ++t) sum = sum + G[i][t] * output[i][t].slope;
  return sum;
}
// Whether each entry of the gradient is the derivative in the direction of that entry.
template <size_t R, size_t C>
constexpr bool is_derivative(const Matrix<Rational, R, C>& claimed, Matrix<Dual, R, C> x,
                             auto&& derivative_at) {
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < C; ++j) {
      x[i][j].slope = Rational(1);
      if (!(derivative_at(x) == claimed[i][j])) return false;
      x[i][j].slope = Rational(0);
    }
  return true;
}
constexpr auto q = dual(Q.matrix);
constexpr auto k = dual(K.matrix);
constexpr auto v = dual(V.matrix);
constexpr auto b = dual(B);
constexpr Dual s{S.score, Rational(0)};

template <Rule rule = unscaled, class Visible = Everything>
constexpr bool of_query(const Visible& see = {}) {
  return is_derivative(gradient<rule>(see).query, q,
                       [&](auto& x) { return derivative<rule>(x, k, v, see, b, s); });
}
template <Rule rule = unscaled, class Visible = Everything>
constexpr bool of_key(const Visible& see = {}) {
  return is_derivative(gradient<rule>(see).key, k,
                       [&](auto& x) { return derivative<rule>(q, x, v, see, b, s); });
}
template <Rule rule = unscaled, class Visible = Everything>
constexpr bool of_value(const Visible& see = {}) {
  return is_derivative(gradient<rule>(see).value, v,
                       [&](auto& x) { return derivative<rule>(q, k, x, see, b, s); });
}
template <Rule rule = unscaled, class Visible = Everything>
constexpr bool of_bias(const Visible& see = {}) {
  return is_derivative(gradient<rule>(see).bias, b,
                       [&](auto& x) { return derivative<rule>(q, k, v, see, x, s); });
}
template <Rule rule = unscaled, class Visible = Everything>
constexpr bool of_sink(const Visible& see = {}) {
  return derivative<rule>(q, k, v, see, b, Dual(S.score, Rational(1))) == gradient<rule>(see).sink;
}
static_assert(of_query(), "d_query is the derivative");
static_assert(of_key(), "d_key is the derivative");
static_assert(of_value(), "d_value is the derivative");
static_assert(of_bias(), "d_bias is the derivative");
static_assert(of_sink(), "d_sink is the derivative");

constexpr Rule scaled{.scale = Scale::of(-2)};
static_assert(of_query<scaled>() && of_key<scaled>(), "with a scale");
constexpr Rule past{.scale = Scale::of(1), .causal = true};
static_assert(of_query<past>() && of_key<past>(), "where no query sees a later key");
static_assert(of_value<past>() && of_bias<past>() && of_sink<past>());
constexpr Rule near{.scale = Scale::of(1), .offset = 1, .window_left = 0, .window_right = 0};
static_assert(of_query<near>() && of_key<near>() && of_value<near>(), "in a window of one key");
constexpr auto mask = matrix({{true, false, true}, {false, false, false}});
static_assert(of_query(mask) && of_key(mask), "under a mask that leaves a query nothing");
static_assert(of_value(mask) && of_bias(mask) && of_sink(mask));

// What is wrong is not a derivative: half of it, or that of another rule.
static_assert(!is_derivative(matrix<Rational>({{1, 1}, {1, 1}}) + gradient().query, q, [](auto& x) {
  return derivative<unscaled>(x, k, v, everything, b, s);
}));
static_assert(!(gradient().key == gradient<past>().key) &&
              !(gradient().sink == gradient(mask).sink));

// A row no key of which is seen: of zeros nothing depends on, of the mean each value has its 1/n.
template <EmptyRow row>
constexpr auto of_empty_row = attention_gradient<Rule{.empty_row = row}>(
    Query{matrix({{1., 2.}})}, Key{matrix({{3., 1.}, {0., 2.}, {1., 1.}, {5., 0.}})},
    Value{matrix({{1.}, {2.}, {3.}, {4.}})}, matrix({{6.}}),
    matrix({{false, false, false, false}}));
static_assert(of_empty_row<EmptyRow::zero>.value == Matrix<double, 4, 1>{} &&
                  of_empty_row<EmptyRow::unspecified>.value == Matrix<double, 4, 1>{},
              "zeros: no gradient");
static_assert(of_empty_row<EmptyRow::mean>.value == matrix({{1.5}, {1.5}, {1.5}, {1.5}}),
              "the mean: d_output/n for each value");
template <EmptyRow row>
constexpr bool no_score_no_gradient = of_empty_row<row>.query == Matrix<double, 1, 2>{} &&
                                      of_empty_row<row>.key == Matrix<double, 4, 2>{};
static_assert(no_score_no_gradient<EmptyRow::zero> && no_score_no_gradient<EmptyRow::mean>);

// softmax: diag(p) − p pᵀ.
constexpr auto P = softmax(matrix<Rational>({{3, 1, 0, 1}}));  // 8/13, 2/13, 1/13, 2/13
constexpr auto J = softmax_jacobian(P[0]);
static_assert(J[0][0] == Rational(8 * 5, 169) && J[0][1] == Rational(-8 * 2, 169) &&
              J[2][2] == Rational(12, 169));
static_assert(J == transpose(J), "the Jacobian of softmax is symmetric");
static_assert(J * matrix<Rational>({{1}, {1}, {1}, {1}}) == Matrix<Rational, 4, 1>{},
              "its rows sum to zero: a shift of all scores changes no weight");
constexpr auto x = matrix<Rational>({{4, -1, 2, 7}});
constexpr auto times_jacobian(const Matrix<Rational, 1, 4>& a) {
  auto result = a;
  times_softmax_jacobian(P[0], result[0]);
  return result;
}
static_assert(times_jacobian(x) == x * J, "(diag(p) - pp^T)x without the matrix");
// xᵀJx = Σ p x² − (Σ p x)², a variance: a score pulls its own weight up.
static_assert((x * J * transpose(x))[0][0] ==
                  Rational(8 * 16 + 2 * 1 + 1 * 4 + 2 * 49, 13) -
                      Rational(8 * 4 - 2 + 2 + 2 * 7, 13) * Rational(8 * 4 - 2 + 2 + 2 * 7, 13),
              "x^T J x is the variance of x under p");

// Laws of attention without bias and sink: what attention does not notice has no derivative.
constexpr auto plain =
    attention_gradient<unscaled>(Q, K, V, G, everything, Matrix<Rational, 2, 3>{});
constexpr auto weights = attention_weights<unscaled>(Q, K);
constexpr auto ones = matrix<Rational>({{1}, {1}, {1}});
static_assert(plain.bias * ones == Matrix<Rational, 2, 1>{},
              "sum over the keys of d_score = 0: a shift of all scores changes nothing");
static_assert(transpose(ones) * plain.key == Matrix<Rational, 1, 2>{},
              "sum of d_key = 0: one vector added to all keys shifts all scores of a query alike");
static_assert(
    transpose(ones) * plain.value == matrix<Rational>({{1, 1}}) * G,
    "sum of d_value = sum of d_output: what is added to all values is added to the output");
static_assert(plain.value == transpose(weights) * G, "d_value = P^T d_output");
static_assert(plain.query == plain.bias * K.matrix, "d_query = scale d_scores K");
static_assert(plain.key == transpose(plain.bias) * Q.matrix, "d_key = scale d_scores^T Q");
constexpr Rational inner(const auto& a, const auto& c) {
  Rational sum;
  for (size_t i = 0; i < a.rows; ++i)
    for (size_t j = 0; j < a.columns; ++j) sum = sum + a[i][j] * c[i][j];
  return sum;
}
static_assert(inner(Q.matrix, plain.query) == inner(K.matrix, plain.key),
              "<Q, dQ> = <K, dK>: q and k enter by their product");
static_assert(inner(V.matrix, plain.value) == inner(G, attention<unscaled>(Q, K, V)),
              "<V, dV> = <O, dO>: the output is linear in the values");
constexpr auto G2 = matrix<Rational>({{-4, 1}, {0, 2}});
constexpr auto of_sum = attention_gradient<unscaled>(Q, K, V, Rational(3) * G + G2);
constexpr auto of_second = attention_gradient<unscaled>(Q, K, V, G2);
static_assert(of_sum.query == Rational(3) * plain.query + of_second.query &&
                  of_sum.key == Rational(3) * plain.key + of_second.key &&
                  of_sum.value == Rational(3) * plain.value + of_second.value,
              "linear in d_output");
// The sink is one score more: all of them shifted, nothing changes.
static_assert(inner(gradient().bias, matrix<Rational>({{1, 1, 1}, {1, 1, 1}})) + gradient().sink ==
                  Rational(0),
              "the sum over keys and sink of d_score = 0");

// S8: tokens shuffled, the gradients shuffle the same way.
template <size_t R, size_t C>
constexpr Matrix<Rational, R, C> rows_of(const Matrix<Rational, R, C>& m,
                                         const size_t (&order)[R]) {
  Matrix<Rational, R, C> result;
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < C; ++j) result[i][j] = m[order[i]][j];
  return result;
}
constexpr bool shuffles(const size_t (&order)[3]) {
  const auto shuffled = attention_gradient<unscaled>(Q, Key{rows_of(K.matrix, order)},
                                                     Value{rows_of(V.matrix, order)}, G);
  return shuffled.query == plain.query && shuffled.key == rows_of(plain.key, order) &&
         shuffled.value == rows_of(plain.value, order);
}
static_assert(shuffles({0, 2, 1}) && shuffles({1, 0, 2}) && shuffles({1, 2, 0}) &&
                  shuffles({2, 0, 1}) && shuffles({2, 1, 0}),
              "S8: shuffling keys with their values shuffles their gradients");

// S10, and what is hidden: not read, though it be NaN, and without gradient.
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr Query two{matrix({{1., 2.}, {0., 1.}})};
constexpr Key poisoned_keys{matrix({{1., 1.}, {0.5, -1.}, {nan, infinity}})};
constexpr Value poisoned_values{matrix({{3., 4.}, {-1., 2.}, {infinity, nan}})};
constexpr auto poisoned = attention_gradient<Rule{.causal = true}>(
    two, poisoned_keys, poisoned_values, matrix({{1., 2.}, {3., 4.}}));
static_assert(poisoned.key[2][0] == 0 && poisoned.key[2][1] == 0 && poisoned.value[2][0] == 0 &&
                  poisoned.value[2][1] == 0,
              "S10: a later token gets no gradient");
static_assert(poisoned.query[0][0] == 0 && poisoned.query[0][1] == 0,
              "S10: the first token sees one key, and nothing can change its weight of 1");
static_assert(poisoned.key[1][1] != 0 && poisoned.value[1][0] != 0 && poisoned.query[1][0] != 0);
static_assert(attention_gradient(two, poisoned_keys, poisoned_values, matrix({{1., 2.}, {3., 4.}}),
                                 everything,
                                 matrix({{0., -infinity, -infinity}, {0., 0., -infinity}}))
                      .value == poisoned.value,
              "a bias of minus infinity hides like a mask");

// d_value = Pᵀ d_output to the bit in floating point too.
constexpr Query q3{matrix({{0.3, -1.2}, {1.5, 0.7}, {-0.4, 0.9}})};
constexpr Key k3{matrix({{1.1, 0.2}, {-0.6, 1.7}, {0.8, -0.5}})};
constexpr Value v3{matrix({{0.1, 3.}, {1.5, 0.2}, {-2.2, 0.6}})};
constexpr auto g3 = matrix({{0.7, -1.}, {0.2, 0.9}, {-0.3, 0.4}});
static_assert(attention_gradient(q3, k3, v3, g3, causal).value ==
                  transpose(attention_weights(q3, k3, causal)) * g3,
              "d_value = P^T d_output, weight by weight");

// The log-sum-exp has the weights as its gradient; in base two log₂ e times as much.
template <LogBase base>
constexpr auto of_log_sum_exp =
    attention_gradient<Rule{.scale = Scale::of(1), .log_sum_exp_base = base}>(
        Query{matrix({{1., 2.}})}, Key{matrix({{0., 0.}, {0., 0.}})}, Value{matrix({{3.}, {5.}})},
        OutputAndLogSumExp<double, 1, 1>{.output = {}, .log_sum_exp = {1}}, everything,
        matrix({{0., 0.}}));
static_assert(of_log_sum_exp<LogBase::e>.bias == matrix({{0.5, 0.5}}), "dl/ds = p");
static_assert(of_log_sum_exp<LogBase::two>.bias[0][0] == 0x1.71547652b82fep+0 / 2,
              "d log2 x = log2 e d ln x");

// S11: in heads. Query heads 0 and 1 read key/value head 0, heads 2 and 3 head 1 (or each in turn),
// and what is read twice gets both gradients, exactly as two copies of it would.
constexpr Heads queries{Query{matrix<Rational>({{1}})}, Query{matrix<Rational>({{-1}})},
                        Query{matrix<Rational>({{2}})}, Query{matrix<Rational>({{0}})}};
constexpr Heads keys{Key{matrix<Rational>({{1}, {0}})}, Key{matrix<Rational>({{0}, {1}})}};
constexpr Heads values{Value{matrix<Rational>({{3}, {-1}})}, Value{matrix<Rational>({{2}, {7}})}};
constexpr Heads d_outputs{matrix<Rational>({{1}}), matrix<Rational>({{-2}}),
                          matrix<Rational>({{3}}), matrix<Rational>({{5}})};
constexpr auto shared = matrix<Rational>({{0, 1}});  // a bias
constexpr Heads sinks{Sink{Rational(0)}, Sink{Rational(1)}, Sink{Rational(-1)}, Sink{Rational(2)}};
template <HeadMap map>
constexpr auto in_heads = attention_gradient<Rule{.scale = Scale::of(1), .head_map = map}>(
    queries, keys, values, d_outputs, everything, shared, sinks);
template <size_t h, size_t read>
constexpr auto alone = attention_gradient<unscaled>(queries[h], keys[read], values[read],
                                                    d_outputs[h], everything, shared, sinks[h]);
constexpr const auto& blocked = in_heads<HeadMap::blocked>;
static_assert(blocked.query[0] == alone<0, 0>.query && blocked.query[1] == alone<1, 0>.query &&
                  blocked.query[2] == alone<2, 1>.query && blocked.query[3] == alone<3, 1>.query,
              "S11: each query head has the gradient it has alone");
static_assert(blocked.key ==
                      Heads{alone<0, 0>.key + alone<1, 0>.key, alone<2, 1>.key + alone<3, 1>.key} &&
                  blocked.value == Heads{alone<0, 0>.value + alone<1, 0>.value,
                                         alone<2, 1>.value + alone<3, 1>.value},
              "S11: a key/value head has the sum over the query heads that read it");
static_assert(blocked.bias ==
                  alone<0, 0>.bias + alone<1, 0>.bias + alone<2, 1>.bias + alone<3, 1>.bias,
              "a shared bias has the sum over all heads");
static_assert(blocked.sink ==
                  Heads{alone<0, 0>.sink, alone<1, 0>.sink, alone<2, 1>.sink, alone<3, 1>.sink},
              "a sink of its own, a gradient of its own");
static_assert(in_heads<HeadMap::tiled>.key ==
                  Heads{alone<0, 0>.key + alone<2, 0>.key, alone<1, 1>.key + alone<3, 1>.key},
              "tiled: heads 0 and 2 read head 0");
template <class... Bias>
constexpr auto two_keys(const auto& d_output, const Bias&... bias) {
  return attention_gradient(two, Key{matrix({{1., 1.}, {0.5, -1.}})}, Value{matrix({{3.}, {-1.}})},
                            d_output, everything, bias...);
}
constexpr auto with_alibi = attention_gradient<Rule{.alibi = true}>(
    Heads{two, two}, Heads{Key{matrix({{1., 1.}, {0.5, -1.}})}},
    Heads{Value{matrix({{3.}, {-1.}})}}, Heads{matrix({{1.}, {2.}}), matrix({{-1.}, {1.}})});
static_assert(with_alibi.query[0] == two_keys(matrix({{1.}, {2.}}), Alibi{0x1p-4}).query &&
                  with_alibi.query[1] == two_keys(matrix({{-1.}, {1.}}), Alibi{0x1p-8}).query,
              "ALiBi: the heads of two have slopes 2^-4 and 2^-8");

// S12: in a batch. Two sequences, each with queries of its own; what else each has is its own or
// the one that both share, and what both share has the sum.
constexpr Heads other_queries{queries[2], queries[0], queries[3], queries[1]};
constexpr Heads other_d_outputs{d_outputs[1], d_outputs[3], d_outputs[0], d_outputs[2]};
constexpr Batch two_queries{queries, other_queries};
constexpr Batch two_d_outputs{d_outputs, other_d_outputs};
constexpr Batch two_sinks{sinks, Heads{sinks[3], sinks[3], sinks[0], sinks[1]}};
constexpr auto two_biases = Batch{shared, Rational(-2) * shared};
constexpr Heads other_values{values[1], values[0]};
template <class K_, class V_, class B_, class S_>
constexpr auto of_second_element(const K_& key, const V_& value, const B_& bias, const S_& sink) {
  return attention_gradient<unscaled>(other_queries, key, value, other_d_outputs, everything, bias,
                                      sink);
}
constexpr auto own = attention_gradient<unscaled>(
    two_queries, Batch{keys, keys}, Batch{values, other_values}, two_d_outputs,
    Batch{everything, everything}, two_biases, two_sinks);
constexpr auto second = of_second_element(keys, other_values, two_biases[1], two_sinks[1]);
static_assert(own.query == Batch{blocked.query, second.query} &&
                  own.key == Batch{blocked.key, second.key} &&
                  own.value == Batch{blocked.value, second.value} &&
                  own.bias == Batch{blocked.bias, second.bias} &&
                  own.sink == Batch{blocked.sink, second.sink},
              "S12: each sequence has the gradient it has alone");
constexpr auto of_shared = attention_gradient<unscaled>(two_queries, keys, values, two_d_outputs,
                                                        everything, shared, sinks);
constexpr auto second_of_shared = of_second_element(keys, values, shared, sinks);
static_assert(of_shared.query == Batch{blocked.query, second_of_shared.query} &&
                  of_shared.key == Heads{blocked.key[0] + second_of_shared.key[0],
                                         blocked.key[1] + second_of_shared.key[1]} &&
                  of_shared.value == Heads{blocked.value[0] + second_of_shared.value[0],
                                           blocked.value[1] + second_of_shared.value[1]} &&
                  of_shared.bias == blocked.bias + second_of_shared.bias &&
                  of_shared.sink == Heads{blocked.sink[0] + second_of_shared.sink[0],
                                          blocked.sink[1] + second_of_shared.sink[1],
                                          blocked.sink[2] + second_of_shared.sink[2],
                                          blocked.sink[3] + second_of_shared.sink[3]},
              "S12: what the sequences share has the sum of theirs");
constexpr auto without_heads = attention_gradient<unscaled>(
    Batch{queries[0], queries[1]}, keys[0], Batch{values[0], values[1]},
    Batch{d_outputs[0], d_outputs[1]}, everything, two_biases, Batch{sinks[0], sinks[1]});
constexpr auto alone_of_second = attention_gradient<unscaled>(
    queries[1], keys[0], values[1], d_outputs[1], everything, two_biases[1], sinks[1]);
static_assert(without_heads.query[1] == alone_of_second.query &&
                  without_heads.key == alone<0, 0>.key + alone_of_second.key &&
                  without_heads.value == Batch{alone<0, 0>.value, alone_of_second.value} &&
                  without_heads.bias[1] == alone_of_second.bias &&
                  without_heads.sink == Batch{alone<0, 0>.sink, alone_of_second.sink},
              "S12: without heads");
constexpr auto batch_with_alibi = attention_gradient<Rule{.alibi = true}>(
    Batch{Heads{two, two}}, Heads{Key{matrix({{1., 1.}, {0.5, -1.}})}},
    Batch{Heads{Value{matrix({{3.}, {-1.}})}}},
    Batch{Heads{matrix({{1.}, {2.}}), matrix({{-1.}, {1.}})}});
static_assert(batch_with_alibi.query[0] == with_alibi.query &&
                  batch_with_alibi.key == with_alibi.key,
              "S12: the slope of each head");

// Differences. Under a change h of one input the output is a mean under exponential weights, whose
// derivatives are joint cumulants: with X the most that a score changes per h, y_j = d_output·v_j
// in a range of R, l the log-sum-exp, m the queries, the third derivative of Σ d_output·o + d_l·l
// is at most
//   m·(R + |d_l|)·X³·(32 + 10/softcap + 4/softcap²),
// since |κ(x, x, x, y)| ≤ 4·(2X)³·R, and a softcap adds 3·κ(x'', x', y) + κ(x''', y) with |x''| ≤
// 0.77·X²/softcap, |x'''| ≤ 2·X³/softcap². A central difference errs by h²/6 of it, and by 1/h of
// the error of attention: below 1,000·u where q, k, d_output are at most 1.5, v 3 and the softcap
// 2, by the bound of attention.hpp. X is at most 1.5.
constexpr double h = 0x1p-17;
constexpr double tolerance =
    h * h / 6 * 3 * (6 * 3 + 1) * (1.5 * 1.5 * 1.5) * (32 + 5 + 1) + 1000 * 0x1p-53 / h;
static_assert(tolerance < 1e-7);

constexpr OutputAndLogSumExp<double, 3, 2> g3l{.output = g3, .log_sum_exp = {0.5, -1, 0.25}};
template <Rule rule>
constexpr double number(const auto& qm, const auto& km, const auto& vm, const auto& bm, double sm) {
  const auto o =
      attention_with_log_sum_exp<rule>(Query{qm}, Key{km}, Value{vm}, everything, bm, Sink{sm});
  double sum = 0;
  for (size_t i = 0; i < 3; ++i)
    sum += g3[i][0] * o.output[i][0] + g3[i][1] * o.output[i][1] +
           g3l.log_sum_exp[i] * o.log_sum_exp[i];
  return sum;
}
constexpr bool is_difference(const auto& claimed, auto at, auto&& number_at) {
  for (size_t i = 0; i < at.rows; ++i)
    for (size_t j = 0; j < at.columns; ++j) {
      const double middle = at[i][j];
      at[i][j] = middle + h;
      const double above = number_at(at);
      at[i][j] = middle - h;
      const double below = number_at(at);
      at[i][j] = middle;
      const double error = claimed[i][j] - (above - below) / (2 * h);
      if (!(error < tolerance && error > -tolerance)) return false;
    }
  return true;
}
template <Rule rule>
constexpr bool gradient_is_difference() {
  constexpr auto b3 = matrix({{0.2, -0.4, 0.1}, {0.6, 0., -0.7}, {-0.2, 0.3, 0.5}});
  const auto &qm = q3.matrix, &km = k3.matrix, &vm = v3.matrix;
  const auto g = attention_gradient<rule>(q3, k3, v3, g3l, everything, b3, Sink{0.3});
  return is_difference(g.query, qm, [&](auto& a) { return number<rule>(a, km, vm, b3, 0.3); }) &&
         is_difference(g.key, km, [&](auto& a) { return number<rule>(qm, a, vm, b3, 0.3); }) &&
         is_difference(g.value, vm, [&](auto& a) { return number<rule>(qm, km, a, b3, 0.3); }) &&
         is_difference(g.bias, b3, [&](auto& a) { return number<rule>(qm, km, vm, a, 0.3); }) &&
         is_difference(matrix({{g.sink}}), matrix({{0.3}}),
                       [&](auto& a) { return number<rule>(qm, km, vm, b3, a[0][0]); });
}
static_assert(gradient_is_difference<Rule{}>(), "by 1/sqrt(d)");
static_assert(gradient_is_difference<Rule{.scale = Scale::of(-0.7), .causal = true}>(),
              "a given scale, causal");
static_assert(
    gradient_is_difference<Rule{.scale_by_square_roots = true, .log_sum_exp_base = LogBase::two}>(),
    "scaled by square roots, the log-sum-exp in base two");
static_assert(gradient_is_difference<Rule{.softcap = 2, .alibi = true}>(),
              "a softcap before the bias, ALiBi");
static_assert(gradient_is_difference<Rule{
                  .softcap = 2, .softcap_place = SoftcapPlace::after_mask, .causal = true}>(),
              "a softcap after the mask");
// A slope of 1 in place of 1 − tanh² would be noticed.
static_assert(!is_difference(attention_gradient<Rule{}>(q3, k3, v3, g3l, everything,
                                                        Matrix<double, 3, 3>{}, Sink{0.3})
                                 .query,
                             q3.matrix, [](auto& a) {
                               return number<Rule{.softcap = 2}>(a, k3.matrix, v3.matrix,
                                                                 Matrix<double, 3, 3>{}, 0.3);
                             }));

// In heads the log-sum-exp counts as it does in each alone.
constexpr OutputAndLogSumExp<double, 3, 2> other{.output = 2 * g3, .log_sum_exp = {-1, 0, 3}};
constexpr auto both = attention_gradient<Rule{.causal = true}>(Heads{q3, q3}, Heads{k3, k3},
                                                               Heads{v3, v3}, Heads{g3l, other});
static_assert(both.key[0] == attention_gradient(q3, k3, v3, g3l, causal).key &&
                  both.key[1] == attention_gradient(q3, k3, v3, other, causal).key &&
                  both.key[0] != attention_gradient(q3, k3, v3, g3, causal).key,
              "S11: heads side by side, log-sum-exp included");

// S15: without the scale softmax saturates and gradients vanish. Expected values: the formulas in
// Python's own arithmetic.
//
// Scores [4, 16, 12], d_k = 3: the Jacobian's diagonal p(1 − p), times 10^4.
template <Rule rule>
constexpr auto slopes() {
  const auto p = attention_weights<rule>(Query{matrix({{4., 0., 0.}})},
                                         Key{matrix({{1., 5., -2.}, {4., 0., 1.}, {3., 1., 0.}})});
  const auto jacobian = softmax_jacobian(p[0]);
  return decimals<4>(matrix({{jacobian[0][0], jacobian[1][1], jacobian[2][2]}}));
}
static_assert(slopes<unscaled>() == matrix({{0, 177, 177}}) &&
                  slopes<Rule{}>() == matrix({{9, 828, 821}}),
              "S15: the scale leaves the weights [0, 0.982, 0.018] five times as much slope");
// Larger scores still, as longer vectors make them: nothing is left to learn from.
static_assert(
    attention_gradient<unscaled>(Query{matrix({{128.f, 0.f, 0.f}})},
                                 Key{matrix({{1.f, 5.f, -2.f}, {4.f, 0.f, 1.f}, {3.f, 1.f, 0.f}})},
                                 Value{matrix({{1.f}, {-2.f}, {3.f}})}, matrix({{1.f}}))
            .key == Matrix<float, 3, 3>{},
    "S15: scores [128, 512, 384]: the gradient is 0");

// Eight queries and keys of independent entries with variance 1: the trace of the Jacobian, its
// mean over the queries, and the gradient of the scores, the sum of its squares. Every gradient of
// a query or a key is that of the scores times keys or queries.
template <size_t Width>
constexpr Matrix<double, 8, Width> tokens(unsigned state) {
  Matrix<double, 8, Width> result;
  for (auto& row : result.entries)
    for (double& entry : row) {
      state = state * 1664525u + 1013904223u;
      entry = (static_cast<int>(state >> 24) - 128) / 74.;
    }
  return result;
}
template <size_t d>
constexpr auto tokens_q = tokens<d>(1);
template <size_t d>
constexpr auto tokens_k = tokens<d>(2);
template <Rule rule, size_t d>
constexpr auto slope_and_gradient() {
  const Query<double, 8, d> query{tokens_q<d>};
  const Key<double, 8, d> key{tokens_k<d>};
  const auto p = attention_weights<rule>(query, key);
  const auto gradient_of_scores = attention_gradient<rule>(
      query, key, Value{tokens<4>(3)}, tokens<4>(4), everything, Matrix<double, 8, 8>{});
  double trace = 0, squares = 0;
  for (size_t i = 0; i < 8; ++i) {
    const auto jacobian = softmax_jacobian(p[i]);
    for (size_t j = 0; j < 8; ++j) trace += jacobian[j][j] / 8;
    squares += dot(gradient_of_scores.bias[i], gradient_of_scores.bias[i]);
  }
  return decimals<4>(matrix({{trace, squares}}));
}
static_assert(slope_and_gradient<unscaled, 16>() == matrix({{3042, 10391}}) &&
                  slope_and_gradient<Rule{}, 16>() == matrix({{7795, 22070}}),
              "S15: d_k = 16, without and with the scale");
static_assert(slope_and_gradient<unscaled, 64>() == matrix({{2313, 5703}}) &&
                  slope_and_gradient<Rule{}, 64>() == matrix({{7698, 27475}}),
              "S15: d_k = 64: the gradient falls without the scale, and does not with it");
static_assert(slope_and_gradient<unscaled, 256>() == matrix({{20, 4}}) &&
                  slope_and_gradient<Rule{}, 256>() == matrix({{7819, 27947}}),
              "S15: d_k = 256: it vanishes without the scale");

// Shapes and types.
using Q8 = Query<float, 5, 8>;
using K8 = Key<float, 7, 8>;
using V3 = Value<float, 7, 3>;
static_assert(can_differentiate_attention<Q8, K8, V3, Matrix<float, 5, 3>> &&
              can_differentiate_attention<Q8, K8, V3, OutputAndLogSumExp<float, 5, 3>>);
static_assert(!can_differentiate_attention<Q8, K8, V3, Matrix<float, 5, 8>> &&
                  !can_differentiate_attention<Q8, K8, V3, Matrix<float, 7, 3>> &&
                  !can_differentiate_attention<Q8, K8, V3, Matrix<double, 5, 3>> &&
                  !can_differentiate_attention<Q8, K8, V3, OutputAndLogSumExp<float, 5, 8>>,
              "d_output has the shape of the output");
static_assert(!can_differentiate_attention<K8, Q8, V3, Matrix<float, 5, 3>>, "S16: roles");
using G3 = Matrix<float, 5, 3>;
static_assert(
    can_differentiate_attention_in_batch<Batch<Q8, 2>, K8, Batch<V3, 2>, Batch<G3, 2>> &&
        !can_differentiate_attention_in_batch<Batch<Q8, 2>, K8, V3, Batch<G3, 3>> &&
        !can_differentiate_attention_in_batch<Batch<Q8, 2>, Batch<K8, 3>, V3, Batch<G3, 2>> &&
        !can_differentiate_attention_in_batch<Batch<Q8, 2>, K8, V3, Batch<Matrix<float, 5, 8>, 2>>,
    "an output, and so its gradient, for each sequence");
template <class G>
concept differentiable_in_one_head = can_differentiate_attention_in_batch < Batch < Heads<Q8, 1>,
2 >, Heads<K8, 1>, Heads<V3, 1>, Batch < G, 2 >> ;
static_assert(differentiable_in_one_head<Heads<G3, 1>> && !differentiable_in_one_head<G3> &&
                  !differentiable_in_one_head<Heads<G3, 2>>,
              "in heads where the queries are");
template <size_t Hq, size_t Hk, size_t Hg>
concept differentiable_heads =
    can_differentiate_attention_in_heads<Heads<Q8, Hq>, Heads<K8, Hk>, Heads<V3, Hk>,
                                         Heads<Matrix<float, 5, 3>, Hg>>;
static_assert(differentiable_heads<4, 2, 4> && !differentiable_heads<4, 2, 2> &&
                  !differentiable_heads<4, 3, 4>,
              "an output, and so its gradient, for each query head");
static_assert(std::is_same_v<decltype(plain.sink), NoSink> &&
                  std::is_same_v<decltype(gradient().sink), Rational> &&
                  std::is_same_v<decltype(of_second.bias), NoBias> &&
                  std::is_same_v<decltype(batch_with_alibi.bias), NoBias>,
              "what was not given has no gradient");

}  // namespace
