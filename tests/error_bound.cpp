// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// No attention leaves its error bound, in any number type, whatever the rule; and the bound is no
// wider than it must be for that.
#include "random_matrix.hpp"
//
#include <attest/error_bound.hpp>
#include <cmath>
#include <cstdint>
#include <string>

#include "reference_rule.hpp"
#include "rounded_matrix.hpp"

namespace {
using namespace attest;
using namespace tests;

// Numbers that a format of few bits holds: random ones, rounded to it.
template <class T, size_t R, size_t C>
Matrix<T, R, C> random_numbers(double magnitude) {
  return rounded<T>(magnitude * numbers<double, R, C>());
}

// The exact output is that of the double numbers that the entries are.
template <Rule rule, class T, size_t Tq, size_t Tk, size_t D, size_t Dv>
void stays_within_the_bound(double magnitude, double& closest) {
  const auto q = random_numbers<T, Tq, D>(magnitude);
  const auto k = random_numbers<T, Tk, D>(magnitude);
  const auto v = random_numbers<T, Tk, Dv>(1);
  const auto bias = random_numbers<T, Tq, Tk>(magnitude);
  const auto mask = masks<Tq, Tk>();
  const T sink = random_numbers<T, 1, 1>(magnitude)[0][0];
  const auto exact_bias = widened(bias);
  const auto exact_sink = static_cast<double>(sink);

  const auto output = attention<rule>(Query{q}, Key{k}, Value{v}, mask, bias, Sink{sink});
  const auto bound =
      attention_error_bound<rule>(Query{q}, Key{k}, Value{v}, mask, bias, Sink{sink});
  const ReferenceRuled exact =
      reference_attention(rule, widened(q), widened(k), widened(v),
                          CallParts<double, Tq, Tk>{&mask, &exact_bias, &exact_sink});
  for (size_t i = 0; i < Tq; ++i)
    for (size_t t = 0; t < Dv; ++t) {
      const Real error = abs(Real(Real(static_cast<double>(output[i][t])) - exact.output[i][t]));
      if (std::isinf(bound[i][t])) continue;
      RC_ASSERT(error <= Real(bound[i][t]));
      if (bound[i][t] > 0)
        closest = std::max(closest, static_cast<double>(Real(error / bound[i][t])));
    }
}

template <class T>
void in(const std::string& type, double magnitude, double at_least) {
  static double closest = 0;  // over the sections, of which each runs this anew
  rc::prop(type + ", plain", [&] {
    stays_within_the_bound<Rule{}, T, 2, 2, 1, 1>(magnitude / 16, closest);
    stays_within_the_bound<Rule{}, T, 2, 3, 2, 2>(magnitude, closest);
    stays_within_the_bound<Rule{}, T, 2, 40, 2, 1>(magnitude, closest);
  });
  rc::prop(type + ", softcap and window", [&] {
    stays_within_the_bound<Rule{.softcap = 2, .causal = true, .offset = 1, .window_left = 2}, T, 3,
                           4, 5, 2>(magnitude, closest);
  });
  rc::prop(type + ", roots of the scale, ALiBi", [&] {
    stays_within_the_bound<Rule{.scale_by_square_roots = true, .alibi = true}, T, 2, 3, 3, 2>(
        magnitude, closest);
  });
  INFO(type << ": the error came as close as " << closest << " of the bound");
  CHECK(closest >= at_least);
}

// A score alone, where what the scale loses is not common to all keys.
template <Rule rule, class T, size_t D>
void score_stays_within_its_bound(double magnitude) {
  const auto q = random_numbers<T, 1, D>(magnitude), k = random_numbers<T, 1, D>(magnitude);
  const DotProduct dot = dot_in_double(q.entries[0], k.entries[0]);
  if constexpr (requires { T::largest(); })
    if (!(dot.size < static_cast<double>(T::largest()) / 2))
      return;  // it may overflow, or saturate
  const Real given = rule.scale.given;
  const Real scale = rule.scale.by_width ? Real(1 / sqrt(Real(D))) : given;
  const Real exact = scale * reference_product(widened(q)[0], widened(k)[0]).product;
  const T computed = attention_scores<rule>(Query{q}, Key{k})[0][0];
  const double bound = error_of_scaled_dot<rule, D>(losses_of<T>, dot);
  RC_ASSERT(abs(Real(Real(static_cast<double>(computed)) - exact)) <= Real(bound));
}
template <class T>
void scores_stay_within_their_bounds(double magnitude) {
  constexpr Rule roots{.scale_by_square_roots = true};
  score_stays_within_its_bound<Rule{}, T, 3>(magnitude);
  score_stays_within_its_bound<Rule{}, T, 12>(magnitude);
  score_stays_within_its_bound<roots, T, 3>(magnitude);
  score_stays_within_its_bound<roots, T, 12>(magnitude);
  score_stays_within_its_bound<Rule{.scale = Scale::of(0.013)}, T, 3>(magnitude);
}

// Keys 0 and 60 alone, of which the one is as much further away as the slopes of ALiBi, rounded to
// the type, are multiplied with. The exact slope of head h is 2^(−8(h + 1)/H), H a power of two.
template <class T, size_t H>
void stays_within_the_bound_in_heads(double magnitude) {
  constexpr Rule rule{.alibi = true, .offset = 60};
  Heads<Query<T, 1, 2>, H> q;
  for (auto& of_head : q.head) of_head = {random_numbers<T, 1, 2>(magnitude)};
  const Heads k{Key{random_numbers<T, 61, 2>(magnitude)}};
  const Heads v{Value{random_numbers<T, 61, 1>(1)}};
  Matrix<bool, 1, 61> ends;
  ends[0][0] = ends[0][60] = true;
  const auto output = attention<rule>(q, k, v, ends);
  const auto bound = attention_error_bound<rule>(q, k, v, ends);
  const auto of_batch = attention_error_bound<rule>(Batch{q}, k, v, ends);
  for (size_t h = 0; h < H; ++h) {
    Matrix<double, 1, 61> bias;
    bias[0][0] = -60 * std::exp2(-8. * static_cast<double>(h + 1) / static_cast<double>(H));
    const ReferenceRuled exact =
        reference_attention(Rule{}, widened(q[h].matrix), widened(k[0].matrix),
                            widened(v[0].matrix), CallParts<double, 1, 61>{&ends, &bias});
    const Real error = abs(Real(Real(static_cast<double>(output[h][0][0])) - exact.output[0][0]));
    RC_ASSERT(error <= Real(bound[h][0][0]));
    RC_ASSERT(of_batch[0][h] == bound[h]);
  }
}

}  // namespace

TEST_CASE("scores stay within their share of the bound") {
  rc::prop("floating point", [] {
    scores_stay_within_their_bounds<float>(1);
    scores_stay_within_their_bounds<double>(1);
    scores_stay_within_their_bounds<float16>(1);
    scores_stay_within_their_bounds<bfloat16>(1);
    scores_stay_within_their_bounds<float8_e4m3fn>(0.5);
    scores_stay_within_their_bounds<float8_e5m2>(0.5);
  });
  rc::prop("fixed point", [] {
    scores_stay_within_their_bounds<fixed<std::int16_t, 8>>(0.5);
    scores_stay_within_their_bounds<fixed<std::int32_t, 12>>(4);
    scores_stay_within_their_bounds<fixed<std::int8_t, 4>>(0.125);
  });
}

TEST_CASE("S11: heads stay within their error bounds, each with its slope") {
  rc::prop("floating point", [] {
    stays_within_the_bound_in_heads<float, 16>(1);
    stays_within_the_bound_in_heads<float16, 16>(1);
    stays_within_the_bound_in_heads<float8_e4m3fn, 32>(0.125);
  });
  rc::prop("fixed point", [] {
    stays_within_the_bound_in_heads<fixed<std::int16_t, 8>, 16>(0.25);
    stays_within_the_bound_in_heads<fixed<std::int32_t, 12>, 16>(0.25);
  });
}

// Fractions of the bound that random calls reach: below a tenth the bound would be a formality.
// With three or four digits most calls have no bound, and few come near theirs.
TEST_CASE("attention stays within its error bound: float") {
  in<float>("float", 1, 0.1);
}
TEST_CASE("attention stays within its error bound: double") {
  in<double>("double", 1, 0.1);
}
TEST_CASE("attention stays within its error bound: float16") {
  in<float16>("float16", 1, 0.1);
}
TEST_CASE("attention stays within its error bound: bfloat16") {
  in<bfloat16>("bfloat16", 1, 0.1);
}
TEST_CASE("attention stays within its error bound: float8_e4m3fn") {
  in<float8_e4m3fn>("float8_e4m3fn", 0.25, 0.02);
}
TEST_CASE("attention stays within its error bound: float8_e5m2") {
  in<float8_e5m2>("float8_e5m2", 0.25, 0.01);
}

TEST_CASE("exact numbers have no error, and where no bound holds there is none") {
  const Query<float8_e5m2, 1, 200> q{};
  const Key<float8_e5m2, 40, 200> k{};
  const Value<float8_e5m2, 40, 1> v{};
  CHECK(std::isinf(attention_error_bound(q, k, v)[0][0]));
}

namespace {

// Q formats in which neither scores nor sums of exponentials saturate: |q·k| < 4, n < 8.
template <class T>
void in_fixed_point() {
  static double closest = 0;
  rc::prop("outputs", [] {
    const auto q = random_numbers<T, 2, 3>(1. / 16);
    const auto k = random_numbers<T, 4, 3>(1. / 16);
    const auto v = random_numbers<T, 4, 2>(1. / 16);
    const auto mask = masks<2, 4>();
    constexpr Rule rule{.softcap = 2};
    const auto judge = [&](const Rule& reference, const auto& output, const auto& bound) {
      const ReferenceRuled exact = reference_attention(reference, widened(q), widened(k),
                                                       widened(v), CallParts<double, 2, 4>{&mask});
      for (size_t i = 0; i < 2; ++i)
        for (size_t t = 0; t < 2; ++t) {
          const Real error =
              abs(Real(Real(static_cast<double>(output[i][t])) - exact.output[i][t]));
          RC_ASSERT(error <= Real(bound[i][t]));
          if (bound[i][t] > 0)
            closest = std::max(closest, static_cast<double>(Real(error / bound[i][t])));
        }
    };
    judge(Rule{}, attention(Query{q}, Key{k}, Value{v}, mask),
          attention_error_bound(Query{q}, Key{k}, Value{v}, mask));
    constexpr Rule roots{.scale_by_square_roots = true};
    judge(roots, attention<roots>(Query{q}, Key{k}, Value{v}, mask),
          attention_error_bound<roots>(Query{q}, Key{k}, Value{v}, mask));
    judge(rule, attention<rule>(Query{q}, Key{k}, Value{v}, mask),
          attention_error_bound<rule>(Query{q}, Key{k}, Value{v}, mask));
  });
  INFO("the error came as close as " << closest << " of the bound");
  CHECK(closest >= 0.1);
}

}  // namespace

TEST_CASE("attention stays within its error bound: 16 bits, 12 behind the point") {
  in_fixed_point<fixed<std::int16_t, 12>>();
}
TEST_CASE("attention stays within its error bound: 8 bits, 4 behind the point") {
  in_fixed_point<fixed<std::int8_t, 4>>();
}
TEST_CASE("attention stays within its error bound: 32 bits, 24 behind the point") {
  in_fixed_point<fixed<std::int32_t, 24>>();
}
