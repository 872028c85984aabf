// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The correctly rounded results: against a plain implementation of 500 bits rounded by search, and
// by hand where a result lies exactly, or all but exactly, halfway between two numbers.
#include "catch.hpp"

#include <attest/oracle/reference.hpp>
#include <attest/oracle/row_reference.hpp>
#include <attest/oracle/verdict.hpp>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "call_builder.hpp"
#include "nearest_number.hpp"
#include "random_row.hpp"

namespace {

using namespace attest;
using namespace attest::oracle;
using attest::test::CallBuilder;
using attest::test::exact_row;
using attest::test::nearest_number;
using attest::test::RandomRow;
using attest::test::Reference;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double NaN = std::numeric_limits<double>::quiet_NaN();

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

double rounded(const Reference& x, const NumberFormat& format) {
  return format == formats::float64 ? static_cast<double>(x) : nearest_number(x, format);
}

// Whether x is so near a halfway point that 500 bits do not tell the side.
bool too_near(const Reference& x, const NumberFormat& format) {
  const Reference little = ldexp(Reference(1), -400) * abs(x);
  return !same(rounded(x - little, format), rounded(x + little, format));
}

auto any_format() {
  return rc::gen::element(&formats::float64, &formats::float32, &formats::float16,
                          &formats::bfloat16, &formats::float8_e4m3fn, &formats::float8_e5m2);
}

// One row, of which `stage` is the score output.
struct Row {
  Problem problem;
  std::vector<ReferenceElement> outputs, scores;

  Row(const Rule& rule, const RowData& data, ScoreStage stage, const NumberFormat& format) {
    problem.rule = rule;
    problem.score_stage = stage;
    detail::RowReference reference(problem, &format, &format);
    reference.compute(data);
    outputs = reference.outputs;
    scores = reference.scores;
  }
};

// Returns whether a certificate was needed that 500 bits cannot check.
bool check_element(const ReferenceElement& element, const Reference& exact,
                   const NumberFormat& format) {
  RC_ASSERT(element.certificate != Certificate::not_certified);
  if (too_near(exact, format)) return true;
  const double expected = rounded(exact, format);
  if (exact == 0)
    RC_ASSERT(element.value == 0);
  else
    RC_ASSERT(same(element.value, expected));
  RC_ASSERT(element.agrees(expected));
  RC_ASSERT(!element.agrees(expected == 1 ? 2 : 1));
  return false;
}

// A row by hand: one column of values, the scores given as one key component each, scale 1.
struct Hand {
  std::vector<double> query = {1}, keys, values, bias;
  Rule rule;

  Hand(std::vector<double> scores, std::vector<double> v)
      : keys(std::move(scores)), values(std::move(v)), bias(keys.size(), 0) {
    rule.scale = Scale::of(1);
  }
  ReferenceElement output(const NumberFormat& format) const {
    return Row(rule, data(), ScoreStage::scaled, format).outputs[0];
  }
  ReferenceElement score(ScoreStage stage, std::size_t j, const NumberFormat& format) const {
    return Row(rule, data(), stage, format).scores[j];
  }
  RowData data() const {
    return {query.data(), keys.data(), values.data(), bias.data(), query.size(), 1, values.size()};
  }
};

}  // namespace

TEST_CASE("any row is rounded as a plain implementation of 500 bits") {
  rc::prop("output and every stage of the scores, in every format", [] {
    const auto* format = *any_format();
    const auto stage = *rc::gen::element(ScoreStage::scaled, ScoreStage::capped, ScoreStage::biased,
                                         ScoreStage::weights);
    const RandomRow row = test::random_row(
        *rc::gen::arbitrary<std::uint64_t>(), *rc::gen::inRange<std::size_t>(1, 10),
        *rc::gen::inRange<std::size_t>(1, 4), *rc::gen::inRange<std::size_t>(1, 20),
        test::any_kind(), *rc::gen::element(formats::float64, formats::float32, formats::float16));
    const Row got(row.rule, row.data, stage, *format);
    const test::ExactRow exact = exact_row(row);
    for (std::size_t t = 0; t < row.data.value_width; ++t)
      check_element(got.outputs[t], exact.outputs[t], *format);
    for (std::size_t j = 0; j < row.data.key_count; ++j) {
      if (stage == ScoreStage::biased && !row.data.visible(j)) {
        RC_ASSERT(same(got.scores[j].value, format->has_infinity ? -infinity : NaN));
        continue;
      }
      const auto& stages = stage == ScoreStage::scaled   ? exact.scaled
                           : stage == ScoreStage::capped ? exact.capped
                           : stage == ScoreStage::biased ? exact.biased
                                                         : exact.weights;
      check_element(got.scores[j], stages[j], *format);
    }
  });
  // A check that finds every number too near would pass that. Means and weights of three random
  // scores and more are transcendental; one is too near by chance with probability 2^-390.
  rc::prop("output and weights, none of them too near to check", [] {
    const auto* format = *any_format();
    test::RowKind kind{};
    kind.score_spread = kind.value_scale = 1;
    const RandomRow row =
        test::random_row(*rc::gen::arbitrary<std::uint64_t>(), 4, 2,
                         *rc::gen::inRange<std::size_t>(3, 20), kind, formats::float64);
    const Row got(row.rule, row.data, ScoreStage::weights, *format);
    const test::ExactRow exact = exact_row(row);
    for (std::size_t t = 0; t < row.data.value_width; ++t)
      RC_ASSERT(!check_element(got.outputs[t], exact.outputs[t], *format));
    for (std::size_t j = 0; j < row.data.key_count; ++j)
      RC_ASSERT(!check_element(got.scores[j], exact.weights[j], *format));
  });
}

TEST_CASE("one visible key gives its value, rounded once") {
  // float16 holds 2048 and 2050
  CHECK(Hand({0}, {2049}).output(formats::float16).value == 2048);
  CHECK(Hand({0}, {2051}).output(formats::float16).value == 2052);
  CHECK(Hand({0}, {2049}).output(formats::float16).certificate == Certificate::exact);
  CHECK(Hand({0}, {2049 + 0x1p-40}).output(formats::float16).value == 2050);
  CHECK(Hand({0}, {1.0 / 3}).output(formats::float64).value == 1.0 / 3);
  CHECK(Hand({0}, {0x1p-1074}).output(formats::float64).value == 0x1p-1074);
  Hand masked({5, 0}, {7, 2051});
  masked.bias[0] = -infinity;
  CHECK(masked.output(formats::float16).value == 2052);
}

TEST_CASE("equal scores give the mean of their values, exactly") {
  CHECK(Hand({3, 3}, {2048, 2050}).output(formats::float16).value == 2048);
  CHECK(Hand({3, 3}, {2050, 2052}).output(formats::float16).value == 2052);
  CHECK(Hand({3, 3}, {2048, 2050}).output(formats::float16).certificate == Certificate::exact);
  CHECK(Hand({3, 3, 3}, {1, 1, 0}).output(formats::float64).value == 2.0 / 3);
  CHECK(Hand({3, 3}, {1, 1 + 0x1p-52}).output(formats::float64).value == 1);
  CHECK(Hand({3, 3}, {1 + 0x1p-52, 1 + 0x1p-51}).output(formats::float64).value == 1 + 0x1p-51);
  SECTION("opposite values are an exact zero, whose sign is free") {
    const ReferenceElement zero = Hand({3, 3}, {-0.1, 0.1}).output(formats::float64);
    CHECK(zero.value == 0);
    CHECK(zero.certificate == Certificate::exact);
    CHECK(zero.agrees(0.0));
    CHECK(zero.agrees(-0.0));
  }
  SECTION("scores equal only after the bias") {
    Hand hand({0.1, 0.35}, {2050, 2052});
    hand.keys = {0.25, 0.5};
    hand.bias = {0.5, 0.25};
    CHECK(hand.output(formats::float16).value == 2052);
    CHECK(hand.output(formats::float16).certificate == Certificate::exact);
    hand.bias[0] = std::nextafter(0.5, 0);  // the heavier key is now the second
    CHECK(hand.output(formats::float16).value == 2052);
    hand.bias[0] = std::nextafter(0.5, 1);
    CHECK(hand.output(formats::float16).value == 2050);
  }
  SECTION("scores equal by the scale 1/2, and 1/sqrt 3 times nothing") {
    Hand hand({0, 0}, {2050, 2052});
    hand.rule.scale = Scale::one_over_root_width();
    hand.query = {1, 1, 0, 0};
    hand.keys = {1, 2, 0, 0, 3, 0, 0, 0};
    hand.bias = {0, 0};
    CHECK(hand.output(formats::float16).certificate == Certificate::exact);
    hand.bias = {0.5, 0};  // 3/2 + 1/2 and 4/2
    hand.keys = {1, 2, 0, 0, 4, 0, 0, 0};
    CHECK(hand.output(formats::float16).value == 2052);
    CHECK(hand.output(formats::float16).certificate == Certificate::exact);
    hand.query = {1, -1, 0};
    hand.keys = {5, 5, 9, 7, 7, 1};
    hand.bias = {0, 0};
    CHECK(hand.output(formats::float16).certificate == Certificate::exact);
  }
  SECTION("different scores with equal means of their groups") {
    const ReferenceElement element =
        Hand({0, 0, 2, 2, 5}, {2048, 2054, 2050, 2052, 2051}).output(formats::float16);
    CHECK(element.value == 2052);
    CHECK(element.certificate == Certificate::exact);
  }
}

TEST_CASE("the least weight decides beside a point halfway") {
  for (const double far : {50.0, 200.0, 400.0, 1000.0, 1e5, 1e7, 1e9}) {
    CAPTURE(far);
    const auto output = [&](double third, const NumberFormat& format) {
      const ReferenceElement element = Hand({0, 0, -far}, {2048, 2050, third}).output(format);
      CHECK(element.certificate != Certificate::not_certified);
      CHECK(element.certificate != Certificate::exact);
      return element.value;
    };
    CHECK(output(2050, formats::float16) == 2050);
    CHECK(output(2048, formats::float16) == 2048);
    const ReferenceElement tiny = Hand({0, -far}, {0, -1}).output(formats::float32);
    CHECK(same(tiny.value,
               far == 50 ? static_cast<double>(-static_cast<float>(std::exp(-50.0))) : -0.0));
    CHECK(tiny.certificate != Certificate::not_certified);
    CHECK(!tiny.agrees(0.0));
  }
}

TEST_CASE("masses of opposite sign that all but cancel") {
  // e^-300 beside 1 − 1: only grouping keeps it
  const ReferenceElement element = Hand({0, 0, -300}, {1, -1, 1}).output(formats::float64);
  CHECK(element.value == std::exp(-300.0) / 2);
  // two different scores whose products cancel to 2^-53 of themselves
  const ReferenceElement near = Hand({1, 0}, {1, -std::exp(1.0)}).output(formats::float64);
  const Reference e = exp(Reference(1));
  CHECK(near.value == static_cast<double>(Reference((e - Reference(std::exp(1.0))) / (e + 1))));
  CHECK(near.certificate == Certificate::bits_240);
}

TEST_CASE("scores that are exactly halfway") {
  Hand hand({683}, {0});
  hand.query = {3};
  CHECK(hand.score(ScoreStage::scaled, 0, formats::float16).value == 2048);  // 2049
  CHECK(hand.score(ScoreStage::scaled, 0, formats::float16).certificate == Certificate::exact);
  hand.keys = {-683};
  CHECK(hand.score(ScoreStage::capped, 0, formats::float16).value == -2048);
  hand.bias = {-2};
  CHECK(hand.score(ScoreStage::biased, 0, formats::float16).value == -2052);  // −2051
  hand.rule.softcap = 10000;
  CHECK(hand.score(ScoreStage::scaled, 0, formats::float16).certificate == Certificate::exact);
  CHECK(hand.score(ScoreStage::capped, 0, formats::float16).certificate != Certificate::exact);
  hand.keys = {0};
  hand.bias = {2049};
  CHECK(hand.score(ScoreStage::biased, 0, formats::float16).value == 2048);
  Hand root({0}, {0});
  root.rule.scale = Scale::one_over_root_width();
  root.query = {2, 0, 0, 0, 0, 0, 0, 0, 0};
  root.keys = {6147, 0, 0, 0, 0, 0, 0, 0, 0};
  CHECK(root.score(ScoreStage::scaled, 0, formats::float16).value == 4096);  // 4098 of 4096, 4100
}

TEST_CASE("weights that are exactly halfway") {
  // 1/1024 is half of float8_e4m3fn's smallest number
  const std::vector<double> zeros(1024, 0);
  CHECK(Hand(zeros, zeros).score(ScoreStage::weights, 7, formats::float8_e4m3fn).value == 0);
  const std::vector<double> fewer(1023, 0);
  CHECK(Hand(fewer, fewer).score(ScoreStage::weights, 7, formats::float8_e4m3fn).value == 0x1p-9);
  std::vector<double> one_less = zeros;
  one_less[3] = -1e-100;  // the others weigh a little more than 1/1024
  const auto weight = [&](std::size_t j) {
    return Hand(one_less, zeros).score(ScoreStage::weights, j, formats::float8_e4m3fn);
  };
  CHECK(weight(7).value == 0x1p-9);
  CHECK(weight(7).certificate == Certificate::bits_500);
  CHECK(weight(3).value == 0);
  one_less[3] = -1e-200;
  CHECK(weight(7).value == 0x1p-9);
  CHECK(weight(7).certificate == Certificate::bits_1000);
}

TEST_CASE("what 1000 bits leave open is said to be open") {
  std::vector<double> scores(1024, 0);
  scores[3] = -1e-300;
  const std::vector<double> zeros(1024, 0);
  const ReferenceElement weight =
      Hand(scores, zeros).score(ScoreStage::weights, 7, formats::float8_e4m3fn);
  CHECK(weight.certificate == Certificate::not_certified);
  // scores that 1000 bits do not hold to better than 1
  CHECK(Hand({0, 0, -1e300}, {2048, 2050, 2050}).output(formats::float16).certificate ==
        Certificate::not_certified);
}

TEST_CASE("what exceeds the range by half a unit") {
  CHECK(Hand({0}, {65520}).output(formats::float16).value == infinity);
  CHECK(Hand({0}, {std::nextafter(65520, 0)}).output(formats::float16).value == 65504);
  CHECK(Hand({0, 0}, {-65520, -65520}).output(formats::float16).value == -infinity);
  CHECK(Hand({0, 0, -1000}, {65504, 65536, 0}).output(formats::float16).value == 65504);
  CHECK(Hand({0}, {464}).output(formats::float8_e4m3fn).value == 448);
  CHECK(std::isnan(Hand({0}, {465}).output(formats::float8_e4m3fn).value));
  const double most = std::numeric_limits<double>::max();
  CHECK(Hand({0, 0}, {most, most}).output(formats::float64).value == most);
}

TEST_CASE("NaN, infinities and rows without keys") {
  Hand hand({0, 1}, {1, infinity});
  CHECK(hand.output(formats::float32).value == infinity);
  CHECK(hand.output(formats::float32).certificate == Certificate::special);
  hand.values = {1, NaN};
  CHECK(std::isnan(hand.output(formats::float32).value));
  hand = Hand({0, NaN}, {1, 2});
  CHECK(std::isnan(hand.output(formats::float32).value));
  CHECK(hand.score(ScoreStage::scaled, 0, formats::float32).value == 0);
  hand = Hand({0, 1}, {1, 2});
  hand.bias = {-infinity, -infinity};
  CHECK(same(hand.output(formats::float32).value, 0));
  CHECK(hand.score(ScoreStage::weights, 1, formats::float32).value == 0);
  CHECK(hand.score(ScoreStage::biased, 1, formats::float32).value == -infinity);
  hand.rule.empty_row = EmptyRow::mean;
  CHECK(hand.output(formats::float32).value == 1.5);
  hand.rule.empty_row = EmptyRow::unspecified;
  CHECK(hand.output(formats::float32).certificate == Certificate::not_certified);
}

namespace {

double at(const ReferenceArray& array, std::size_t element) {
  const Tensor view = Tensor::row_major(array.type, array.shape, array.bytes.data());
  return view.number_at(array.bytes.data() + element * facts(array.type).bytes);
}

const ReferenceArray& find(const std::vector<ReferenceArray>& arrays, std::string_view name) {
  for (const ReferenceArray& array : arrays)
    if (array.name == name) return array;
  throw std::runtime_error(std::string(name) + " is missing");
}

// The call with the reference's arrays for its outputs.
Verdict judged(Call call, const std::vector<ReferenceArray>& arrays) {
  for (const ReferenceArray& array : arrays)
    call.arrays[array.name] = Tensor::row_major(array.type, array.shape, array.bytes.data());
  return judge(call).verdict;
}

}  // namespace

TEST_CASE("every output of an ONNX call, each in its place") {
  // one batch entry, query head 1 reads key/value head 0; layout (batch, query, head·column)
  CallBuilder builder("onnx-24");
  builder.option("q_num_heads", std::int64_t{2}).option("kv_num_heads", std::int64_t{1});
  builder.option("qk_matmul_output_mode", std::int64_t{0}).option("scale", 1.0);
  builder.floats("q", {1, 2, 2}, {1, 2, 3, 4}).floats("k", {1, 1, 1}, {5});
  builder.floats("v", {1, 1, 1}, {-7});
  builder.floats("past_key", {1, 1, 1, 1}, {11}).floats("past_value", {1, 1, 1, 1}, {-7});
  builder.floats("out", {1, 2, 2}, {0, 0, 0, 0}).floats("present_key", {1, 1, 2, 1}, {0, 0});
  builder.floats("present_value", {1, 1, 2, 1}, {0, 0});
  builder.floats("qk_matmul_output", {1, 2, 2, 2}, std::vector<float>(8, 0));
  const auto arrays = reference(builder.call);
  REQUIRE(arrays.size() == 4);
  const ReferenceArray& scores = find(arrays, "qk_matmul_output");
  // head 0: queries 1 and 3, head 1: queries 2 and 4; keys 11 and 5
  const std::vector<double> expected = {11, 5, 33, 15, 22, 10, 44, 20};
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(at(scores, i) == expected[i]);
  CHECK(find(arrays, "out").shape == Shape{1, 2, 2});
  for (std::size_t i = 0; i < 4; ++i) CHECK(at(find(arrays, "out"), i) == -7);
  CHECK(at(find(arrays, "present_key"), 0) == 11);
  CHECK(at(find(arrays, "present_key"), 1) == 5);
  CHECK(find(arrays, "present_key").certified_by(Certificate::copied) == 2);
  CHECK(judge(builder.call).verdict == Verdict::fail);
  CHECK(judged(builder.call, arrays) == Verdict::pass);
}

TEST_CASE("a call without outputs gets out, in the layout of its query") {
  CallBuilder builder("plain");
  builder.floats("q", {2, 3, 4, 5}).floats("k", {2, 6, 2, 5}).floats("v", {2, 6, 2, 7});
  builder.call.layout = "bshd";
  const auto arrays = reference(builder.call);
  REQUIRE(arrays.size() == 1);
  CHECK(arrays[0].shape == Shape{2, 3, 4, 7});
  CHECK(arrays[0].type == ElementType::float32);
  CHECK(judged(builder.call, arrays) == Verdict::pass);

  ReferenceOptions options;
  for (const ElementTypeFacts& wanted : element_types) {
    if (!wanted.format) continue;
    options.type = wanted.type;
    const auto converted = reference(builder.call, options);
    CHECK(converted[0].type == wanted.type);
    CHECK(converted[0].bytes.size() == 168 * wanted.bytes);
    CHECK(judged(builder.call, converted) == Verdict::pass);
  }

  CallBuilder torch("torch");
  torch.floats("q", {3, 5}).floats("k", {6, 5}).floats("v", {6, 7});
  CHECK(reference(torch.call)[0].shape == Shape{3, 7});
  CallBuilder onnx("onnx-23");
  onnx.option("q_num_heads", std::int64_t{4}).option("kv_num_heads", std::int64_t{2});
  onnx.floats("q", {1, 3, 8}).floats("k", {1, 6, 4}).floats("v", {1, 6, 10});
  CHECK(reference(onnx.call)[0].shape == Shape{1, 3, 20});
}

TEST_CASE("what is no call is refused as the dialects refuse it") {
  CHECK_THROWS_AS(reference(Call{}), BadCall);
  CallBuilder builder("onnx-23");
  builder.floats("q", {1, 3, 8}).floats("k", {1, 6, 4}).floats("v", {1, 6, 10});
  CHECK_THROWS_AS(reference(builder.call), BadCall);  // no head counts
  CallBuilder wrong("plain");
  wrong.floats("q", {3, 5}).floats("k", {6, 5}).floats("v", {6, 7}).floats("out", {3, 8});
  CHECK_THROWS_AS(reference(wrong.call), BadCall);
  wrong.floats("q", {3, 5}).floats("k", {6, 4}).floats("v", {6, 7});
  CHECK_THROWS_AS(reference(wrong.call), BadCall);
}
