// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// OpenVINO, gpt-oss and ggml by their pseudo-code, reference code and headers; sinks and ALiBi of
// plain.
#include "catch.hpp"
#include "sample.hpp"

namespace {
using namespace attest::test;
}

TEST_CASE("OpenVINO's causal attribute takes the place of the mask") {
  const Sample x({.b = 1, .hkv = 1, .s = 2, .t = 3});
  const std::vector<std::uint8_t> mask = {1, 0, 1, 0, 0, 0};
  const CallBuilder masked = x.call("openvino").booleans("attn_mask", {2, 3}, mask);
  Definition by{.sees = [](int, int, int i, int j) { return i == 0 && j != 1; },
                .empty = Empty::nan};
  CHECK(verdict(masked, x, by) == Verdict::pass);
  by.empty = Empty::zero;
  CHECK(verdict(masked, x, by) == Verdict::fail);
  const CallBuilder causal = CallBuilder(masked).option("causal", true);
  CHECK(verdict(causal, x, {.sees = [](int, int, int i, int j) { return j <= i; }}) ==
        Verdict::pass);
  CHECK(verdict(causal, x, {.sees = [&](int, int, int i, int j) {
                  return j <= i && mask[static_cast<std::size_t>(3 * i + j)];
                }}) == Verdict::fail);
}

TEST_CASE("OpenVINO broadcasts heads and takes a sink") {
  const Sample x({.hkv = 1});
  CHECK(verdict(x.call("openvino").floats("sink", {1, 4, 1, 1}, {1, 0, 2, -1}).option("scale", 1.0),
                x, {.scale = 1, .sinks = {1, 0, 2, -1}}) == Verdict::pass);
  const Sample two;
  CHECK(refusal(two.call("openvino").floats("out", {2, 4, 3, 4}).call) ==
        "array \"k\": found 2 heads, expected 1 or 4 as q has");
}

TEST_CASE("gpt-oss is causal with sinks, its window counts the query's own key") {
  // "mask += torch.tril(-inf, diagonal=-sliding_window)": hidden where j <= i - window
  const Sample x({.s = 5, .t = 5});
  const std::vector<float> sinks = {1, 0, 2, -1};
  const auto window = [](int w) {
    return Definition{.sees = [=](int, int, int i, int j) { return !(j > i) && !(j <= i - w); },
                      .sinks = {1, 0, 2, -1}};
  };
  const CallBuilder call = x.call("gpt-oss").floats("sinks", {4}, sinks);
  CHECK(verdict(call, x, window(9)) == Verdict::pass);
  const CallBuilder sliding = CallBuilder(call).option("sliding_window", std::int64_t{2});
  CHECK(verdict(sliding, x, window(2)) == Verdict::pass);
  CHECK(verdict(sliding, x, window(3)) == Verdict::fail);
  Definition without = window(2);
  without.sinks.clear();
  CHECK(verdict(sliding, x, without) == Verdict::fail);
  CHECK(refusal(x.call("gpt-oss").floats("out", {2, 4, 5, 4}).call) ==
        "array \"sinks\" is missing; every call has q, k and v");
}

TEST_CASE("gpt-oss stands after its past") {
  const Sample x({.b = 1, .s = 2, .t = 5});
  const auto rows = [&](const std::vector<float>& all, std::size_t from, std::size_t count) {
    std::vector<float> some;
    for (std::size_t g = 0; g < 2; ++g)
      for (std::size_t j = from; j < from + count; ++j)
        for (std::size_t c = 0; c < 4; ++c) some.push_back(all[(g * 5 + j) * 4 + c]);
    return some;
  };
  CallBuilder call("gpt-oss");
  call.floats("q", {1, 4, 2, 4}, x.q)
      .floats("k", {1, 2, 2, 4}, rows(x.k, 3, 2))
      .floats("v", {1, 2, 2, 4}, rows(x.v, 3, 2))
      .floats("past_key", {1, 2, 3, 4}, rows(x.k, 0, 3))
      .floats("past_value", {1, 2, 3, 4}, rows(x.v, 0, 3))
      .floats("present_key", {1, 2, 5, 4}, x.k)
      .floats("sinks", {4}, {1, 0, 2, -1});
  const auto after = [](int offset) {
    return Definition{.sees = [=](int, int, int i, int j) { return j <= i + offset; },
                      .sinks = {1, 0, 2, -1}};
  };
  CHECK(verdict(call, x, after(3)) == Verdict::pass);
  CHECK(verdict(call, x, after(0)) == Verdict::fail);
}

TEST_CASE("ggml multiplies its mask by the head's slope") {
  // max_bias 8 and four heads: m0 = 2^(-8/4), slope of head h m0^(h + 1)
  const Sample x({.b = 1, .s = 2, .t = 3});
  const std::vector<float> mask = {-1, -2, -HUGE_VALF, 0, -0.5f, -3};
  const auto sloped = [&](bool slopes) {
    return Definition{.scale = 0.5,
                      .sees = [](int, int, int i, int j) { return i == 1 || j != 2; },
                      .added =
                          [&mask, slopes](int, int h, int i, int j) {
                            return static_cast<double>(mask[static_cast<std::size_t>(3 * i + j)]) *
                                   (slopes ? std::pow(0.25, h + 1) : 1);
                          }};
  };
  const CallBuilder call = x.call("ggml").option("scale", 0.5).floats("attn_mask", {2, 3}, mask);
  const CallBuilder alibi = CallBuilder(call).option("max_bias", 8.0);
  CHECK(verdict(call, x, sloped(false)) == Verdict::pass);
  CHECK(verdict(call, x, sloped(true)) == Verdict::fail);
  CHECK(verdict(alibi, x, sloped(true)) == Verdict::pass);
  CHECK(verdict(alibi, x, sloped(false)) == Verdict::fail);
  CHECK(verdict(CallBuilder(alibi).floats("alibi_slopes", {4},
                                          {0.25f, 0.0625f, 0.015625f, 0.00390625f}),
                x, sloped(true)) == Verdict::pass);
}

TEST_CASE("ggml's softcap, sinks and rows without keys") {
  const Sample x({.b = 1, .s = 2, .t = 3});
  CHECK(verdict(x.call("ggml")
                    .option("scale", 0.5)
                    .option("logit_softcap", 1.0)
                    .floats("sinks", {4}, {1, 0, 2, -1}),
                x, {.scale = 0.5, .softcap = 1, .sinks = {1, 0, 2, -1}}) == Verdict::pass);
  const float low = -HUGE_VALF;
  const CallBuilder hidden =
      x.call("ggml").option("scale", 0.5).floats("attn_mask", {2, 3}, {low, low, low, 0, 0, 0});
  Definition by{.scale = 0.5, .sees = [](int, int, int i, int) { return i == 1; }};
  CHECK(verdict(hidden, x, by) == Verdict::pass);
  by.empty = Empty::nan;
  CHECK(verdict(hidden, x, by) == Verdict::pass);
  by.empty = Empty::mean;
  CHECK(verdict(hidden, x, by) == Verdict::fail);
  CHECK(refusal(x.call("ggml").floats("out", {1, 4, 2, 4}).call) ==
        "option \"scale\" of dialect ggml: expected a number: it has no default");
}

TEST_CASE("plain takes sinks and ALiBi's slopes") {
  const Sample x({.s = 2, .t = 4});
  const CallBuilder call = x.call("plain")
                               .option("causal", std::string("bottom-right"))
                               .floats("sinks", {4}, {1, 0, 2, -1})
                               .floats("alibi_slopes", {4}, {0.5f, 0.3f, 0.2f, 0.1f});
  const float slopes[4] = {0.5f, 0.3f, 0.2f, 0.1f};
  CHECK(verdict(call, x,
                {.sees = [](int, int, int i, int j) { return j <= i + 2; },
                 .added = [&](int, int h, int i,
                              int j) { return -static_cast<double>(slopes[h]) * (i + 2 - j); },
                 .sinks = {1, 0, 2, -1}}) == Verdict::pass);
}

TEST_CASE("every dialect names its source and each of its options") {
  for (const attest::oracle::Dialect& dialect : attest::oracle::dialects()) {
    CAPTURE(dialect.name);
    CHECK(!dialect.source.empty());
    CHECK(attest::oracle::find_dialect(dialect.name) == &dialect);
    // what the reader knows, as it says when asked for what it does not
    CallBuilder call = ordinary_call(std::string(dialect.name), 1, 4, 4, 3, 3, 4, 4);
    call.option("no such option", true);
    if (dialect.name == "mlx" || dialect.name == "ggml") call.option("scale", 1.0);
    if (dialect.name.starts_with("ort")) call.option("num_heads", std::int64_t{4});
    if (dialect.name == "ort-gqa") call.option("kv_num_heads", std::int64_t{4});
    if (dialect.name == "gpt-oss") call.floats("sinks", {4});
    if (dialect.name.starts_with("ort"))
      for (const char* name : {"q", "k", "v", "out"}) call.floats(name, {1, 3, 16});
    if (dialect.name == "ort-gqa") call.integers("seqlens_k", {1}, {2});
    const std::string message = refusal(call.call);
    const std::string begin =
        "unknown option \"no such option\" of dialect " + std::string(dialect.name) + "; it knows ";
    REQUIRE(message.starts_with(begin));
    std::string listed = ", ";
    for (const attest::oracle::Term& term : dialect.options)
      listed += std::string(term.name) + ", ";
    std::string known = message.substr(begin.size()) + ", ";
    for (std::size_t at = 0; at < known.size();) {
      const std::size_t end = known.find(", ", at);
      const std::string option = known.substr(at, end - at);
      CAPTURE(option);
      if (option != "no such option" && option != "rotary_interleaved")
        CHECK(listed.find(", " + option + ", ") != std::string::npos);
      at = end + 2;
    }
    for (std::size_t at = 2; at < listed.size();) {
      const std::size_t end = listed.find(", ", at);
      const std::string option = listed.substr(at, end - at);
      CAPTURE(option);
      CHECK((", " + known).find(", " + option + ", ") != std::string::npos);
      at = end + 2;
    }
  }
}
