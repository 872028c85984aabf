// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The gradient of attention on random calls under rules: within its bound of a hundred digits,
// within theirs of differences of attention itself, nothing read that is hidden, and the same bits
// as the compiler computes.
#include "random_matrix.hpp"
//
#include <attest/gradient.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "reference_gradient.hpp"
#include "reference_rule.hpp"
#include "same_bits.hpp"

namespace {
using namespace attest;
using namespace tests;

template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();

template <class T, size_t Tq, size_t Tk, size_t D, size_t Dv>
struct RandomCall {
  Matrix<T, Tq, D> q;
  Matrix<T, Tk, D> k;
  Matrix<T, Tk, Dv> v;
  OutputAndLogSumExp<T, Tq, Dv> d;
  Matrix<bool, Tq, Tk> mask;
  Matrix<T, Tq, Tk> bias;
  T sink;

  static RandomCall any() {
    RandomCall c{numbers<T, Tq, D>(), numbers<T, Tk, D>(), numbers<T, Tk, Dv>(),    {},
                 masks<Tq, Tk>(),     biases<T, Tq, Tk>(), numbers<T, 1, 1>()[0][0]};
    c.d.output = numbers<T, Tq, Dv>();
    const auto of_log_sum_exp = numbers<T, 1, Tq>();
    for (size_t i = 0; i < Tq; ++i) c.d.log_sum_exp[i] = of_log_sum_exp[0][i];
    return c;
  }

  ReferenceCall exactly(const Rule& rule) const {
    ReferenceCall c{rule, reals(q), reals(k), reals(v),         reals(d.output), {},
                    {},   {},       {},       unit_roundoff<T>, smallest<T>};
    c.visible.assign(Tq, std::vector<bool>(Tk, true));
    return c;
  }
  ReferenceCall with_all_parts(const Rule& rule) const {
    ReferenceCall c = exactly(rule);
    for (size_t i = 0; i < Tq; ++i) {
      for (size_t j = 0; j < Tk; ++j) c.visible[i][j] = mask[i][j];
      c.d_log_sum_exp.push_back(Real(d.log_sum_exp[i]));
    }
    c.bias = reals(bias);
    c.sink = Real(sink);
    return c;
  }
};

template <class T, size_t R, size_t C>
void within(const Matrix<T, R, C>& computed, const Reals& exact, const Reals& bound) {
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < C; ++j)
      RC_ASSERT(abs(Real(Real(computed[i][j]) - exact[i][j])) <= bound[i][j]);
}

template <Rule rule>
void judge(const auto& g, const ReferenceCall& call) {
  const ReferenceGradient exact = reference_gradient(call);
  within(g.query, exact.query, exact.query_bound);
  within(g.key, exact.key, exact.key_bound);
  if constexpr (rule.empty_row == EmptyRow::nan) {
    for (size_t i = 0; i < call.queries(); ++i)
      if (exact.empty[i]) {
        for (const auto& row : g.value.entries)
          for (const auto& x : row) RC_ASSERT(std::isnan(x));
        return;
      }
  }
  within(g.value, exact.value, exact.value_bound);
  if constexpr (requires { g.bias.entries; }) within(g.bias, exact.bias, exact.bias_bound);
  if constexpr (!is_same_type<std::remove_cvref_t<decltype(g.sink)>, NoSink>)
    RC_ASSERT(abs(Real(Real(g.sink) - exact.sink)) <= exact.sink_bound);
}

// Without other parts, and with all of them: mask, bias, sink, log-sum-exp.
template <Rule rule, class T, size_t Tq, size_t Tk, size_t D, size_t Dv>
void within_the_bound() {
  const auto c = RandomCall<T, Tq, Tk, D, Dv>::any();
  const Query q{c.q};
  const Key k{c.k};
  const Value v{c.v};
  judge<rule>(attention_gradient<rule>(q, k, v, c.d.output), c.exactly(rule));
  judge<rule>(attention_gradient<rule>(q, k, v, c.d, c.mask, c.bias, Sink{c.sink}),
              c.with_all_parts(rule));
  auto masked = c.with_all_parts(rule);
  masked.bias = {}, masked.sink = {}, masked.d_log_sum_exp = {};
  judge<rule>(attention_gradient<rule>(q, k, v, c.d.output, c.mask), masked);
}

// A key that no query sees, and its value: as NaN as can be, and nothing changes. All others'
// gradients have the bits they have without it.
template <Rule rule, class T, size_t Tq, size_t Tk, size_t D, size_t Dv>
void hidden_is_not_read() {
  auto c = RandomCall<T, Tq, Tk, D, Dv>::any();
  const auto hidden = index_below(Tk);
  for (size_t i = 0; i < Tq; ++i) {
    if (i % 2 == 0)
      c.mask[i][hidden] = false;
    else
      c.bias[i][hidden] = -infinity<T>;
  }
  const auto gradient = [&] {
    return attention_gradient<rule>(Query{c.q}, Key{c.k}, Value{c.v}, c.d, c.mask, c.bias,
                                    Sink{c.sink});
  };
  const auto clean = gradient();
  for (T& x : c.k[hidden]) x = std::numeric_limits<T>::quiet_NaN();
  for (T& x : c.v[hidden]) x = infinity<T>;
  const auto poisoned = gradient();
  RC_ASSERT(poisoned.query == clean.query);
  RC_ASSERT(poisoned.key == clean.key);
  RC_ASSERT(poisoned.value == clean.value);
  RC_ASSERT(poisoned.bias == clean.bias);
  RC_ASSERT(poisoned.sink == clean.sink);
  for (const T& x : clean.key[hidden]) RC_ASSERT(x == 0);
  for (const T& x : clean.value[hidden]) RC_ASSERT(x == 0);
  for (size_t i = 0; i < Tq; ++i) RC_ASSERT(clean.bias[i][hidden] == 0);
}

// One input a little up and down. Its truncation is at most h²/6 times the third derivative; see
// proofs/gradient.cpp for that: (range of d_output·v + |d_log_sum_exp|)·X³·(32 + 10/softcap +
// 4/softcap²), where X is the most a score changes with the input. The rest is the error of
// attention itself, two outputs', over 2h.
template <Rule rule, class T, size_t Tq, size_t Tk, size_t D, size_t Dv>
struct Differences {
  static constexpr T h = sizeof(T) == 4 ? T(1) / 128 : T(1) / (1 << 17);
  RandomCall<T, Tq, Tk, D, Dv> c;

  template <size_t R, size_t C>
  static Matrix<T, R, C> coarse() {  // up and down by h exactly
    return random_integers(R, C, 32, 0.0625).as<T, R, C>();
  }

  Differences() : c(RandomCall<T, Tq, Tk, D, Dv>::any()) {
    c.q = coarse<Tq, D>(), c.k = coarse<Tk, D>(), c.v = coarse<Tk, Dv>();
    c.d.output = coarse<Tq, Dv>(), c.bias = coarse<Tq, Tk>(), c.sink = coarse<1, 1>()[0][0];
    for (T& x : c.d.log_sum_exp) x = coarse<1, 1>()[0][0];
  }

  struct Number {
    Real value, error;
  };
  // With the bound of attention.hpp, by the reference of the rules' own tests; and where every
  // query has a sink, no row is empty.
  Number number() const {
    const auto out = attention_with_log_sum_exp<rule>(Query{c.q}, Key{c.k}, Value{c.v}, c.mask,
                                                      c.bias, Sink{c.sink});
    const ReferenceRuled bound = reference_attention(
        rule, c.q, c.k, c.v,
        CallParts<T, Tq, Tk>{.mask = &c.mask, .bias = &c.bias, .sink = &c.sink});
    Number n;
    for (size_t i = 0; i < Tq; ++i) {
      n.value += Real(c.d.log_sum_exp[i]) * Real(out.log_sum_exp[i]);
      n.error += abs(Real(c.d.log_sum_exp[i])) * bound.log_sum_exp_bound[i];
      for (size_t t = 0; t < Dv; ++t) {
        n.value += Real(c.d.output[i][t]) * Real(out.output[i][t]);
        n.error += abs(Real(c.d.output[i][t])) * bound.bound[i][t];
      }
    }
    return n;
  }
  void is_difference(T& input, const T& claimed, const Real& claimed_error, const Real& steepest,
                     bool is_value = false) {
    Real third;
    for (size_t i = 0; i < Tq && !is_value; ++i) {
      Real low, high;  // of d_output·v, the sink's 0 included
      for (size_t j = 0; j < Tk; ++j) {
        Real y;
        for (size_t t = 0; t < Dv; ++t) y += Real(c.d.output[i][t]) * Real(c.v[j][t]);
        low = y < low ? y : low, high = y > high ? y : high;
      }
      third += high - low + Real(1.5) * abs(Real(c.d.log_sum_exp[i]));  // log₂ e < 1.5
    }
    const Real cap = rule.softcap;
    third *= steepest * steepest * steepest *
             (rule.softcap == 0 ? Real(32) : Real(32 + 10 / cap + 4 / (cap * cap)));
    const T middle = input;
    input = middle + h;
    const Number above = number();
    input = middle - h;
    const Number below = number();
    input = middle;
    const Real step = Real(2) * Real(h);
    const Real difference = (above.value - below.value) / step;
    RC_ASSERT(abs(Real(Real(claimed) - difference)) <=
              claimed_error + (above.error + below.error) / step + Real(h) * Real(h) / 6 * third);
  }
  void all() {
    const auto g = attention_gradient<rule>(Query{c.q}, Key{c.k}, Value{c.v}, c.d, c.mask, c.bias,
                                            Sink{c.sink});
    const ReferenceGradient e = reference_gradient(c.with_all_parts(rule));
    const Real scale = rule.scale.by_width ? Real(1 / sqrt(Real(D))) : abs(Real(rule.scale.given));
    const auto i = index_below(Tq), j = index_below(Tk);
    const auto t = index_below(D), s = index_below(Dv);
    is_difference(c.q[i][t], g.query[i][t], e.query_bound[i][t], 2 * scale);
    is_difference(c.k[j][t], g.key[j][t], e.key_bound[j][t], 2 * scale);
    is_difference(c.v[j][s], g.value[j][s], e.value_bound[j][s], 0, true);
    is_difference(c.bias[i][j], g.bias[i][j], e.bias_bound[i][j], 1);
    is_difference(c.sink, g.sink, e.sink_bound, 1);
  }
};

template <Rule rule>
void in_every_type() {
  rc::prop("float: within the bound", within_the_bound<rule, float, 3, 5, 4, 2>);
  rc::prop("double: within the bound", within_the_bound<rule, double, 4, 3, 5, 1>);
  if constexpr (rule.softcap == 0 || rule.softcap_place == SoftcapPlace::before_mask)
    if constexpr (rule.empty_row == EmptyRow::zero)
      rc::prop("what is hidden is not read", hidden_is_not_read<rule, float, 3, 5, 4, 2>);
  rc::prop("float: differences", [] { Differences<rule, float, 3, 5, 4, 2>().all(); });
  rc::prop("double: differences", [] { Differences<rule, double, 2, 4, 3, 2>().all(); });
}

}  // namespace

TEST_CASE("the gradient by the root of the width") {
  in_every_type<Rule{}>();
}
TEST_CASE("the gradient with a given scale, as it is and by its roots") {
  SECTION("given") {
    in_every_type<Rule{.scale = Scale::of(-0.3)}>();
  }
  SECTION("by width, roots") {
    in_every_type<Rule{.scale_by_square_roots = true}>();
  }
  SECTION("given, roots") {
    in_every_type<Rule{.scale = Scale::of(0.3), .scale_by_square_roots = true}>();
  }
}
TEST_CASE("the gradient through a softcap before the mask and after it") {
  SECTION("before") {
    in_every_type<Rule{.softcap = 2.5}>();
  }
  SECTION("after") {
    in_every_type<Rule{
        .softcap = 2.5, .softcap_place = SoftcapPlace::after_mask, .causal = true}>();
  }
}
TEST_CASE("the gradient under causality and a window") {
  SECTION("causal, later") {
    in_every_type<Rule{.causal = true, .offset = 2}>();
  }
  SECTION("causal, earlier") {
    in_every_type<Rule{.causal = true, .offset = -2}>();
  }
  SECTION("window") {
    in_every_type<Rule{.offset = 1, .window_left = 0, .window_right = 1}>();
  }
}
TEST_CASE("the gradient of an empty row") {
  SECTION("mean") {
    in_every_type<Rule{.causal = true, .offset = -2, .empty_row = EmptyRow::mean}>();
  }
  SECTION("NaN") {
    in_every_type<Rule{.causal = true, .offset = -2, .empty_row = EmptyRow::nan}>();
  }
}
TEST_CASE("the gradient under everything at once") {
  in_every_type<Rule{.scale = Scale::of(0.7),
                     .scale_by_square_roots = true,
                     .softcap = 3,
                     .alibi = true,
                     .causal = true,
                     .offset = 1,
                     .window_left = 2,
                     .log_sum_exp_base = LogBase::two}>();
}

namespace {

// The reference itself, by central differences of the number in a hundred digits: h = 10^-25, so
// that truncation and rounding stay below 10^-40.
template <Rule rule>
void reference_is_difference() {
  const auto c = RandomCall<float, 2, 3, 1, 1>::any();
  ReferenceCall call = c.with_all_parts(rule);
  if (any_of(2) == 1) call.sink = {};
  const ReferenceGradient g = reference_gradient(call);
  const Real h = Real("1e-25"), tolerance = Real("1e-35");
  const auto is_difference = [&](Real& input, const Real& claimed) {
    const Real middle = input;
    input = middle + h;
    const Real above = reference_number(call);
    input = middle - h;
    const Real below = reference_number(call);
    input = middle;
    RC_ASSERT(abs(Real((above - below) / (2 * h) - claimed)) < tolerance);
  };
  const auto all = [&](Reals& inputs, const Reals& claimed) {
    for (size_t i = 0; i < inputs.size(); ++i)
      for (size_t j = 0; j < inputs[i].size(); ++j)
        if (!isinf(inputs[i][j])) is_difference(inputs[i][j], claimed[i][j]);
  };
  all(call.q, g.query);
  all(call.k, g.key);
  all(call.v, g.value);
  all(call.bias, g.bias);
  if (call.sink) is_difference(*call.sink, g.sink);
}

template <class T>
void same_bits() {
  constexpr Rule rule{.softcap = 3, .causal = true};
  constexpr auto compiled =
      attention_gradient<rule>(Query{sample<T, 9, 8>(1)}, Key{sample<T, 9, 8>(2)},
                               Value{sample<T, 9, 8>(3)}, sample<T, 9, 8>(4));
  const auto run = attention_gradient<rule>(
      Query{from_outside(sample<T, 9, 8>(1))}, Key{from_outside(sample<T, 9, 8>(2))},
      Value{from_outside(sample<T, 9, 8>(3))}, from_outside(sample<T, 9, 8>(4)));
  CHECK(std::memcmp(&run.query, &compiled.query, sizeof run.query) == 0);
  CHECK(std::memcmp(&run.key, &compiled.key, sizeof run.key) == 0);
  CHECK(std::memcmp(&run.value, &compiled.value, sizeof run.value) == 0);
}

// Two query heads to a key/value head: each query head's own gradients have the bits they have
// alone, and where only one of the two counts, the shared ones as well.
template <class T>
void heads() {
  const auto q = [] { return Query{numbers<T, 3, 4>()}; };
  const auto k = [] { return Key{numbers<T, 5, 4>()}; };
  const auto v = [] { return Value{numbers<T, 5, 2>()}; };
  const Heads<Query<T, 3, 4>, 4> queries{q(), q(), q(), q()};
  const Heads<Key<T, 5, 4>, 2> keys{k(), k()};
  const Heads<Value<T, 5, 2>, 2> values{v(), v()};
  const auto counts = index_below(2);
  Heads<Matrix<T, 3, 2>, 4> d;
  d[counts] = numbers<T, 3, 2>(), d[2 + counts] = numbers<T, 3, 2>();
  const auto g = attention_gradient(queries, keys, values, d, causal);
  for (size_t h = 0; h < 4; ++h) {
    const auto alone = attention_gradient(queries[h], keys[h / 2], values[h / 2], d[h], causal);
    RC_ASSERT(g.query[h] == alone.query);
    if (h % 2 != counts) continue;
    RC_ASSERT(g.key[h / 2] == alone.key);
    RC_ASSERT(g.value[h / 2] == alone.value);
  }
}

// (diag(p) − p pᵀ)x with and without the matrix: each p_j x_j − p_j Σ p_k x_k within a few
// roundings of its terms.
template <class T>
void jacobian() {
  constexpr size_t n = 7;
  const auto p = softmax(numbers<T, 1, n>());
  const auto given = numbers<T, 1, n>();
  auto x = given;
  times_softmax_jacobian(p[0], x[0]);
  const auto product = given * softmax_jacobian(p[0]);
  Real mean;
  for (size_t k = 0; k < n; ++k) mean += Real(p[0][k]) * abs(Real(given[0][k]));
  // n roundings of a sum and three more each; 1 − p_j is one minus, not the sum of the others.
  for (size_t j = 0; j < n; ++j)
    RC_ASSERT(abs(Real(Real(x[0][j]) - Real(product[0][j]))) <=
              2 * (n + 3) * unit_roundoff<T> * Real(p[0][j]) * (abs(Real(given[0][j])) + mean) +
                  4 * n * smallest<T> * (1 + mean));
}

}  // namespace

TEST_CASE("the reference gradient is the derivative of the reference") {
  rc::prop("by width", reference_is_difference<Rule{}>);
  rc::prop("a softcap before the mask, base two",
           reference_is_difference<Rule{
               .softcap = 2.5, .causal = true, .log_sum_exp_base = LogBase::two}>);
  rc::prop(
      "a softcap after the mask, ALiBi",
      reference_is_difference<Rule{
          .softcap = 3, .softcap_place = SoftcapPlace::after_mask, .alibi = true, .causal = true}>);
  rc::prop(
      "the mean of an empty row",
      reference_is_difference<Rule{.causal = true, .offset = -1, .empty_row = EmptyRow::mean}>);
}
TEST_CASE("gradients: compile time and run time give the same bits") {
  same_bits<float>();
  same_bits<double>();
}
TEST_CASE("the gradient of several heads") {
  rc::prop("float", heads<float>);
  rc::prop("double", heads<double>);
}
TEST_CASE("the Jacobian of softmax") {
  rc::prop("float", jacobian<float>);
  rc::prop("double", jacobian<double>);
}
