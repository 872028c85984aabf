// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// cuDNN's attention by its documentation.
#include "catch.hpp"
#include "sample.hpp"

namespace {
using namespace attest::test;
}

TEST_CASE("cuDNN's scale is 1 where none is given") {
  const Sample x;
  CHECK(verdict(x.call("cudnn"), x, {.scale = 1}) == Verdict::pass);
  CHECK(verdict(x.call("cudnn"), x, Definition{}) == Verdict::fail);
  CHECK(verdict(x.call("cudnn").option("attn_scale", 0.5), x, {.scale = 0.5}) == Verdict::pass);
}

TEST_CASE("cuDNN's diagonal starts at either corner") {
  const Sample x({.s = 3, .t = 5});
  const auto causal = [](int offset) {
    return Definition{.scale = 1, .sees = [=](int, int, int i, int j) { return j <= i + offset; }};
  };
  const auto band = [&](const char* alignment) {
    return x.call("cudnn")
        .option("diagonal_alignment", std::string(alignment))
        .option("diagonal_band_right_bound", std::int64_t{0});
  };
  CHECK(verdict(band("TOP_LEFT"), x, causal(0)) == Verdict::pass);
  CHECK(verdict(band("TOP_LEFT"), x, causal(2)) == Verdict::fail);
  CHECK(verdict(band("BOTTOM_RIGHT"), x, causal(2)) == Verdict::pass);
  CHECK(verdict(band("BOTTOM_RIGHT"), x, causal(0)) == Verdict::fail);
  CHECK(verdict(x.call("cudnn").option("use_causal_mask", true), x, causal(0)) == Verdict::pass);
  CHECK(verdict(x.call("cudnn").option("use_causal_mask_bottom_right", true), x, causal(2)) ==
        Verdict::pass);
  // "masked beyond column row_idx + right_bound"
  const CallBuilder one = x.call("cudnn").option("diagonal_band_right_bound", std::int64_t{1});
  CHECK(verdict(one, x, causal(1)) == Verdict::pass);
}

TEST_CASE("cuDNN's left bound counts the query's own key") {
  // "at or before column row_idx - left_bound are masked"
  const Sample x({.s = 6, .t = 6});
  const auto window = [](int bound) {
    return Definition{.scale = 1,
                      .sees = [=](int, int, int i, int j) { return !(j <= i - bound) && j <= i; }};
  };
  for (const char* name : {"diagonal_band_left_bound", "sliding_window_length"}) {
    const CallBuilder call =
        x.call("cudnn").option("use_causal_mask", true).option(name, std::int64_t{3});
    CHECK(verdict(call, x, window(3)) == Verdict::pass);
    CHECK(verdict(call, x, window(4)) == Verdict::fail);
  }
}

TEST_CASE("cuDNN's lengths, and the corner they move") {
  const Sample x({.s = 3, .t = 5});
  const int queries[2] = {3, 2}, keys[2] = {5, 3};
  const Definition by{.scale = 1, .sees = [&](int b, int, int i, int j) {
                        return j < keys[b] && j <= i + keys[b] - queries[b];
                      }};
  std::vector<float> out = output(x, by);
  const CallBuilder call = x.call("cudnn")
                               .option("use_causal_mask_bottom_right", true)
                               .option("use_padding_mask", true)
                               .integers("seq_len_q", {2, 1, 1, 1}, {3, 2})
                               .integers("seq_len_kv", {2, 1, 1, 1}, {5, 3});
  CHECK(verdict_on(call, x, out) == Verdict::pass);
  out[(4 * 3 + 2) * 4] += 100;  // a padded query
  CHECK(verdict_on(call, x, out) == Verdict::pass);
  out[(4 * 3 + 1) * 4] += 1;
  CHECK(verdict_on(call, x, out) == Verdict::fail);
}

TEST_CASE("cuDNN's ALiBi adds slope·(column - row) below the diagonal") {
  const Sample x({.hkv = 4, .s = 3, .t = 3});
  // four heads: 2^-2, 2^-4, 2^-6, 2^-8
  const Definition by{
      .scale = 1,
      .sees = [](int, int, int i, int j) { return j <= i; },
      .added = [](int, int h, int i, int j) { return std::ldexp(1.0, -2 * (h + 1)) * (j - i); }};
  Definition without = by;
  without.added = [](int, int, int, int) { return 0.0; };
  const CallBuilder call =
      x.call("cudnn").option("use_causal_mask", true).option("use_alibi_mask", true);
  CHECK(verdict(call, x, by) == Verdict::pass);
  CHECK(verdict(call, x, without) == Verdict::fail);

  SECTION("slopes that are no powers of two come with the call") {
    const Sample twelve({.hq = 12, .hkv = 12});
    const auto with_out = [&](CallBuilder one) { return one.floats("out", {2, 12, 3, 4}).call; };
    CallBuilder own =
        twelve.call("cudnn").option("use_causal_mask", true).option("use_alibi_mask", true);
    CHECK(refusal(with_out(own)) ==
          "option \"use_alibi_mask\" of dialect cudnn: expected an array alibi_slopes beside it: "
          "for 12 heads the slopes are no powers of two, and rounded ones differ");
    CHECK(refusal(with_out(own.floats("alibi_slopes", {12}, std::vector<float>(12, 0.3f)))) ==
          "accepted");
  }
}

TEST_CASE("cuDNN's sink is one more score, and a row without keys is zero") {
  const Sample x;
  const std::vector<float> sinks = {1, -0.5f, 2, 0};
  const Definition by{.scale = 1, .sinks = {1, -0.5, 2, 0}};
  const CallBuilder call = x.call("cudnn").floats("sink_token", {1, 4, 1, 1}, sinks);
  CHECK(verdict(call, x, by) == Verdict::pass);
  CHECK(verdict(call, x, {.scale = 1}) == Verdict::fail);
  const Sample tall({.s = 4, .t = 2});
  const CallBuilder empty = tall.call("cudnn").option("use_causal_mask_bottom_right", true);
  Definition rows{.scale = 1, .sees = [](int, int, int i, int j) { return j <= i - 2; }};
  CHECK(verdict(empty, tall, rows) == Verdict::pass);
  rows.empty = Empty::mean;
  CHECK(verdict(empty, tall, rows) == Verdict::fail);
}
