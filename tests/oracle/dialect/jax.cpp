// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// jax.nn.dot_product_attention by its documentation and its path `xla`.
#include "catch.hpp"
#include "sample.hpp"

namespace {
using namespace attest::test;
}

TEST_CASE("JAX aligns causality and windows at the first key") {
  const Sample x({.s = 3, .t = 5});
  const CallBuilder causal = x.call("jax").option("is_causal", true);
  CHECK(verdict(causal, x, {.sees = [](int, int, int i, int j) { return j <= i; }}) ==
        Verdict::pass);
  CHECK(verdict(causal, x, {.sees = [](int, int, int i, int j) { return j <= i + 2; }}) ==
        Verdict::fail);
  // "if local_window_size == (3, 2) and the sequence is [0, 1, 2, 3, 4, 5, c, 7, 8, 9], token c can
  // attend to [3, 4, 5, c, 7, 8]"
  const Sample ten({.s = 10, .t = 10});
  const auto window = [](int left, int right) {
    return Definition{
        .sees = [=](int, int, int i, int j) { return i - left <= j && j <= i + right; }};
  };
  const CallBuilder both =
      ten.call("jax").option("local_window_size", std::vector<std::int64_t>{3, 2});
  CHECK(verdict(both, ten, window(3, 2)) == Verdict::pass);
  CHECK(verdict(both, ten, window(2, 2)) == Verdict::fail);
  CHECK(verdict(both, ten, window(3, 1)) == Verdict::fail);
  const CallBuilder one = ten.call("jax").option("local_window_size", std::int64_t{2});
  CHECK(verdict(one, ten, window(2, 2)) == Verdict::pass);
}

TEST_CASE("a row without keys is the mean of all values in JAX, padding included") {
  const Sample x({.b = 1, .s = 2, .t = 4});
  const std::vector<std::uint8_t> mask = {0, 0, 0, 0, 1, 0, 1, 1};
  Definition by{.sees = [](int, int, int i, int j) { return i == 1 && j != 1 && j < 3; },
                .empty = Empty::mean};
  const CallBuilder call =
      x.call("jax").booleans("attn_mask", {2, 4}, mask).integers("key_value_seq_lengths", {1}, {3});
  CHECK(verdict(call, x, by) == Verdict::pass);
  by.empty = Empty::zero;
  CHECK(verdict(call, x, by) == Verdict::fail);
  by.empty = Empty::nan;
  CHECK(verdict(call, x, by) == Verdict::fail);
}

TEST_CASE("padded queries return zeros in JAX") {
  const Sample x({.b = 2, .s = 3, .t = 3});
  std::vector<float> out = output(x, Definition{});
  for (std::size_t n = 0; n < 4; ++n)
    for (std::size_t c = 0; c < 4; ++c) out[((4 + n) * 3 + 2) * 4 + c] = 0;
  const CallBuilder call = x.call("jax").integers("query_seq_lengths", {2}, {3, 2});
  CHECK(verdict_on(call, x, out) == Verdict::pass);
  CHECK(verdict(call, x, Definition{}) == Verdict::fail);
  out[(4 * 3 + 2) * 4] = 1e-30f;
  CHECK(verdict_on(call, x, out) == Verdict::fail);

  SECTION("and the reference writes them") {
    CallBuilder with_out = call;
    with_out.floats("out", {2, 4, 3, 4}, out);
    const auto reference = attest::oracle::reference(with_out.call);
    CHECK(reference[0].elements[(4 * 3 + 2) * 4].special.zero);
    CHECK(reference[0].elements[(4 * 3 + 2) * 4].value == 0);
    CHECK(reference[0].elements[(4 * 3 + 1) * 4].value != 0);
    CHECK(reference[0].certified_by(attest::oracle::Certificate::not_certified) == 0);
  }
}

TEST_CASE("JAX adds a bias beside a boolean mask, which selects") {
  const Sample x({.b = 1, .s = 2, .t = 3});
  // hidden where the bias is infinite
  const std::vector<float> bias = {0.5f, -1, HUGE_VALF, 2, 0.25f, -0.75f};
  const std::vector<std::uint8_t> mask = {1, 1, 0, 1, 1, 1};
  const Definition by{.sees = [](int, int, int i, int j) { return i == 1 || j != 2; },
                      .added =
                          [&](int, int, int i, int j) {
                            return static_cast<double>(bias[static_cast<std::size_t>(3 * i + j)]);
                          }};
  const CallBuilder both =
      x.call("jax").booleans("attn_mask", {2, 3}, mask).floats("bias", {2, 3}, bias);
  CHECK(verdict(both, x, by) == Verdict::pass);
  CHECK(verdict(x.call("jax").booleans("attn_mask", {2, 3}, mask), x, by) == Verdict::fail);
  const std::vector<float> finite = {0.5f, -1, 1, 2, 0.25f, -0.75f};
  const Definition alone{.added = [&](int, int, int i, int j) {
    return static_cast<double>(finite[static_cast<std::size_t>(3 * i + j)]);
  }};
  CHECK(verdict(x.call("jax").floats("bias", {2, 3}, finite), x, alone) == Verdict::pass);
}

TEST_CASE("an infinite bias at a key that JAX's causality hides counts for nothing") {
  const Sample x({.b = 1, .s = 2, .t = 2});
  const CallBuilder call =
      x.call("jax").option("is_causal", true).floats("bias", {2, 2}, {0, HUGE_VALF, 0, 0});
  CHECK(verdict(call, x, {.sees = [](int, int, int i, int j) { return j <= i; }}) == Verdict::pass);
}

TEST_CASE("what jax refuses") {
  const Sample x;
  const auto with_out = [&](CallBuilder call) { return call.floats("out", {2, 4, 3, 4}).call; };
  CHECK(refusal(with_out(x.call("jax").floats("attn_mask", {3, 5}))) ==
        "array \"attn_mask\": found float32, expected bool (true = attend)");
  CHECK(refusal(with_out(x.call("jax").option("softcap", 1.0))).rfind("unknown option", 0) == 0);
  CHECK(refusal(with_out(x.call("jax").integers("query_seq_lengths", {2}, {3, 4}))) ==
        "array \"query_seq_lengths\": found 4, expected 0 to 3");
}
