// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Attention is a weighted mean of values, its weights the softmax of what the query and the keys
// have in common. With exact fractions and the weight 2^x on integer scores (exact.hpp) the laws
// hold with ==; with e^x the printed values are met to the decimals printed.
#include <attest/attention.hpp>
#include <attest/exact.hpp>
#include <attest/formats.hpp>
#include <attest/laws.hpp>
#include <limits>
#include <type_traits>

#include "decimals.hpp"
#include "exhaustion.hpp"

namespace {
using namespace attest;
using laws::rows_in_order;
using proofs::decimals;
using proofs::for_all_orders;
using Rational = small_rational;

constexpr auto exactly = [](const auto& q, const auto& k, const auto& v, const auto& visible) {
  return attention<unscaled>(q, k, v, visible);
};

// Four tokens: what they look for, what they are found by, what they hand over.
constexpr Query Q{matrix<Rational>({{1, 0, 2}, {0, -1, 1}, {2, 1, 0}, {0, 0, 0}})};
constexpr Key K{matrix<Rational>({{1, 1, 0}, {0, 2, 1}, {-1, 0, 1}, {1, -1, 1}})};
constexpr Value V{matrix<Rational>({{5, 0}, {1, -4}, {0, 3}, {-2, 7}})};
constexpr auto O = exactly(Q, K, V, everything);

// One entry by hand: query 0 scores its keys 1, 2, 1, 3, the weights are 2, 4, 2, 8 of 16.
static_assert(attention_scores<unscaled>(Q, K) ==
              matrix<Rational>({{1, 2, 1, 3}, {-1, -1, 1, 2}, {3, 2, -2, 1}, {0, 0, 0, 0}}));
static_assert(O[0][0] == Rational(2 * 5 + 4 * 1 + 2 * 0 + 8 * -2, 16),
              "(2*5 + 4*1 + 2*0 - 8*2) / 16");
static_assert(O[0][1] == Rational(2 * 0 + 4 * -4 + 2 * 3 + 8 * 7, 16),
              "(2*0 - 4*4 + 2*3 + 8*7) / 16");

// One query at a time, without a matrix of weights, is the same as all weights times all values.
static_assert(O == attention_weights<unscaled>(Q, K) * V.matrix,
              "Attention(Q, K, V) = softmax(QK^T) V");
static_assert(exactly(Q, K, V, causal) == attention_weights<unscaled>(Q, K, causal) * V.matrix,
              "the same with a mask");

// S1: where all scores are equal every token gets the same blend, the plain average of the values.
constexpr Query indifferent{Matrix<Rational, 4, 3>{}};
constexpr auto blend = exactly(indifferent, K, V, everything);
constexpr Rational mean[] = {Rational(5 + 1 + 0 - 2, 4), Rational(0 - 4 + 3 + 7, 4)};
static_assert(
    blend ==
        matrix({{mean[0], mean[1]}, {mean[0], mean[1]}, {mean[0], mean[1]}, {mean[0], mean[1]}}),
    "S1: every token gets the same blend, (v_1 + ... + v_n) / n");
static_assert(attention(Query<float, 1, 2>{}, Key<float, 4, 2>{},
                        Value{matrix({{1.f}, {5.f}, {-4.f}, {8.f}})}) == matrix({{2.5f}}),
              "S1: in float too, exactly where 1/n is");

// In floating point attention is the product of its weights and the values to the bit, since both
// add in one order, and where the exact result is finite it is: four values of 2^127 are averaged
// although their sum is beyond the largest float.
constexpr Query q3{matrix({{0.3f, -1.2f}, {2.5f, 0.7f}, {-0.4f, 0.9f}})};
constexpr Key k3{matrix({{1.1f, 0.2f}, {-0.6f, 1.7f}, {0.8f, -0.5f}})};
constexpr Value v3{matrix({{0.1f, 3.f, -7.f}, {1.5f, 0.2f, 0.4f}, {-2.2f, 0.6f, 9.f}})};
static_assert(attention(q3, k3, v3) == attention_weights(q3, k3) * v3.matrix,
              "softmax(QK^T/sqrt(d))V, weight by weight");
static_assert(attention(q3, k3, v3, causal) == attention_weights(q3, k3, causal) * v3.matrix,
              "the same under a mask");
static_assert(attention(Query<float, 1, 2>{}, Key<float, 4, 2>{},
                        Value{matrix({{0x1p127f}, {0x1p127f}, {0x1p127f}, {0x1p127f}})}) ==
                  matrix({{0x1p127f}}),
              "values at the end of the range do not overflow");

// S2: six tokens, three dimensions, nothing learned: scores XX^T, weights softmax(XX^T), context
// softmax(XX^T)X. The scores are products of two-decimal numbers, so 10^4 of them are integers;
// weights and context are those printed in S. Raschka, "Build a Large Language Model (From
// Scratch)", chapter 3, which the example follows.
constexpr auto X = matrix({{0.43, 0.15, 0.89},    // Your
                           {0.55, 0.87, 0.66},    // journey
                           {0.57, 0.85, 0.64},    // starts
                           {0.22, 0.58, 0.33},    // with
                           {0.77, 0.25, 0.10},    // one
                           {0.05, 0.80, 0.55}});  // step
constexpr auto X100 = decimals<2>(X);
constexpr auto scores = X * transpose(X);
constexpr auto weights = softmax(scores);
constexpr auto context = weights * X;
static_assert(std::is_same_v<decltype(scores), const Matrix<double, 6, 6>>, "S2: scores (6, 6)");
static_assert(std::is_same_v<decltype(context), const Matrix<double, 6, 3>>, "S2: context (6, 3)");
static_assert(decimals<4>(scores) == X100 * transpose(X100), "S2: every pair of tokens");
constexpr auto journey = matrix(
    {{weights[1][0], weights[1][1], weights[1][2], weights[1][3], weights[1][4], weights[1][5]}});
static_assert(decimals<4>(journey) == matrix({{1385, 2379, 2333, 1240, 1082, 1581}}),
              "S2: weights of token 2");
static_assert(decimals<4>(context) == matrix({{4421, 5931, 5790},
                                              {4419, 6515, 5683},
                                              {4431, 6496, 5671},
                                              {4304, 6298, 5510},
                                              {4671, 5910, 5266},
                                              {4177, 6503, 5645}}),
              "S2: context");
static_assert(decimals<4>(attention<unscaled>(Query{X}, Key{X}, Value{X})) == decimals<4>(context),
              "S2: the same in one call");
constexpr double distance_from_one(const double (&row)[6]) {
  const double error = ((((row[0] + row[1]) + row[2]) + row[3]) + row[4]) + row[5] - 1;
  return error < 0 ? -error : error;
}
// The weights sum to one within n·u, their sum as taken here within (n − 1)·u more.
static_assert(distance_from_one(weights[0]) <= 11 * 0x1p-53 &&
                  distance_from_one(weights[1]) <= 11 * 0x1p-53 &&
                  distance_from_one(weights[5]) <= 11 * 0x1p-53,
              "S2: each row sums to 1");

// S3: three learned maps give each token three roles; the values may be wider than queries and
// keys.
constexpr auto Wq = matrix({{1., 0.}, {0., 1.}, {1., -1.}});
constexpr auto Wk = matrix({{0.5, 0.}, {0., 2.}, {1., 0.}});
constexpr auto Wv = matrix({{1., 0., 0., 2.}, {0., 1., 0., 2.}, {0., 0., 1., 2.}});
constexpr auto learned = attention(Query{X * Wq}, Key{X * Wk}, Value{X * Wv});
static_assert(std::is_same_v<decltype(learned), const Matrix<double, 6, 4>>,
              "S3: (6, d_v), d_v = 4, d_k = 2");
constexpr auto I = identity<double, 3>();
static_assert(attention(Query{X * I}, Key{X * I}, Value{X * I}) ==
                  attention(Query{X}, Key{X}, Value{X}),
              "S3: identity maps learn nothing");

// S4: the scale is one over the root of the width of the vectors in the dot product, and of nothing
// else.
static_assert(inverse_root<double, 16> == 0.25 && inverse_root<float, 64> == 0.125f,
              "S4: 1/sqrt(d_k)");
constexpr auto wide = matrix({{1., 2., 0., 1.}, {0., 1., 1., 3.}, {2., 0., 1., 1.}});
static_assert(attention(Query{wide}, Key{wide}, Value{wide}) ==
                  attention<Rule{.scale = Scale::of(0.5)}>(Query{wide}, Key{wide}, Value{wide}),
              "S4: softmax(QK^T / sqrt(4)) V");
static_assert(attention_scores(Query{wide}, Key{wide}) == 0.5 * (wide * transpose(wide)),
              "S4: QK^T / sqrt(4)");
static_assert(attention(Query{wide}, Key{wide}, Value{wide}) !=
                  attention<Rule{.scale = Scale::of(inverse_root<double, 8>)}>(Query{wide},
                                                                               Key{wide},
                                                                               Value{wide}),
              "S4: the embedding's width is the wrong constant");

// S6: one query, three keys of width three, scores 4, 16, 12.
constexpr Query q{matrix({{4., 0., 0.}})};
constexpr Key k{matrix({{1., 5., -2.}, {4., 0., 1.}, {3., 1., 0.}})};
static_assert(attention_scores<unscaled>(q, k) == matrix({{4., 16., 12.}}),
              "S6: scores [4, 16, 12]");
static_assert(decimals<3>(attention_weights<unscaled>(q, k)) == matrix({{0, 982, 18}}),
              "S6: unscaled");
static_assert(decimals<3>(attention_weights(q, k)) == matrix({{1, 909, 90}}),
              "S6: [0.001, 0.909, 0.090] scaled");

// S5: the largest visible score is subtracted, wherever it stands: e^1200 is infinite, 1 + e^-300
// is 1.
constexpr Query far{matrix({{30.}})};
constexpr Value near_and_far{matrix({{7.}, {-2.}, {5.}})};
static_assert(attention(far, Key{matrix({{40.}, {30.}, {-30.}})}, near_and_far) == matrix({{7.}}) &&
                  attention(far, Key{matrix({{-30.}, {40.}, {30.}})}, near_and_far) ==
                      matrix({{-2.}}) &&
                  attention(far, Key{matrix({{30.}, {-30.}, {40.}})}, near_and_far) ==
                      matrix({{5.}}),
              "S5: scores of 1200, 900 and -900");
static_assert(attention(far, Key{matrix({{-40.}, {-40.}, {40.}})}, near_and_far,
                        matrix({{true, true, false}})) == matrix({{2.5}}),
              "S5: the largest visible score, hidden ones are no measure");

static_assert(for_all_orders<4>([](const auto& perm) {
                return exactly(Query{rows_in_order(Q.matrix, perm)},
                               Key{rows_in_order(K.matrix, perm)},
                               Value{rows_in_order(V.matrix, perm)},
                               everything) == rows_in_order(O, perm);
              }),
              "S8: shuffle the tokens and the outputs shuffle the same way");
static_assert(for_all_orders<4>([](const auto& perm) {
                return exactly(Q, Key{rows_in_order(K.matrix, perm)},
                               Value{rows_in_order(V.matrix, perm)}, everything) == O;
              }),
              "S8: shuffling keys with their values changes nothing");
static_assert(!for_all_orders<4>([](const auto& perm) {
  return exactly(Q, Key{rows_in_order(K.matrix, perm)}, V, everything) == O;
}),
              "keys without their values: that is another question");

// S9: queries may come from another sequence of another length, and each is answered on its own.
constexpr Query decoder{matrix<Rational>({{1, 0, 2}, {2, 1, 0}})};
constexpr auto crossed = exactly(decoder, K, V, everything);
static_assert(std::is_same_v<decltype(crossed), const Matrix<Rational, 2, 2>>,
              "S9: two queries, four keys");
static_assert(crossed[0][0] == O[0][0] && crossed[0][1] == O[0][1] && crossed[1][0] == O[2][0] &&
                  crossed[1][1] == O[2][1],
              "S9: the decoder's queries are rows 0 and 2 of Q, and get their answers");

// S10: whatever happens after token t, outputs 0 … t stay as they are.
constexpr auto past = exactly(Q, K, V, causal);
constexpr bool future_changes_nothing() {
  for (size_t t = 0; t < 4; ++t) {
    Key later_keys = K;
    Value later_values = V;
    for (size_t j = t + 1; j < 4; ++j)
      later_keys.matrix[j][0] = Rational(9), later_values.matrix[j][1] = Rational(-1000);
    const auto output = exactly(Q, later_keys, later_values, causal);
    for (size_t i = 0; i <= t; ++i)
      if (!(output[i][0] == past[i][0] && output[i][1] == past[i][1])) return false;
    for (size_t i = t + 1; i < 4; ++i)
      if (output[i][1] == past[i][1]) return false;  // and those who may see it do
  }
  return true;
}
static_assert(future_changes_nothing(), "S10: changing the future changes nothing in the past");
static_assert(past[0][0] == V.matrix[0][0] && past[0][1] == V.matrix[0][1],
              "S10: token 0 sees only itself");
static_assert(past[3][0] == O[3][0] && past[3][1] == O[3][1],
              "S10: the last token sees everything");
constexpr auto lower_triangle = matrix({{true, false, false, false},
                                        {true, true, false, false},
                                        {true, true, true, false},
                                        {true, true, true, true}});
static_assert(exactly(Q, K, V, lower_triangle) == past, "S10: causal is the lower triangle");

// The last two queries, their first two keys already cached, get the last two rows.
constexpr Query last_two{matrix<Rational>({{2, 1, 0}, {0, 0, 0}})};
constexpr auto cached = exactly(last_two, K, V, causal_after(2));
static_assert(cached[0][0] == past[2][0] && cached[0][1] == past[2][1] &&
                  cached[1][0] == past[3][0] && cached[1][1] == past[3][1],
              "cache = whole");

// What is hidden is not read: neither infinity nor a NaN gets out. A query without a key gets
// zeros.
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr Query two{matrix({{1., 2.}, {0., 1.}})};
constexpr Key poisoned_keys{matrix({{1., 1.}, {nan, infinity}})};
constexpr Value poisoned_values{matrix({{3., 4.}, {infinity, nan}})};
static_assert(attention(two, poisoned_keys, poisoned_values,
                        matrix({{true, false}, {false, false}})) == matrix({{3., 4.}, {0., 0.}}),
              "one key visible: its value; none: zeros");
static_assert(attention_weights(two, Key{matrix({{1., 1.}, {0., 1.}})},
                                matrix({{true, false}, {false, false}})) ==
                  matrix({{1., 0.}, {0., 0.}}),
              "one key visible: all the weight; none: no weight");

// S16: the roles are types, and no two of them can be exchanged; nor can a matrix without a role
// stand in.
using Q8 = Query<float, 5, 8>;
using K8 = Key<float, 7, 8>;
using V8 = Value<float, 7, 8>;
static_assert(can_attend<Q8, K8, V8>);
static_assert(!can_attend<K8, Q8, V8> && !can_attend<Q8, V8, K8> && !can_attend<V8, K8, Q8>,
              "S16: roles swapped");
static_assert(!can_attend<K8, V8, Q8> && !can_attend<V8, Q8, K8>, "S16: roles rotated");
static_assert(!can_attend<Key<float, 5, 8>, K8, V8> && !can_attend<Value<float, 5, 8>, K8, V8>,
              "S16: only a query asks");
static_assert(!can_attend<Q8, Query<float, 7, 8>, V8> && !can_attend<Q8, Value<float, 7, 8>, V8>,
              "S16: only a key is found");
static_assert(!can_attend<Q8, K8, Query<float, 7, 8>> && !can_attend<Q8, K8, Key<float, 7, 8>>,
              "S16: only a value is handed over");
static_assert(!can_attend<Matrix<float, 5, 8>, K8, V8>, "S16: a matrix is no query");
static_assert(!std::is_constructible_v<Q8, Key<float, 5, 8>>, "S16: a key does not become a query");

// Shapes: query and key of one width, one value per key, one type of number.
static_assert(can_attend<Q8, K8, Value<float, 7, 3>>, "d_v is free");
static_assert(!can_attend<Q8, Key<float, 7, 9>, V8>, "widths 8 and 9");
static_assert(!can_attend<Q8, K8, Value<float, 6, 8>>, "seven keys, six values");
static_assert(!can_attend<Q8, Key<double, 7, 8>, V8>, "float and double");
static_assert(can_attend<Q8, K8, V8, Matrix<bool, 5, 7>> &&
                  !can_attend<Q8, K8, V8, Matrix<bool, 7, 5>>,
              "a mask has a row per query and a column per key");
static_assert(std::is_trivially_copyable_v<Q8> && sizeof(Q8) == sizeof(Matrix<float, 5, 8>),
              "a role costs nothing");

// S21: every output lies between the smallest and the largest visible value, coordinate by
// coordinate.
constexpr bool in_the_hull(const Matrix<Rational, 4, 2>& output, const auto& visible) {
  for (size_t i = 0; i < 4; ++i)
    for (size_t t = 0; t < 2; ++t) {
      bool above = false, below = false;
      for (size_t j = 0; j < 4; ++j) {
        above = above || (sees(visible, i, j) && output[i][t] >= V.matrix[j][t]);
        below = below || (sees(visible, i, j) && V.matrix[j][t] >= output[i][t]);
      }
      if (!above || !below) return false;
    }
  return true;
}
static_assert(in_the_hull(O, everything) && in_the_hull(past, causal),
              "S21: outputs lie in the convex hull");
static_assert(!in_the_hull(O, causal), "of the visible values, not of all");

// S22: every token reaches every other in one step: change the value token j hands over, and each
// output changes.
constexpr bool every_token_reaches_every_other() {
  for (size_t j = 0; j < 4; ++j) {
    Value changed = V;
    changed.matrix[j][0] = changed.matrix[j][0] + Rational(1);
    const auto output = exactly(Q, K, changed, everything);
    for (size_t i = 0; i < 4; ++i)
      if (output[i][0] == O[i][0]) return false;
  }
  return true;
}
static_assert(every_token_reaches_every_other(),
              "S22: a path of length one between any two tokens");
static_assert(attention_scores<unscaled>(Q, K) == Q.matrix * transpose(K.matrix),
              "S22: all rows from one matrix product");
static_assert(attention_scores<unscaled>(Query{X}, Key{X}) == X * transpose(X),
              "S22: with the same bits in double");

// A log-sum-exp is of the number type, and where that has no infinity of float or double: of two
// equal scores ln 2 and log2 2, of no key −∞.
template <class T, class OfLogSumExp>
constexpr bool has_log_sum_exp() {
  constexpr Rule in_base_two{.log_sum_exp_base = LogBase::two};
  const Query query{matrix({{T(1)}, {T(1)}})};
  const Key key{matrix({{T(1.5)}, {T(1.5)}})};
  const Value value{matrix({{T(1)}, {T(-1)}})};
  const auto first_only = [](size_t i, size_t) { return i == 0; };
  const auto natural = attention_with_log_sum_exp(query, key, value, first_only);
  const auto binary = attention_with_log_sum_exp<in_base_two>(query, key, value, first_only);
  const OfLogSumExp of_nothing = minus_infinity<OfLogSumExp>();
  return std::is_same_v<decltype(natural.log_sum_exp[0]), const OfLogSumExp&> &&
         natural.log_sum_exp[0] == OfLogSumExp(1.5) + attest::log(OfLogSumExp(2)) &&
         binary.log_sum_exp[0] ==
             OfLogSumExp(0x1.71547652b82fep+0) * OfLogSumExp(1.5) + OfLogSumExp(1) &&
         natural.log_sum_exp[1] == of_nothing && binary.log_sum_exp[1] == of_nothing &&
         natural.output == attention(query, key, value, first_only);
}
static_assert(has_log_sum_exp<float, float>() && has_log_sum_exp<double, double>() &&
                  has_log_sum_exp<float16, float16>() && has_log_sum_exp<bfloat16, bfloat16>() &&
                  has_log_sum_exp<float8_e5m2, float8_e5m2>(),
              "numbers with an infinity");
static_assert(has_log_sum_exp<float8_e4m3fn, float>() &&
                  has_log_sum_exp<fixed<int8_t, 4>, float>() &&
                  has_log_sum_exp<fixed<int16_t, 12>, float>() &&
                  has_log_sum_exp<fixed<int32_t, 24>, double>(),
              "and without");
static_assert(!number_type_has_a_logarithm<Rational>);

}  // namespace
