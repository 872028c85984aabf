// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// An output that fails by its own dialect and is right by another's convention: both are said.
#include "catch.hpp"
#include "dialect/sample.hpp"

#include <algorithm>

namespace {

using namespace attest::test;
using attest::oracle::OtherReading;

std::vector<OtherReading> readings_of(CallBuilder call, const Sample& x,
                                      const std::vector<float>& out) {
  call.floats("out", {x.n.b, x.n.hq, x.n.s, x.n.dv}, out);
  return attest::oracle::judge(call.call).other_readings;
}
std::vector<OtherReading> readings(const CallBuilder& call, const Sample& x, const Definition& by) {
  return readings_of(call, x, output(x, by));
}

bool names(const std::vector<std::string>& all, const char* one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

const auto bottom_right = [](int, int, int i, int j) { return j <= i + 2; };
const auto top_left = [](int, int, int i, int j) { return j <= i; };

}  // namespace

TEST_CASE("causality at the other corner is named with the dialects that put it there") {
  const Sample x({.hkv = 4, .s = 3, .t = 5});
  const CallBuilder torch = x.call("torch").option("is_causal", true);
  const auto found = readings(torch, x, {.sees = bottom_right});
  REQUIRE(found.size() == 1);
  CHECK(found[0].difference == "the last query stands at the last key");
  for (const char* dialect : {"flash-attention-2", "flash-attention-3", "mlx", "flashinfer"})
    CHECK(names(found[0].dialects, dialect));
  CHECK(!names(found[0].dialects, "jax"));
  CHECK(!names(found[0].as_in, "jax"));

  const CallBuilder flash = x.call("flash-attention-2").option("causal", true);
  const auto other_way = readings(flash, x, {.sees = top_left});
  REQUIRE(other_way.size() == 1);
  CHECK(other_way[0].difference == "the first query stands at the first key");
  CHECK(names(other_way[0].dialects, "torch"));
}

TEST_CASE("rows without keys are named") {
  const Sample x({.b = 1, .hkv = 4, .s = 2, .t = 3});
  const CallBuilder call = x.call("torch").booleans("attn_mask", {2, 3}, {0, 0, 0, 1, 1, 1});
  Definition by{.sees = [](int, int, int i, int) { return i == 1; }, .empty = Empty::mean};
  const auto mean = readings(call, x, by);
  REQUIRE(mean.size() == 1);
  CHECK(mean[0].difference == "rows without keys return the mean of all values");
  CHECK(mean[0].dialects == std::vector<std::string>{"jax"});
  by.empty = Empty::nan;
  const auto nan = readings(call, x, by);
  REQUIRE(nan.size() == 1);
  CHECK(nan[0].dialects == std::vector<std::string>{"openvino"});
}

TEST_CASE("the mean of no values makes nothing right") {
  CallBuilder call("torch");
  call.floats("q", {1, 1, 2, 4}).floats("k", {1, 1, 0, 4}).floats("v", {1, 1, 0, 2});
  call.floats("out", {1, 1, 2, 2}, {0, 0, 0, 5});
  const auto report = attest::oracle::judge(call.call);
  CHECK(report.verdict == Verdict::fail);
  CHECK(report.other_readings.empty());
}

TEST_CASE("a window of one key more or less is named, and so is a scale") {
  const Sample x({.hkv = 4, .s = 6, .t = 6});
  const auto window = [](int left) {
    return Definition{.sees = [=](int, int, int i, int j) { return i - left <= j && j <= i; }};
  };
  const CallBuilder flash = x.call("flash-attention-2")
                                .option("causal", true)
                                .option("window_size", std::vector<std::int64_t>{2, -1});
  const auto one_less = readings(flash, x, window(1));
  REQUIRE(one_less.size() == 1);
  CHECK(one_less[0].difference == "a window of w sees w keys, the query's own one of them");
  // cuDNN would take another scale too, where none is given, and gpt-oss needs sinks
  CHECK(names(one_less[0].as_in, "cudnn"));
  const auto with_one_more = readings(
      x.call("cudnn")
          .option("attn_scale", 0.5)
          .option("use_causal_mask", true)
          .option("sliding_window_length", std::int64_t{2}),
      x, {.scale = 0.5, .sees = [](int, int, int i, int j) { return i - 2 <= j && j <= i; }});
  REQUIRE(with_one_more.size() == 1);
  CHECK(with_one_more[0].difference ==
        "a window of w sees w keys to the left beside the query's own");

  const auto unscaled = readings(x.call("torch"), x, {.scale = 1});
  REQUIRE(unscaled.size() == 1);
  CHECK(unscaled[0].difference == "without a scale it is 1");
  CHECK(unscaled[0].dialects == std::vector<std::string>{"cudnn"});
  CHECK(readings(x.call("torch").option("scale", 0.5), x, {.scale = 1}).empty());
}

TEST_CASE("two differences of one dialect are named together") {
  const Sample x({.hkv = 4, .s = 4, .t = 2});
  const CallBuilder call = x.call("flash-attention-2")
                               .option("causal", true)
                               .option("window_size", std::vector<std::int64_t>{0, -1});
  // by JAX's reading: query i sees key i alone, and none from query 2 on
  const auto found = readings(
      call, x, {.sees = [](int, int, int i, int j) { return j == i; }, .empty = Empty::mean});
  REQUIRE(found.size() == 1);
  CHECK(found[0].difference ==
        "the first query stands at the first key; rows without keys return the mean of all values");
  CHECK(found[0].dialects == std::vector<std::string>{"jax"});
}

TEST_CASE("nothing is named for what passes, or is right under no dialect") {
  const Sample x({.hkv = 4, .s = 3, .t = 5});
  const CallBuilder call = x.call("torch").option("is_causal", true);
  CHECK(readings(call, x, {.sees = top_left}).empty());
  std::vector<float> out = output(x, {.sees = bottom_right});
  CHECK(readings_of(call, x, out).size() == 1);
  out[17] += 0.25f;
  CHECK(readings_of(call, x, out).empty());
}
