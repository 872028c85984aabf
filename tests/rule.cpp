// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Attention under rules: each part alone and together, against a hundred digits from the
// definition.
#include "random_matrix.hpp"
//
#include <attest/attention.hpp>
#include <cmath>
#include <limits>

#include "reference_rule.hpp"

namespace {
using namespace attest;
using namespace tests;

template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();

template <Rule rule, class T, size_t Tq, size_t Tk, size_t D, size_t Dv>
struct RandomCall {
  Matrix<T, Tq, D> q = numbers<T, Tq, D>();
  Matrix<T, Tk, D> k = numbers<T, Tk, D>();
  Matrix<T, Tk, Dv> v = numbers<T, Tk, Dv>();
  Matrix<bool, Tq, Tk> mask = masks<Tq, Tk>();
  Matrix<T, Tq, Tk> bias = biases<T, Tq, Tk>();
  T sink = numbers<T, 1, 1>()[0][0];

  void judge(const auto& result, const CallParts<T, Tq, Tk>& parts) const {
    const ReferenceRuled exact = reference_attention(rule, q, k, v, parts);
    for (size_t i = 0; i < Tq; ++i) {
      for (size_t t = 0; t < Dv; ++t) {
        const T output = result.output[i][t];
        if (!exact.empty[i]) {
          RC_ASSERT(abs(Real(Real(output) - exact.output[i][t])) <= exact.bound[i][t]);
        } else if (rule.empty_row == EmptyRow::nan) {
          RC_ASSERT(std::isnan(output));
        } else if (rule.empty_row == EmptyRow::mean) {
          Real mean, magnitude;
          for (size_t j = 0; j < Tk; ++j)
            mean += Real(v[j][t]) / Tk, magnitude += abs(Real(v[j][t])) / Tk;
          RC_ASSERT(abs(Real(Real(output) - mean)) <=
                    higher_orders * (Tk + 2) * unit_roundoff<T> * magnitude);
        } else {
          RC_ASSERT(output == 0);
        }
      }
      if (exact.empty[i])
        RC_ASSERT(result.log_sum_exp[i] == -infinity<T>);
      else
        RC_ASSERT(abs(Real(Real(result.log_sum_exp[i]) - exact.log_sum_exp[i])) <=
                  exact.log_sum_exp_bound[i]);
    }
  }
};

// The rule as it is, with a mask, with a bias, with a sink, and with all three.
template <Rule rule, class T, size_t Tq, size_t Tk, size_t D, size_t Dv>
void within_the_bound() {
  const RandomCall<rule, T, Tq, Tk, D, Dv> c;
  const Query q{c.q};
  const Key k{c.k};
  const Value v{c.v};
  c.judge(attention_with_log_sum_exp<rule>(q, k, v), {});
  c.judge(attention_with_log_sum_exp<rule>(q, k, v, c.mask), {.mask = &c.mask});
  c.judge(attention_with_log_sum_exp<rule>(q, k, v, everything, c.bias), {.bias = &c.bias});
  c.judge(attention_with_log_sum_exp<rule>(q, k, v, everything, no_bias, Sink{c.sink}),
          {.sink = &c.sink});
  c.judge(attention_with_log_sum_exp<rule>(q, k, v, c.mask, c.bias, Sink{c.sink}),
          {.mask = &c.mask, .bias = &c.bias, .sink = &c.sink});

  // One engine: the same bits with and without log-sum-exp, and as weights times values.
  const auto output = attention<rule>(q, k, v, c.mask, c.bias, Sink{c.sink});
  RC_ASSERT(output ==
            attention_with_log_sum_exp<rule>(q, k, v, c.mask, c.bias, Sink{c.sink}).output);
  RC_ASSERT(output == attention_weights<rule>(q, k, c.mask, c.bias, Sink{c.sink}) * c.v);
}

template <Rule rule>
void within_the_bound_in_every_type() {
  rc::prop("float", within_the_bound<rule, float, 3, 5, 4, 2>);
  rc::prop("double", within_the_bound<rule, double, 4, 3, 5, 1>);
}

}  // namespace

TEST_CASE("a rule without parts") {
  within_the_bound_in_every_type<Rule{}>();
}
TEST_CASE("a given scale, as it is and by its roots") {
  SECTION("given") {
    within_the_bound_in_every_type<Rule{.scale = Scale::of(0.3)}>();
  }
  SECTION("by width, roots") {
    within_the_bound_in_every_type<Rule{.scale_by_square_roots = true}>();
  }
  SECTION("given, roots") {
    within_the_bound_in_every_type<Rule{.scale = Scale::of(0.3), .scale_by_square_roots = true}>();
  }
}
TEST_CASE("a softcap before the mask and after it") {
  SECTION("before") {
    within_the_bound_in_every_type<Rule{.softcap = 2.5}>();
  }
  SECTION("after") {
    within_the_bound_in_every_type<Rule{
        .softcap = 2.5, .softcap_place = SoftcapPlace::after_mask, .causal = true}>();
  }
}
TEST_CASE("causality with an offset, before the first key too") {
  SECTION("0") {
    within_the_bound_in_every_type<Rule{.causal = true}>();
  }
  SECTION("2") {
    within_the_bound_in_every_type<Rule{.causal = true, .offset = 2}>();
  }
  SECTION("-2") {
    within_the_bound_in_every_type<Rule{.causal = true, .offset = -2}>();
  }
}
TEST_CASE("a window with both ends") {
  SECTION("left") {
    within_the_bound_in_every_type<Rule{.causal = true, .window_left = 1}>();
  }
  SECTION("right") {
    within_the_bound_in_every_type<Rule{.offset = -1, .window_right = 1}>();
  }
  SECTION("both") {
    within_the_bound_in_every_type<Rule{.offset = 1, .window_left = 0, .window_right = 1}>();
  }
}
TEST_CASE("ALiBi of one head") {
  within_the_bound_in_every_type<Rule{.alibi = true, .causal = true, .offset = 1}>();
}
TEST_CASE("an empty row") {
  SECTION("NaN") {
    within_the_bound_in_every_type<Rule{
        .causal = true, .offset = -2, .empty_row = EmptyRow::nan}>();
  }
  SECTION("mean") {
    within_the_bound_in_every_type<Rule{
        .causal = true, .offset = -2, .empty_row = EmptyRow::mean}>();
  }
}
TEST_CASE("log-sum-exp to the base two") {
  within_the_bound_in_every_type<Rule{.causal = true, .log_sum_exp_base = LogBase::two}>();
}
TEST_CASE("everything at once") {
  within_the_bound_in_every_type<Rule{.scale = Scale::of(0.7),
                                      .scale_by_square_roots = true,
                                      .softcap = 3,
                                      .alibi = true,
                                      .causal = true,
                                      .offset = 1,
                                      .window_left = 2,
                                      .log_sum_exp_base = LogBase::two}>();
}
