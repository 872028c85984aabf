// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// mlx.core.fast.scaled_dot_product_attention by its documentation and its fallback.
#include "catch.hpp"
#include "sample.hpp"

namespace {
using namespace attest::test;
}

TEST_CASE("MLX wants a scale and aligns \"causal\" at the last key") {
  const Sample x({.s = 3, .t = 5});
  CHECK(refusal(x.call("mlx").floats("out", {2, 4, 3, 4}).call) ==
        "option \"scale\" of dialect mlx: expected a number: it has no default");
  const CallBuilder call = x.call("mlx").option("scale", 0.5).option("mask", std::string("causal"));
  CHECK(verdict(call, x, {.scale = 0.5, .sees = [](int, int, int i, int j) {
                            return j <= i + 2;
                          }}) == Verdict::pass);
  CHECK(verdict(call, x, {.scale = 0.5, .sees = [](int, int, int i, int j) { return j <= i; }}) ==
        Verdict::fail);
  CHECK(refusal(CallBuilder(call)
                    .booleans("attn_mask", {5}, {1, 1, 1, 1, 1})
                    .floats("out", {2, 4, 3, 4})
                    .call) ==
        "option \"mask\" of dialect mlx: expected not both \"causal\" and attn_mask");
}

TEST_CASE("a row without keys in MLX: zero, or as the fallback has it") {
  const Sample x({.b = 1, .s = 2, .t = 3});
  Definition by{.scale = 0.5, .sees = [](int, int, int i, int) { return i == 1; }};
  const CallBuilder hidden =
      x.call("mlx").option("scale", 0.5).booleans("attn_mask", {2, 3}, {0, 0, 0, 1, 1, 1});
  const float low = -HUGE_VALF;
  const CallBuilder added =
      x.call("mlx").option("scale", 0.5).floats("attn_mask", {2, 3}, {low, low, low, 0, 0, 0});
  CHECK(verdict(hidden, x, by) == Verdict::pass);
  CHECK(verdict(added, x, by) == Verdict::pass);
  by.empty = Empty::mean;
  CHECK(verdict(hidden, x, by) == Verdict::pass);
  CHECK(verdict(added, x, by) == Verdict::fail);
  by.empty = Empty::nan;
  CHECK(verdict(hidden, x, by) == Verdict::fail);
  CHECK(verdict(added, x, by) == Verdict::pass);
}

TEST_CASE("MLX's sinks, a row of nothing but a sink included") {
  const Sample x({.b = 1, .s = 2, .t = 3});
  const Definition by{
      .scale = 0.5, .sees = [](int, int, int i, int) { return i == 1; }, .sinks = {3, 0, -2, 1}};
  const CallBuilder call = x.call("mlx")
                               .option("scale", 0.5)
                               .booleans("attn_mask", {2, 3}, {0, 0, 0, 1, 1, 1})
                               .floats("sinks", {4}, {3, 0, -2, 1});
  CHECK(verdict(call, x, by) == Verdict::pass);
  std::vector<float> out = output(x, by);
  out[0] = 1e-20f;  // the sink alone: exactly zero
  CHECK(verdict_on(call, x, out) == Verdict::fail);
  Definition without = by;
  without.sinks.clear();
  CHECK(verdict(call, x, without) == Verdict::fail);
}
