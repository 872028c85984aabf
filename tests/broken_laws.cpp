// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Each law is broken by an attention with a fault, on one call or another of a hundred.
#include <attest/laws.hpp>

#include "catch.hpp"

namespace {
using namespace attest;

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
