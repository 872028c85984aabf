// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Verdicts on calls made here, right and wrong; verdicts on real captures are in
// tests/command/captures.cpp.
#include "call_builder.hpp"
#include "catch.hpp"

#include <attest/oracle/verdict.hpp>

#include <limits>

namespace {

using namespace attest;
using namespace attest::oracle;
using attest::test::CallBuilder;
using attest::test::ordinary_call;

constexpr float NaN = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

// One query q = 0 over the values 1, 2 and 6: the exact output is their mean, 3.
CallBuilder mean_of_three(float out) {
  CallBuilder builder("plain");
  builder.floats("q", {1, 2}, {0, 0})
      .floats("k", {3, 2}, {1, 2, 3, 4, 5, 6})
      .floats("v", {3, 1}, {1, 2, 6});
  builder.floats("out", {1, 1}, {out});
  return builder;
}

// Equal weights over `keys` values of ±1 in turn, and an output far outside them.
CallBuilder far_outside(std::size_t keys) {
  std::vector<float> values(keys);
  for (std::size_t j = 0; j < keys; ++j) values[j] = j % 2 ? 1 : -1;
  CallBuilder builder("plain");
  builder.floats("q", {1, 1}, {0}).floats("k", {keys, 1}).floats("v", {keys, 1}, values);
  builder.floats("out", {1, 1}, {1e30f});
  return builder;
}

Verdict verdict_on(float out) {
  return judge(mean_of_three(out).call).verdict;
}

}  // namespace

TEST_CASE(
    "the exact result passes, its neighbours too, and what is off by far more than rounding "
    "fails") {
  CHECK(verdict_on(3) == Verdict::pass);
  CHECK(verdict_on(std::nextafter(3.0f, 4.0f)) == Verdict::pass);
  CHECK(verdict_on(3.0001f) == Verdict::fail);
  CHECK(verdict_on(NaN) == Verdict::fail);
  CHECK(verdict_on(infinity) == Verdict::fail);
  CHECK(verdict_on(-infinity) == Verdict::fail);
}

TEST_CASE("the worst element is named, with what it should be") {
  const Report report = judge(mean_of_three(3.5f).call);
  REQUIRE(report.outputs.size() == 1);
  const OutputReport& out = report.outputs[0];
  CHECK(out.name == "out");
  CHECK(out.failed == 1);
  REQUIRE(out.worst);
  CHECK(out.worst->index == std::array<std::size_t, 4>{0, 0, 0, 0});
  CHECK(out.worst->got == 3.5);
  CHECK(out.worst->exact.farthest(3) < 1e-13);
  CHECK(out.worst->allowed < 1e-4);
}

TEST_CASE("a coarser claim allows more, and only that") {
  auto builder = mean_of_three(3.01f);
  CHECK(judge(builder.call).verdict == Verdict::fail);
  builder.call.precision["weights"] = std::string("bfloat16");
  CHECK(judge(builder.call).verdict == Verdict::pass);
  builder.floats("out", {1, 1}, {3.2f});
  CHECK(judge(builder.call).verdict == Verdict::fail);
}

TEST_CASE("no claim lets garbage pass") {
  // 300 keys of float16 with a sum that may lose everything in float16, and 8-bit weights
  std::vector<float> keys(300), values(300);
  for (std::size_t j = 0; j < keys.size(); ++j) {
    keys[j] = 0.01f * static_cast<float>(j % 7);
    values[j] = static_cast<float>(j % 5);
  }
  CallBuilder builder("plain");
  builder.floats("q", {1, 1}, {1}).floats("k", {300, 1}, keys).floats("v", {300, 1}, values);
  const auto with = [&](const char* step, const char* format, float out) {
    builder.call.precision = {{step, std::string(format)}};
    return judge(builder.floats("out", {1, 1}, {out}).call).verdict;
  };
  for (const char* step : {"accumulate", "softmax", "weights", "scores"})
    for (const char* format : {"float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"})
      for (const float out : {-12345.0f, infinity, NaN, 1e30f}) {
        CAPTURE(step, format, out);
        CHECK(with(step, format, out) != Verdict::pass);
      }
}

TEST_CASE("an implementation that folds the scale into the exponent is not called wrong") {
  // float32: scores 16000 and 16001, exact; exp2 of s·log2 e rounds numbers of 23000
  CallBuilder builder("plain");
  builder.floats("q", {1, 1}, {1}).floats("k", {2, 1}, {16000, 16001}).floats("v", {2, 1}, {0, 1});
  builder.option("scale", 1.0);
  const float log2_e = 1.44269504f;
  const float folded = std::exp2(16000 * log2_e - 16001 * log2_e);
  const auto with = [&](float out) {
    return judge(builder.floats("out", {1, 1}, {out}).call).verdict;
  };
  CHECK(with(0.73105858f) == Verdict::pass);
  CHECK(with(1 / (1 + folded)) != Verdict::fail);
  CHECK(with(0.74f) == Verdict::fail);
}

TEST_CASE("a subject's own maximum may lie below the exact one") {
  // bfloat16: scores 1028 and 1018.1 are held as 1024 and 1020
  CallBuilder builder("plain");
  builder.floats("q", {1, 2}, {1, 1}).floats("k", {2, 2}, {1024, 4, 1016, 2.109375f});
  builder.floats("v", {2, 1}, {0, 1}).floats("out", {1, 1}, {0.017944f}).option("scale", 1.0);
  for (const char* step : {"accumulate", "scores", "weights"})
    builder.call.precision[step] = std::string("bfloat16");
  CHECK(judge(builder.call).verdict != Verdict::fail);
}

TEST_CASE("a coarser softmax that the call asks for may be used, and need not") {
  // scores 1000.24 and 999.76: in float16 both are 1000
  CallBuilder builder("onnx-24");
  builder.floats("q", {1, 1, 1, 1}, {1}).floats("k", {1, 1, 2, 1}, {1000.24f, 999.76f});
  builder.floats("v", {1, 1, 2, 1}, {0, 1}).option("scale", 1.0);
  builder.option("softmax_precision", std::int64_t{10});
  const auto with = [&](float out) {
    return judge(builder.floats("out", {1, 1, 1, 1}, {out}).call).verdict;
  };
  CHECK(with(0.5f) != Verdict::fail);
  CHECK(with(0.38225f) == Verdict::pass);
  CHECK(with(1.5f) == Verdict::fail);
}

TEST_CASE("a mask of the lowest number on some keys leaves the others their certificate") {
  const float lowest = std::numeric_limits<float>::lowest();
  CallBuilder builder("plain");
  builder.floats("q", {1, 1}, {1}).floats("k", {4, 1}, {0.5f, -0.25f, 1, 2});
  builder.floats("v", {4, 1}, {1, 2, 6, -3}).floats("attn_mask", {1, 4}, {0, 0, lowest, lowest});
  builder.option("scale", 1.0);
  const auto with = [&](float out) {
    return judge(builder.floats("out", {1, 1}, {out}).call).verdict;
  };
  // 1 + 1/(1 + e^0.75), from the definition
  CHECK(with(1.32082130f) == Verdict::pass);
  CHECK(with(1.33f) == Verdict::fail);
}

TEST_CASE("a claim nobody knows is refused") {
  auto builder = mean_of_three(3);
  builder.call.precision["weights"] = std::string("float12");
  CHECK_THROWS_AS(judge(builder.call), BadCall);
  builder.call.precision = {{"rounding", std::string("up")}};
  CHECK_THROWS_AS(judge(builder.call), BadCall);
}

TEST_CASE("a subject in double is judged to its own last places") {
  CallBuilder builder("plain");
  // weights 1/3 and 2/3: scores 0 and ln 2, whose double is off by less than a roundoff
  const double ln2 = 0x1.62e42fefa39efp-1;
  builder.array("q", ElementType::float64, {1, 1}, std::vector<double>{1});
  builder.array("k", ElementType::float64, {2, 1}, std::vector<double>{0, ln2});
  builder.array("v", ElementType::float64, {2, 1}, std::vector<double>{3, 6});
  builder.option("scale", 1.0);
  const auto with = [&](double out) {
    return judge(builder.array("out", ElementType::float64, {1, 1}, std::vector<double>{out}).call);
  };
  CHECK(with(5).verdict == Verdict::pass);
  CHECK(with(5 + 1e-13).verdict == Verdict::fail);
  // half of what is allowed: double's own error would leave that open, double-double decides
  const Report near = with(5 + 0.5 * with(5).outputs[0].worst->allowed);
  CHECK(near.verdict == Verdict::pass);
  CHECK(near.double_double_rows == 1);
  CHECK(near.wide_rows == 0);
  // what double-double leaves open the wide tier decides: a score beyond the range of its splitting
  builder.array("q", ElementType::float64, {1, 1}, std::vector<double>{0x1p1020});
  builder.array("k", ElementType::float64, {2, 1}, std::vector<double>{0, ln2 * 0x1p-1020});
  CHECK(with(5).verdict == Verdict::pass);
}

TEST_CASE("scores that vanish beside the mask are judged as the format holds them") {
  // float32: 1e30 + 1 and 1e30 + 0 are the same number, so the weights are equal; exactly they are
  // e and 1
  CallBuilder builder("plain");
  builder.floats("q", {1, 1}, {1}).floats("k", {2, 1}, {1, 0}).floats("v", {2, 1}, {0, 1});
  builder.floats("attn_mask", {1, 2}, {1e30f, 1e30f}).option("scale", 1.0);
  const auto with = [&](float out) {
    return judge(builder.floats("out", {1, 1}, {out}).call).verdict;
  };
  CHECK(with(0.5f) == Verdict::pass);
  // what exact arithmetic gives, 1/(1 + e), cannot be told from the rest of the hull
  CHECK(with(0.26894142f) == Verdict::no_certificate);
  // but no weights give a blend outside the values
  CHECK(with(1.5f) == Verdict::fail);
  CHECK(with(NaN) == Verdict::fail);
}

TEST_CASE("scores beyond the format's range may be infinite there") {
  // float32: both scores are -9e38; held as -inf the row is NaN or guarded to 0, computed exactly
  // it is 2
  CallBuilder builder("plain");
  builder.floats("q", {1, 1}, {-3e19f})
      .floats("k", {2, 1}, {3e19f, 3e19f})
      .floats("v", {2, 1}, {1, 3})
      .option("scale", 1.0);
  const auto with = [&](float out) {
    return judge(builder.floats("out", {1, 1}, {out}).call).verdict;
  };
  CHECK(with(NaN) == Verdict::pass);
  CHECK(with(0) == Verdict::pass);
  CHECK(with(2) == Verdict::no_certificate);
  CHECK(with(4) == Verdict::fail);
}

TEST_CASE("masked keys: no weight reaches them") {
  auto builder = mean_of_three(1.5f).booleans("attn_mask", {3}, {1, 1, 0});
  CHECK(judge(builder.call).verdict == Verdict::pass);
  builder.floats("out", {1, 1}, {3});
  CHECK(judge(builder.call).verdict == Verdict::fail);
}

TEST_CASE("a result outside the visible values is known to be no blend of them") {
  auto builder = mean_of_three(2.5f).booleans("attn_mask", {3}, {1, 1, 0});
  const OutputReport outside = judge(builder.call).outputs[0];
  CHECK(outside.beyond_hull == 1);
  CHECK(outside.worst->lowest == 1);
  CHECK(outside.worst->highest == 2);
  const OutputReport inside = judge(builder.floats("out", {1, 1}, {1.75f}).call).outputs[0];
  CHECK(inside.failed == 1);
  CHECK(inside.beyond_hull == 0);
  CHECK(judge(builder.floats("out", {1, 1}, {1.5f}).call).outputs[0].beyond_hull == 0);
}

TEST_CASE("an element the definition leaves open is counted, not judged") {
  // two queries, the second without a key
  CallBuilder builder("plain");
  builder.floats("q", {2, 1}, {0, 0}).floats("k", {1, 1}, {1}).floats("v", {1, 1}, {7});
  builder.booleans("attn_mask", {2, 1}, {1, 0}).floats("out", {2, 1}, {7, NaN});
  builder.option("empty_row", std::string("any"));
  const Report report = judge(builder.call);
  CHECK(report.verdict == Verdict::pass);
  CHECK(report.outputs[0].unspecified == 1);
  builder.option("empty_row", std::string("zero"));
  CHECK(judge(builder.call).verdict == Verdict::fail);
  // where nothing at all is judged, nothing is certified
  builder.option("empty_row", std::string("any")).booleans("attn_mask", {2, 1}, {0, 0});
  CHECK(judge(builder.call).verdict == Verdict::no_certificate);
}

TEST_CASE(
    "an infinite value with weight makes the result infinite, NaN only if its weight may "
    "underflow") {
  CallBuilder builder("plain");
  builder.floats("q", {1, 1}, {1}).floats("k", {2, 1}, {0, 0}).floats("v", {2, 1}, {infinity, 1});
  builder.option("scale", 1.0);
  const auto with = [&](float out) {
    return judge(builder.floats("out", {1, 1}, {out}).call).verdict;
  };
  CHECK(with(infinity) == Verdict::pass);
  CHECK(with(NaN) == Verdict::fail);
  CHECK(with(-infinity) == Verdict::fail);
  builder.floats("k", {2, 1}, {-200, 0});  // e^-200 is no number of float32
  CHECK(with(infinity) == Verdict::pass);
  CHECK(with(NaN) == Verdict::pass);
}

TEST_CASE("present key and value are copies: bit for bit, the sign of zero included") {
  CallBuilder builder("onnx-24");
  builder.floats("q", {1, 1, 1, 2}, {0, 0})
      .floats("k", {1, 1, 1, 2}, {1, -0.0f})
      .floats("v", {1, 1, 1, 1}, {7});
  builder.floats("past_key", {1, 1, 1, 2}, {5, NaN}).floats("past_value", {1, 1, 1, 1}, {3});
  const auto with = [&](std::vector<float> present) {
    return judge(builder.floats("present_key", {1, 1, 2, 2}, present).call).verdict;
  };
  CHECK(with({5, NaN, 1, -0.0f}) == Verdict::pass);
  CHECK(with({5, NaN, 1, 0.0f}) == Verdict::fail);
  CHECK(with({1, -0.0f, 5, NaN}) == Verdict::fail);
  CHECK(with({5, NaN, std::nextafter(1.0f, 2.0f), -0.0f}) == Verdict::fail);
}

TEST_CASE("score outputs of each stage, and the stage taken for another") {
  // one query, two keys, scores 1 and 2 before a cap of 1 and a mask that hides the second
  CallBuilder builder("onnx-24");
  builder.floats("q", {1, 1, 1, 1}, {1})
      .floats("k", {1, 1, 2, 1}, {1, 2})
      .floats("v", {1, 1, 2, 1}, {1, 1});
  builder.booleans("attn_mask", {1, 2}, {1, 0}).option("scale", 1.0).option("softcap", 1.0);
  // tanh 1 and tanh 2, from tables (Abramowitz and Stegun, table 4.15)
  const float tanh1 = 0.761594156f, tanh2 = 0.964027580f;
  const std::vector<std::vector<float>> stages = {
      {1, 2}, {tanh1, tanh2}, {tanh1, -infinity}, {1, 0}};
  for (std::size_t claimed = 0; claimed < stages.size(); ++claimed)
    for (std::size_t returned = 0; returned < stages.size(); ++returned) {
      builder.option("qk_matmul_output_mode", static_cast<std::int64_t>(claimed));
      builder.floats("qk_matmul_output", {1, 1, 1, 2}, stages[returned]);
      CHECK(judge(builder.call).verdict == (claimed == returned ? Verdict::pass : Verdict::fail));
    }
}

TEST_CASE("a mask value of the lowest finite number hides nothing") {
  // float32 lowest() on every key of the row: uniform weights, not a row of zeros
  const float lowest = std::numeric_limits<float>::lowest();
  auto builder = mean_of_three(3).floats("attn_mask", {1, 3}, {lowest, lowest, lowest});
  CHECK(judge(builder.call).verdict == Verdict::pass);
  builder.floats("out", {1, 1}, {0});
  CHECK(judge(builder.call).verdict == Verdict::fail);
}

TEST_CASE("float64 in ONNX may follow the text or the function body, but one of them throughout") {
  // width 2: 1/√2 and the square of its root in float32 differ by 2e-9 of the score
  CallBuilder builder("onnx-24");
  builder.array("q", ElementType::float64, {1, 1, 1, 2}, std::vector<double>{1, 0});
  builder.array("k", ElementType::float64, {1, 1, 2, 2}, std::vector<double>{4, 0, 0, 0});
  builder.array("v", ElementType::float64, {1, 1, 2, 1}, std::vector<double>{1, 0});
  const auto with = [&](double scale) {
    const double out = 1 / (1 + std::exp(-4 * scale));
    return judge(
        builder.array("out", ElementType::float64, {1, 1, 1, 1}, std::vector<double>{out}).call);
  };
  const auto root = static_cast<double>(std::sqrt(1 / std::sqrt(2.0f)));
  CHECK(with(1 / std::sqrt(2.0)).verdict == Verdict::pass);
  CHECK(with(1 / std::sqrt(2.0)).reading.empty());
  CHECK(with(root * root).verdict == Verdict::pass);
  CHECK_FALSE(with(root * root).reading.empty());
  CHECK(with(0.70711).verdict == Verdict::fail);
}

TEST_CASE("many keys summed in few bits do not let every number pass") {
  auto builder = far_outside(512);
  builder.call.precision["accumulate"] = std::string("float16");
  CHECK(judge(builder.call).verdict != Verdict::pass);
}

TEST_CASE("few keys summed in bfloat16 do not let every number pass") {
  auto builder = far_outside(40);
  builder.call.precision["accumulate"] = std::string("bfloat16");
  CHECK(judge(builder.call).verdict != Verdict::pass);
}

TEST_CASE("a scale that float32 turns into infinity is refused") {
  CHECK_THROWS_AS(judge(ordinary_call("onnx-24").option("scale", 1e300).call), BadCall);
}

TEST_CASE("a mask of integers is refused where only bool and floating are defined") {
  for (const std::string dialect : {"plain", "torch"}) {
    auto builder = ordinary_call(dialect, 1, 1, 1);
    builder.array("attn_mask", ElementType::uint8, {3, 5}, std::vector<std::uint8_t>(15, 1));
    CHECK_THROWS_AS(judge(builder.call), BadCall);
  }
}

TEST_CASE("an unsigned integer beyond 2^63 is not negative") {
  const std::uint64_t large = std::uint64_t{1} << 63;
  const auto view = oracle::Tensor::row_major(ElementType::uint64, {1},
                                              reinterpret_cast<const std::byte*>(&large));
  CHECK(view.number_at(view.data) == 0x1p63);
}

TEST_CASE("a quotient that underflows beneath a large softcap is within what float32 loses") {
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

TEST_CASE("a tolerance is a number even for the coarsest claim") {
  // the second weight is 0 in any format; at 4 bits exp may be off by more than itself
  CallBuilder builder("plain");
  builder.floats("q", {1, 1}, {1000}).floats("k", {2, 1}, {1, 0}).floats("v", {2, 1}, {1, 2});
  builder.floats("out", {1, 1}, {1}).option("scale", 1.0);
  builder.call.precision["softmax"] = std::string("float8_e4m3fn");
  const oracle::Report report = judge(builder.call);
  CHECK_FALSE(std::isnan(report.outputs.at(0).worst->allowed));
}
