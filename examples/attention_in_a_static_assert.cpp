// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Six tokens attend to one another while the program is compiled, and again while it runs: the same
// bits.
#include <attest/attest.hpp>
#include <cstdio>

using namespace attest;

constexpr auto x = matrix({{0.43f, 0.15f, 0.89f},    // Your
                           {0.55f, 0.87f, 0.66f},    // journey
                           {0.57f, 0.85f, 0.64f},    // starts
                           {0.22f, 0.58f, 0.33f},    // with
                           {0.77f, 0.25f, 0.10f},    // one
                           {0.05f, 0.80f, 0.55f}});  // step

constexpr auto w_q = matrix({{0.3f, -0.2f}, {0.5f, 0.1f}, {-0.4f, 0.6f}});
constexpr auto w_k = matrix({{0.2f, 0.7f}, {-0.1f, 0.4f}, {0.9f, -0.3f}});
constexpr auto w_v = matrix({{1.f, 0.f, 0.5f}, {0.f, 1.f, 0.5f}, {0.f, 0.f, -1.f}});

constexpr auto context = attention(Query{x * w_q}, Key{x * w_k}, Value{x * w_v}, causal);

static_assert(context[0][0] == x[0][0] && context[0][1] == x[0][1],
              "the first token sees only itself");
static_assert(attention_cost(Query{x * w_q}, Key{x * w_k}, Value{x * w_v}, causal).exponentials ==
              21);
static_assert(!can_attend<Key<float, 6, 2>, Query<float, 6, 2>, Value<float, 6, 3>>,
              "roles are types");

int main() {
  auto tokens = x;  // not constexpr: computed when the program runs
  const auto again = attention(Query{tokens * w_q}, Key{tokens * w_k}, Value{tokens * w_v}, causal);
  for (const auto& row : again.entries)
    std::printf("% .6f % .6f % .6f\n", double(row[0]), double(row[1]), double(row[2]));
  std::puts(again == context ? "same bits as the compiler's" : "other bits than the compiler's");
  return again == context ? 0 : 1;
}
