// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Each law is broken by an attention with a fault, on one call or another of a hundred.
#include <attest/gradient.hpp>
#include <attest/laws.hpp>
#include <attest/streaming.hpp>

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
  CHECK(some_call_breaks([](auto& q, auto& k, auto& v, auto&, auto&) {
    const auto half_as_sharp = faulty([](const auto& a, const auto& b, const auto& c) {
      return attention<Rule{.scale = Scale::of(2)}>(a, b, c);
    });
    return laws::hard_attention_is_the_limit(half_as_sharp, q, k, v, 4.f);
  }));
  CHECK(some_call_breaks([](auto& q, auto& k, auto&, auto&, auto&) {
    auto weights = attention_weights(q, k);
    weights[3][1] = weights[3][1] * 1.00001f + 1e-6f;
    return laws::rows_sum_to_one(weights);
  }));
}
TEST_CASE("a fault of masks breaks the law that speaks of it") {
  CHECK(some_call_breaks([](auto& q, auto& k, auto&, auto&, auto&) {
    return laws::weights_are_positive(attention_weights(q, k), causal);
  }));
  CHECK(some_call_breaks([](auto& q, auto& k, auto&, auto&, auto&) {
    auto weights = attention_weights(q, k);
    weights[2][0] = weights[2][0] - 0.5f;
    return laws::weights_are_positive(weights);
  }));
  CHECK(some_call_breaks([](auto& q, auto& k, auto& v, auto& other_k, auto& other_v) {
    const auto hidden_after_softmax = faulty([](const auto& a, const auto& b, const auto& c) {
      auto weights = attention_weights(a, b);
      for (size_t i = 0; i < 4; ++i)
        for (size_t j = i + 1; j < 4; ++j) weights[i][j] = 0;
      return weights * c.matrix;
    });
    return laws::hidden_keys_change_nothing(hidden_after_softmax, q, k, v, other_k, other_v,
                                            causal);
  }));
  CHECK(some_call_breaks([](auto& q, auto& k, auto& v, auto&, auto&) {
    const auto last_key_left_out = faulty([](const auto& a, const auto& b, const auto& c) {
      return attention(a, b, c, [](size_t, size_t j) { return j < 3; });
    });
    return laws::every_visible_key_matters(last_key_left_out, q, k, v);
  }));
}

TEST_CASE("a fault of heads or batches breaks the law that speaks of it") {
  const auto blocked = [](const auto& q, const auto& k, const auto& v) {
    return attention(q, k, v);
  };
  const auto tiled = [](const auto& q, const auto& k, const auto& v) {
    return attention<Rule{.head_map = HeadMap::tiled}>(q, k, v);
  };
  CHECK(some_call_breaks([&](auto& q, auto& k, auto& v, auto& other_k, auto& other_v) {
    return laws::head_independence(tiled, blocked, Heads{q, q, q, q}, Heads{k, other_k},
                                   Heads{v, other_v});
  }));
  CHECK(some_call_breaks([&](auto& q, auto& k, auto& v, auto& other_k, auto& other_v) {
    return laws::grouped_heads_are_repeated_heads(tiled, blocked, Heads{q, q, q, q},
                                                  Heads{k, other_k}, Heads{v, other_v});
  }));
  CHECK(some_call_breaks([&](auto& q, auto& k, auto& v, auto& other_k, auto& other_v) {
    const auto keys_of_the_first = [](const auto& a, auto b, const auto& c) {
      b[1] = b[0];
      return attention(a, b, c);
    };
    return laws::batch_independence(keys_of_the_first, blocked, Batch{q, q}, Batch{k, other_k},
                                    Batch{v, other_v});
  }));
}

TEST_CASE("a fault of partial results breaks the law that speaks of it") {
  const auto seen_alone = [](size_t key) { return [key](size_t, size_t j) { return j == key; }; };
  const auto of_key = [&](auto& q, auto& k, auto& v, size_t key) {
    return partial_attention(q, k, v, 0, seen_alone(key));
  };
  const auto means_of_means = [](const auto& a, const auto& b) {  // whatever their totals are
    auto merged = merge(a, b);
    merged.mean = 0.5f * (a.mean + b.mean);
    return merged;
  };
  const auto first_maximum = [](const auto& a, const auto& b) {  // never the second one
    auto merged = merge(a, b);
    for (size_t i = 0; i < 4; ++i) merged.denominator[i].largest = a.denominator[i].largest;
    return merged;
  };
  CHECK(some_call_breaks([&](auto& q, auto& k, auto& v, auto&, auto&) {
    return laws::two_ways_agree(
        faulty([&](const auto& a, const auto& b, const auto& c) {
          return means_of_means(means_of_means(of_key(a, b, c, 0), of_key(a, b, c, 1)),
                                means_of_means(of_key(a, b, c, 2), of_key(a, b, c, 3)))
              .mean;
        }),
        faulty([](const auto& a, const auto& b, const auto& c) { return attention(a, b, c); }), q,
        k, v);
  }));
  CHECK(some_call_breaks([&](auto& q, auto& k, auto& v, auto&, auto&) {
    return laws::merge_is_commutative(first_maximum, of_key(q, k, v, 0), of_key(q, k, v, 1));
  }));
  // Of the means alone, which are exact: what rounding does to a total breaks no law.
  CHECK(some_call_breaks([&](auto&, auto&, auto& v, auto&, auto& other_v) {
    return laws::merge_is_associative([](const auto& a, const auto& b) { return 0.5f * (a + b); },
                                      v.matrix, other_v.matrix, v.matrix + v.matrix);
  }));
}

TEST_CASE("a fault of scale or gradient breaks the law that speaks of it") {
  const auto without_scale = [](const auto& q, const auto& k) { return dot(q, k); };
  CHECK(laws::variance_over_signs<float, 4>(without_scale) != 1);
  // Entries up to 2 at scale 1/√3: a score changes by at most X = 1.2 with one of a query,
  // d_output·v by 16, and h²/6 of the third derivative (proofs/gradient.cpp) is below 0.01.
  const auto holds_for = [](float factor) {
    return [factor](auto& q, auto& k, auto& v, auto&, auto& d_output) {
      const auto number = [&](const auto& queries) {
        const auto output = attention(Query{queries}, k, v);
        double sum = 0;
        for (size_t i = 0; i < 4; ++i)
          for (size_t t = 0; t < 2; ++t)
            sum += double{d_output.matrix[i][t]} * double{output[i][t]};
        return sum;
      };
      const auto gradient = attention_gradient(q, k, v, d_output.matrix).query;
      return laws::gradient_is_finite_difference(number, q.matrix, factor * gradient, 0x1p-7,
                                                 0x1p-5);
    };
  };
  const float root_of_width = 1.7320508f;  // what the scale would have divided by
  CHECK(some_call_breaks(holds_for(root_of_width)));
  CHECK_FALSE(some_call_breaks(holds_for(1)));
}
