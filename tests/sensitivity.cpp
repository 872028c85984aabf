// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// How attention answers to what it is given, on random calls in several number types: each visible
// value reaches the output, a gradient is what a difference sees, and scores vary as their scale
// says.
#include "eighths.hpp"
//
#include <attest/exact.hpp>
#include <attest/gradient.hpp>
#include <attest/laws.hpp>
#include <attest/score.hpp>

namespace {
using namespace attest;
using namespace tests;

inline constexpr Rule plain{};
inline constexpr Rule capped{.softcap = 1.5};
inline constexpr Rule causal_after_one{.causal = true, .offset = 1};
inline constexpr Rule around{.alibi = true, .window_left = 1, .window_right = 2};

// Scores of queries of at most 2/8 and keys of at most 7/8 are small, so that no weight is tiny:
// with two entries at least e^{−0.7}/n, n the number of keys. In floats of eight bits a rounding is
// as much.
template <class T, Rule rule, size_t Tq, size_t Tk, size_t Dv>
void every_visible_key_matters() {
  const auto mask = masks<Tq, Tk>();
  const auto attend = laws::Within{
      [&](const auto& q, const auto& k, const auto& v) { return attention<rule>(q, k, v, mask); },
      [&](const auto& q, const auto& k, const auto& v) {
        return attention_error_bound<rule>(q, k, v, mask);
      }};
  RC_ASSERT(laws::every_visible_key_matters(
      attend, Query{eighths<T, Tq, 2>(2)}, Key{eighths<T, Tk, 2>()}, Value{eighths<T, Tk, Dv>(3)},
      VisibleToRule<rule, Matrix<bool, Tq, Tk>, NoBias>{mask, no_bias, 0}));
}
template <class T>
void values_reach() {
  rc::prop("S22: one key", every_visible_key_matters<T, plain, 2, 1, 1>);
  rc::prop("S22: mask", every_visible_key_matters<T, plain, 3, 4, 2>);
  rc::prop("S22: softcap", every_visible_key_matters<T, capped, 3, 3, 1>);
  rc::prop("S22: causal", every_visible_key_matters<T, causal_after_one, 3, 4, 2>);
  rc::prop("S22: ALiBi and a window", every_visible_key_matters<T, around, 5, 4, 1>);
}

// Five keys, three queries of three entries, values of two, none above 1, nor the scale: a score is
// below 3 and changes by at most X = 1 with an entry, d_output·v lies in a range of 4. The third
// derivative of Σ d_output·o is then at most 3·4·(32 + 10/softcap + 4/softcap²) <= 12·41
// (proofs/gradient.cpp), and h²/6 times that below 85·h². By the bounds of attention.hpp and
// gradient.hpp with these numbers, of scores that softcap and ALiBi round too, φ <= 40·u: an
// output is off by less than 100·u, six of them by 600·u, and two such sums by 600·u/h over 2·h;
// a weight by 85·u relatively, d_s by 600·u of the weight, and a sum over three queries by 2000·u.
template <class T, Rule rule>
void gradient_is_finite_difference() {
  constexpr double u = unit_roundoff<T>, h = sizeof(T) == 4 ? 0x1p-7 : 0x1p-17;
  constexpr double tolerance = 85 * h * h + 600 * u / h + 2000 * u;
  const auto q = eighths<T, 3, 3>();
  const auto k = eighths<T, 5, 3>();
  const auto v = eighths<T, 5, 2>();
  const auto d_output = eighths<T, 3, 2>();
  const auto mask = masks<3, 5>();
  const auto number = [&](const auto& queries, const auto& keys, const auto& values) {
    const auto o = attention<rule>(Query{queries}, Key{keys}, Value{values}, mask);
    double sum = 0;
    for (size_t i = 0; i < 3; ++i)
      for (size_t t = 0; t < 2; ++t)
        sum += static_cast<double>(d_output[i][t]) * static_cast<double>(o[i][t]);
    return sum;
  };
  const auto gradient = attention_gradient<rule>(Query{q}, Key{k}, Value{v}, d_output, mask);
  RC_ASSERT(laws::gradient_is_finite_difference([&](const auto& x) { return number(x, k, v); }, q,
                                                gradient.query, h, tolerance));
  RC_ASSERT(laws::gradient_is_finite_difference([&](const auto& x) { return number(q, x, v); }, k,
                                                gradient.key, h, tolerance));
  RC_ASSERT(laws::gradient_is_finite_difference([&](const auto& x) { return number(q, k, x); }, v,
                                                gradient.value, h, tolerance));
}
template <class T>
void gradients_are_differences() {
  rc::prop("mask", gradient_is_finite_difference<T, plain>);
  rc::prop("softcap", gradient_is_finite_difference<T, capped>);
  rc::prop("causal", gradient_is_finite_difference<T, causal_after_one>);
  rc::prop("ALiBi and a window", gradient_is_finite_difference<T, around>);
  rc::prop("a scale, the mean of all values for an empty row",
           gradient_is_finite_difference<T, Rule{.scale = Scale::of(-0.75),
                                                 .causal = true,
                                                 .offset = -1,
                                                 .empty_row = EmptyRow::mean}>);
}

// A bias shifts all scores alike, which no variance sees. D is a power of four where the scale is
// 1/√D, and the sums of squares are few bits: all is exact.
template <class T, Rule rule, size_t D>
void scores_vary(const T& expected) {
  const T shift = T(integer_in(-1, 2));
  const auto bias = [&](size_t, size_t) { return shift; };
  RC_ASSERT((laws::variance_over_signs<T, D>([&](const T(&q)[D], const T(&k)[D]) {
              return score<rule>(q, k, bias, 0, 0);
            })) == expected);
}
template <class T>
void variance_is_that_of_the_scale() {
  rc::prop("S7: one entry", [] { scores_vary<T, Rule{}, 1>(T(1)); });
  if constexpr (!is_same_type<T, float8_e4m3fn> && !is_same_type<T, float8_e5m2> &&
                half_unit<T> == 0) {
    rc::prop("S7: d_k, three entries", [] { scores_vary<T, unscaled, 3>(T(3)); });
    rc::prop("S7: a scale of two, two entries",
             [] { scores_vary<T, Rule{.scale = Scale::of(2)}, 2>(T(8)); });
  }
  if constexpr (unit_roundoff < T >> 0 && unit_roundoff<T> <= 0x1p-11)
    rc::prop("S7: by the width, four entries", [] { scores_vary<T, Rule{}, 4>(T(1)); });
}

}  // namespace

TEST_CASE("every visible key matters in float") {
  values_reach<float>();
}
TEST_CASE("every visible key matters in double") {
  values_reach<double>();
}
TEST_CASE("every visible key matters in float16") {
  values_reach<float16>();
}
TEST_CASE("every visible key matters in bfloat16") {
  values_reach<bfloat16>();
}
TEST_CASE("every visible key matters in fixed point of 16 bits") {
  values_reach<fixed<std::int16_t, 11>>();
}
TEST_CASE("gradients are finite differences in float") {
  gradients_are_differences<float>();
}
TEST_CASE("gradients are finite differences in double") {
  gradients_are_differences<double>();
}
TEST_CASE("variance over signs") {
  SECTION("float") {
    variance_is_that_of_the_scale<float>();
  }
  SECTION("double") {
    variance_is_that_of_the_scale<double>();
  }
  SECTION("float16") {
    variance_is_that_of_the_scale<float16>();
  }
  SECTION("bfloat16") {
    variance_is_that_of_the_scale<bfloat16>();
  }
  SECTION("float8_e4m3fn") {
    variance_is_that_of_the_scale<float8_e4m3fn>();
  }
  SECTION("float8_e5m2") {
    variance_is_that_of_the_scale<float8_e5m2>();
  }
  SECTION("fixed point of 16 bits") {
    variance_is_that_of_the_scale<fixed<std::int16_t, 11>>();
  }
  SECTION("exact fractions") {
    rc::prop("S7: d_k, three entries",
             [] { scores_vary<small_rational, unscaled, 3>(small_rational(3)); });
  }
}
