// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Every law on random calls: in every number type, under several rules, on several shapes; and
// attentions with a fault break the law that speaks of it.
#include "random_matrix.hpp"
//
#include <algorithm>
#include <attest/heads.hpp>
#include <attest/laws.hpp>
#include <string>

namespace {
using namespace attest;
using namespace tests;

// Numbers that a type holds, so that their sums do too: integers of a few bits times a unit.
template <class T>
struct FewBits {
  static constexpr int largest = 1 << 10;
  static constexpr double unit = 0x1p-8;
};
template <>
struct FewBits<bfloat16> {
  static constexpr int largest = 60;
  static constexpr double unit = 0x1p-5;
};
template <>
struct FewBits<float8_e4m3fn> {
  static constexpr int largest = 7;
  static constexpr double unit = 0x1p-3;
};
template <>
struct FewBits<float8_e5m2> {
  static constexpr int largest = 3;
  static constexpr double unit = 0x1p-3;
};
template <int F>  // no sum of products or of exponentials saturates
struct FewBits<fixed<std::int16_t, F>> {
  static constexpr int largest = 16;
  static constexpr double unit = 0x1p-5;
};

template <class T, size_t R, size_t C>
Matrix<T, R, C> few_bits(int part = 1) {
  constexpr int largest = FewBits<T>::largest;
  const auto entries = *rc::gen::container<std::vector<int>>(
      R * C, rc::gen::inRange(-largest / part, largest / part + 1));
  Matrix<T, R, C> m;
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < C; ++j) m[i][j] = T(entries[i * C + j] * FewBits<T>::unit);
  return m;
}

// attention<rule> with a mask of the call's, and the error it may have.
template <Rule rule = Rule{}, class Visible = Everything>
auto attention_within_bound(const Visible& mask = {}) {
  return laws::Within{[mask](const auto& q, const auto& k, const auto& v) {
                        return attention<rule>(q, k, v, mask);
                      },
                      [mask](const auto& q, const auto& k, const auto& v) {
                        return attention_error_bound<rule>(q, k, v, mask);
                      }};
}

inline constexpr Rule half_scale{.scale = Scale::of(0.5)};
inline constexpr Rule full_scale{.scale = Scale::of(1)};
inline constexpr Rule capped{.softcap = 1.5};
inline constexpr Rule causal_rule{.causal = true};
inline constexpr Rule window_rule{.offset = 1, .window_left = 1, .window_right = 0};

template <class T, size_t Tq, size_t Tk, size_t D, size_t Dv>
struct Laws {
  const Query<T, Tq, D> q{few_bits<T, Tq, D>()};
  const Key<T, Tk, D> k{few_bits<T, Tk, D>()}, other_k{few_bits<T, Tk, D>()};
  const Value<T, Tk, Dv> v{few_bits<T, Tk, Dv>(4)}, other_v{few_bits<T, Tk, Dv>(4)};
  const Matrix<bool, Tq, Tk> mask = *masks<Tq, Tk>();

  void weights() const {
    RC_ASSERT(laws::rows_sum_to_one(attention_weights(q, k, mask), mask));
    RC_ASSERT(laws::weights_are_positive(attention_weights(q, k, mask), mask));
    RC_ASSERT(laws::rows_sum_to_one(attention_weights<capped>(q, k)));
  }

  void outputs() const {
    RC_ASSERT(laws::outputs_lie_in_the_convex_hull(attention_within_bound(mask), q, k, v, mask));
    RC_ASSERT(laws::outputs_lie_in_the_convex_hull(attention_within_bound<capped>(), q, k, v));
    RC_ASSERT(laws::zero_scores_average(attention_within_bound(mask), q, k, v, mask));
    RC_ASSERT(laws::shift_invariance(attention_within_bound(mask), q, k, v,
                                     few_bits<T, 1, D>().entries[0]));
    const T a = T(*rc::gen::inRange(-2, 3)), b = T(*rc::gen::inRange(-2, 3));
    RC_ASSERT(laws::linearity_in_values(attention_within_bound(mask), q, k, v, other_v, a, b));
    RC_ASSERT(laws::scale_law(attention_within_bound<half_scale>(),
                              attention_within_bound<full_scale>(), q, k, v, T(2)));
  }

  void orders() const {
    size_t order_of_queries[Tq], order_of_keys[Tk];
    const auto queries = *tests::orders<Tq>();
    const auto keys = *tests::orders<Tk>();
    std::copy(queries.begin(), queries.end(), order_of_queries);
    std::copy(keys.begin(), keys.end(), order_of_keys);
    RC_ASSERT(laws::permutation_equivariance(attention_within_bound(), q, k, v, order_of_queries));
    RC_ASSERT(laws::permutation_equivariance(attention_within_bound<capped>(), q, k, v,
                                             order_of_queries));
    RC_ASSERT(
        laws::key_value_permutation_invariance(attention_within_bound(), q, k, v, order_of_keys));
  }

  void hidden() const {
    RC_ASSERT(laws::hidden_keys_change_nothing(attention_within_bound(mask), q, k, v, other_k,
                                               other_v, mask));
    RC_ASSERT(laws::causality(attention_within_bound<causal_rule>(), q, k, v, other_k, other_v));
    RC_ASSERT(laws::window_locality(attention_within_bound<window_rule>(), q, k, v, other_k,
                                    other_v, 1, 0, 1));
  }

  void heads_and_batches() const {
    const Heads queries{q, Query<T, Tq, D>{few_bits<T, Tq, D>()},
                        Query<T, Tq, D>{few_bits<T, Tq, D>()}, q};
    const Heads keys{k, other_k};
    const Heads values{v, other_v};
    const auto in_heads = [](const auto& a, const auto& b, const auto& c) {
      return attention<causal_rule>(a, b, c);
    };
    RC_ASSERT(laws::head_independence(in_heads, in_heads, queries, keys, values));
    RC_ASSERT(laws::grouped_heads_are_repeated_heads(in_heads, in_heads, queries, keys, values));
    RC_ASSERT(laws::batch_independence(in_heads, in_heads, Batch{q, q}, Batch{k, other_k},
                                       Batch{v, other_v}));
  }
};

template <class T, size_t Tq, size_t Tk, size_t D, size_t Dv>
void hold_in(const std::string& shape) {
  using Call = Laws<T, Tq, Tk, D, Dv>;
  rc::prop("S21, S17: weights, " + shape, [] { Call{}.weights(); });
  rc::prop("S1, S21: outputs, " + shape, [] { Call{}.outputs(); });
  rc::prop("S8: orders, " + shape, [] { Call{}.orders(); });
  rc::prop("S10: what is hidden, " + shape, [] { Call{}.hidden(); });
  rc::prop("S11, S12: heads and batches, " + shape, [] { Call{}.heads_and_batches(); });
}
template <class T>
void hold() {
  hold_in<T, 3, 5, 4, 2>("three queries, five keys");
  hold_in<T, 4, 4, 3, 3>("four tokens");
}

}  // namespace

TEST_CASE("the laws hold in float") {
  hold<float>();
  hold_in<float, 2, 37, 9, 5>("37 keys");
}
TEST_CASE("the laws hold in double") {
  hold<double>();
}
TEST_CASE("the laws hold in float16") {
  hold<float16>();
}
TEST_CASE("the laws hold in bfloat16") {
  hold<bfloat16>();
}
TEST_CASE("the laws hold in float8_e4m3fn") {
  hold<float8_e4m3fn>();
}
TEST_CASE("the laws hold in float8_e5m2") {
  hold<float8_e5m2>();
}
TEST_CASE("the laws hold in fixed point of 16 bits") {
  hold<fixed<std::int16_t, 11>>();
}

// Each law is broken by an attention with a fault, on one call or another of a hundred.
namespace {

template <class Law>
bool some_call_breaks(const Law& law) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    unsigned state = seed;
    const auto fill = [&](auto& m) {
      for (auto& row : m.matrix.entries)
        for (float& entry : row) {
          state = state * 1664525u + 1013904223u;
          entry = static_cast<float>(static_cast<int>(state >> 24) - 128) / 64;
        }
    };
    Query<float, 4, 3> q;
    Key<float, 4, 3> k, other_k;
    Value<float, 4, 2> v, other_v;
    fill(q), fill(k), fill(other_k), fill(v), fill(other_v);
    if (!law(q, k, v, other_k, other_v)) return true;
  }
  return false;
}
// The faulty attention claims the error of a right one.
template <class Fault>
auto faulty(Fault fault) {
  return laws::Within{fault, [](const auto& q, const auto& k, const auto& v) {
                        return attention_error_bound(q, k, v);
                      }};
}

}  // namespace

TEST_CASE("a fault breaks the law that speaks of it") {
  const auto unnormalised = faulty(
      [](const auto& q, const auto& k, const auto& v) { return 1.001f * attention(q, k, v); });
  CHECK(some_call_breaks([&](auto& q, auto& k, auto& v, auto&, auto&) {
    return laws::zero_scores_average(unnormalised, q, k, v);
  }));
  CHECK(some_call_breaks([](auto& q, auto& k, auto& v, auto&, auto&) {
    return laws::outputs_lie_in_the_convex_hull(
        faulty(
            [](const auto& a, const auto& b, const auto& c) { return 2.f * attention(a, b, c); }),
        q, k, v);
  }));
  CHECK(some_call_breaks([](auto& q, auto& k, auto& v, auto&, auto&) {
    const float shift[] = {1, 0, -0.5};
    return laws::shift_invariance(faulty([](const auto& a, const auto& b, const auto& c) {
                                    return attention<Rule{.softcap = 1.5}>(a, b, c);
                                  }),
                                  q, k, v, shift);
  }));
  CHECK(some_call_breaks([](auto& q, auto& k, auto& v, auto&, auto&) {
    const size_t order[] = {1, 0, 2, 3};
    return laws::permutation_equivariance(faulty([](const auto& a, const auto& b, const auto& c) {
                                            return attention(a, b, c, causal);
                                          }),
                                          q, k, v, order);
  }));
  CHECK(some_call_breaks([](auto& q, auto& k, auto& v, auto&, auto&) {
    const size_t order[] = {0, 1, 3, 2};
    return laws::key_value_permutation_invariance(
        faulty([](const auto& a, const auto& b, const auto& c) {
          return attention<Rule{.alibi = true}>(a, b, c);
        }),
        q, k, v, order);
  }));
  CHECK(some_call_breaks([](auto& q, auto& k, auto& v, auto& other_k, auto& other_v) {
    return laws::causality(faulty([](const auto& a, const auto& b, const auto& c) {
                             return attention(a, b, c, causal_after(1));
                           }),
                           q, k, v, other_k, other_v);
  }));
  CHECK(some_call_breaks([](auto& q, auto& k, auto& v, auto& other_k, auto& other_v) {
    return laws::window_locality(faulty([](const auto& a, const auto& b, const auto& c) {
                                   return attention<Rule{.window_left = 2, .window_right = 0}>(a, b,
                                                                                               c);
                                 }),
                                 q, k, v, other_k, other_v, 1, 0);
  }));
  CHECK(some_call_breaks([](auto& q, auto& k, auto& v, auto&, auto& other_v) {
    return laws::linearity_in_values(faulty([](const auto& a, const auto& b, auto c) {
                                       c.matrix[0][0] = 1;
                                       return attention(a, b, c);
                                     }),
                                     q, k, v, other_v, 2.f, 1.f);
  }));
  CHECK(some_call_breaks([](auto& q, auto& k, auto& v, auto&, auto&) {
    const auto right =
        faulty([](const auto& a, const auto& b, const auto& c) { return attention(a, b, c); });
    return laws::scale_law(right, right, q, k, v, 2.f);
  }));
  CHECK(some_call_breaks([](auto& q, auto& k, auto&, auto&, auto&) {
    auto weights = attention_weights(q, k);
    weights[3][1] = weights[3][1] * 1.00001f + 1e-6f;
    return laws::rows_sum_to_one(weights);
  }));
}
