// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What the oracle should say and does not yet; a case that passes loses its tag and moves to the
// tests of its header.
#include "catch.hpp"

#include <attest/oracle/verdict.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "../oracle/call_builder.hpp"

namespace {

using namespace attest;
using attest::oracle::BadCall;
using attest::oracle::ElementType;
using attest::oracle::judge;
using attest::oracle::Verdict;
using attest::test::CallBuilder;
using attest::test::ordinary_call;

// Equal weights over `keys` values of ±1 in turn, and an output far outside them.
CallBuilder far_outside(std::size_t keys) {
  std::vector<float> values(keys);
  for (std::size_t j = 0; j < keys; ++j) values[j] = j % 2 ? 1 : -1;
  CallBuilder builder("plain");
  builder.floats("q", {1, 1}, {0}).floats("k", {keys, 1}).floats("v", {keys, 1}, values);
  builder.floats("out", {1, 1}, {1e30f});
  return builder;
}

}  // namespace

TEST_CASE("many keys summed in few bits do not let every number pass", "[!shouldfail]") {
  auto builder = far_outside(512);
  builder.call.precision["accumulate"] = std::string("float16");
  CHECK(judge(builder.call).verdict != Verdict::pass);
}

TEST_CASE("few keys summed in bfloat16 do not let every number pass", "[!shouldfail]") {
  auto builder = far_outside(40);
  builder.call.precision["accumulate"] = std::string("bfloat16");
  CHECK(judge(builder.call).verdict != Verdict::pass);
}

TEST_CASE("a scale that float32 turns into infinity is refused", "[!shouldfail]") {
  CHECK_THROWS_AS(judge(ordinary_call("onnx-24").option("scale", 1e300).call), BadCall);
}

TEST_CASE("a mask of integers is refused where only bool and floating are defined",
          "[!shouldfail]") {
  for (const std::string dialect : {"plain", "torch"}) {
    auto builder = ordinary_call(dialect, 1, 1, 1);
    builder.array("attn_mask", ElementType::uint8, {3, 5}, std::vector<std::uint8_t>(15, 1));
    CHECK_THROWS_AS(judge(builder.call), BadCall);
  }
}

TEST_CASE("an unsigned integer beyond 2^63 is not negative", "[!shouldfail]") {
  const std::uint64_t large = std::uint64_t{1} << 63;
  const auto view = oracle::Tensor::row_major(ElementType::uint64, {1},
                                              reinterpret_cast<const std::byte*>(&large));
  CHECK(view.number_at(view.data) == 0x1p63);
}

TEST_CASE("a quotient that underflows beneath a large softcap is within what float32 loses",
          "[!shouldfail]") {
  // s = 1e-15, cap = 1e30: s/cap is subnormal in float32 (or 0 where it is flushed), so
  // cap·tanh(s/cap) loses much of it
  const float s = 1e-15f, cap = 1e30f;
  volatile float quotient = s / cap;
  const float capped = cap * std::tanh(quotient);
  CallBuilder builder("onnx-24");
  builder.floats("q", {1, 1, 1, 1}, {1})
      .floats("k", {1, 1, 1, 1}, {s})
      .floats("v", {1, 1, 1, 1}, {1});
  builder.option("scale", 1.0)
      .option("softcap", 1e30)
      .option("qk_matmul_output_mode", std::int64_t{1});
  builder.floats("qk_matmul_output", {1, 1, 1, 1}, {capped});
  CHECK(judge(builder.call).verdict != Verdict::fail);
}

TEST_CASE("a tolerance is a number even for the coarsest claim", "[!shouldfail]") {
  // the second weight is 0 in any format; at 4 bits exp may be off by more than itself
  CallBuilder builder("plain");
  builder.floats("q", {1, 1}, {1000}).floats("k", {2, 1}, {1, 0}).floats("v", {2, 1}, {1, 2});
  builder.floats("out", {1, 1}, {1}).option("scale", 1.0);
  builder.call.precision["softmax"] = std::string("float8_e4m3fn");
  const oracle::Report report = judge(builder.call);
  CHECK_FALSE(std::isnan(report.outputs.at(0).worst->allowed));
}
