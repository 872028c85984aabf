// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What each dialect makes of a call, corner by corner, and what it refuses; expected readings from
// the definitions' texts.
#include "call_builder.hpp"
#include "catch.hpp"

#include <attest/oracle/dialect.hpp>

#include <limits>

namespace {

using namespace attest;
using namespace attest::oracle;
using attest::test::CallBuilder;
using attest::test::ordinary_call;

constexpr double hidden = -std::numeric_limits<double>::infinity();

std::string refusal(const Call& call) {
  try {
    read_problem(call);
  } catch (const BadCall& bad) {
    return bad.what();
  }
  return "accepted";
}

// Which keys query i of batch b sees, as a string of 1 and 0.
std::string visible(const Problem& problem, std::size_t b, std::size_t i, std::size_t h = 0) {
  std::string keys;
  for (std::size_t j = 0; j < problem.keys(); ++j)
    keys += problem.bias(b, h, i, j) == hidden ? '0' : '1';
  return keys;
}

}  // namespace

TEST_CASE("causal in ONNX starts at key 0 without a past, whatever the lengths") {
  const auto call = ordinary_call("onnx-23").option("is_causal", std::int64_t{1});
  const Problem problem = read_problem(call.call);
  CHECK(visible(problem, 0, 0) == "10000");
  CHECK(visible(problem, 0, 2) == "11100");
}

TEST_CASE("causal in ONNX counts from the end of the past, not from the last key") {
  // past 2, one query, three new keys: keys 0..2 of 5 (onnx/onnx#8054)
  auto builder = ordinary_call("onnx-23", 1, 2, 2, 1, 3).option("is_causal", std::int64_t{1});
  builder.floats("past_key", {1, 2, 2, 4}).floats("past_value", {1, 2, 2, 2});
  const Problem problem = read_problem(builder.call);
  CHECK(problem.keys() == 5);
  CHECK(visible(problem, 0, 0) == "11100");
}

TEST_CASE("valid lengths in ONNX mask the rest, and align causality at their end") {
  auto builder = ordinary_call("onnx-24").integers("nonpad_kv_seqlen", {2}, {5, 2});
  CHECK(visible(read_problem(builder.call), 1, 0) == "11000");
  builder.option("is_causal", std::int64_t{1});
  const Problem problem = read_problem(builder.call);
  CHECK(visible(problem, 0, 0) == "11100");
  CHECK(visible(problem, 0, 2) == "11111");
  // two keys for three queries: the first row is empty
  CHECK(visible(problem, 1, 0) == "00000");
  CHECK(visible(problem, 1, 1) == "10000");
}

TEST_CASE("a mask in ONNX is aligned at the right: rank 3 is heads, never batch") {
  std::vector<std::uint8_t> mask(4 * 3 * 5, 1);
  mask[1 * 15] = 0;  // head 1, query 0, key 0
  const auto builder = ordinary_call("onnx-24").booleans("attn_mask", {4, 3, 5}, mask);
  const Problem problem = read_problem(builder.call);
  CHECK(visible(problem, 0, 0, 0) == "11111");
  CHECK(visible(problem, 0, 0, 1) == "01111");
  CHECK(visible(problem, 1, 0, 1) == "01111");
}

TEST_CASE(
    "a short mask in ONNX is padded with masked keys from opset 24 on, and broadcast before") {
  const std::vector<std::uint8_t> three = {1, 1, 1}, nine(9, 1);
  const auto padded = ordinary_call("onnx-24").booleans("attn_mask", {3, 3}, nine);
  CHECK(visible(read_problem(padded.call), 0, 0) == "11100");
  const auto one_column = ordinary_call("onnx-24").booleans("attn_mask", {3, 1}, three);
  CHECK(visible(read_problem(one_column.call), 0, 0) == "10000");
  const auto broadcast = ordinary_call("onnx-23").booleans("attn_mask", {3, 1}, three);
  CHECK(visible(read_problem(broadcast.call), 0, 0) == "11111");
  const auto short_23 = ordinary_call("onnx-23").booleans("attn_mask", {3, 3}, nine);
  CHECK(refusal(short_23.call) ==
        "array \"attn_mask\": found shape (3, 3), expected what broadcasts to (2, 4, 3, 5) (batch, "
        "query heads, queries, keys)");
}

TEST_CASE("ONNX's three-axis layout is split into heads") {
  CallBuilder builder("onnx-24");
  builder.floats("q", {1, 2, 6}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  builder.floats("k", {1, 2, 3}).floats("v", {1, 2, 3}).floats("out", {1, 2, 6});
  builder.option("q_num_heads", std::int64_t{2}).option("kv_num_heads", std::int64_t{1});
  const Problem problem = read_problem(builder.call);
  CHECK(problem.query.shape == Shape{1, 2, 2, 3});
  // hidden index = head·width + column
  CHECK(problem.query.number(0, 1, 0, 0) == 3);
  CHECK(problem.query.number(0, 1, 1, 2) == 11);
}

TEST_CASE("windows in ONNX: opset 25, inclusive, counted from the causal position") {
  auto builder = ordinary_call("onnx-25")
                     .option("left_window_size", std::int64_t{1})
                     .option("right_window_size", std::int64_t{0});
  const Problem problem = read_problem(builder.call);
  CHECK(visible(problem, 0, 0) == "10000");
  CHECK(visible(problem, 0, 2) == "01100");
  builder.call.dialect = "onnx-24";
  CHECK(refusal(builder.call).rfind("unknown option \"left_window_size\" of dialect onnx-24", 0) ==
        0);
}

TEST_CASE("ONNX's softcap of 0 or below is no cap, and its scale is a float32") {
  auto builder = ordinary_call("onnx-24").option("softcap", -2.0).option("scale", 0.1);
  const Problem problem = read_problem(builder.call);
  CHECK(problem.rule.softcap == 0);
  CHECK(problem.rule.scale == Scale::of(static_cast<double>(0.1f)));
}

TEST_CASE("in float64 ONNX's text and its function body differ in the scale") {
  CallBuilder builder("onnx-24");
  const std::vector<double> numbers(8, 0.5);
  for (const char* name : {"q", "k", "v", "out"})
    builder.array(name, ElementType::float64, {1, 1, 1, 8}, numbers);
  const Problem problem = read_problem(builder.call);
  CHECK(problem.rule.scale.by_width);
  REQUIRE(problem.alternatives.size() == 1);
  // √(1/√8) = 0.594603557501… in float32 is 0x1.306fep-1 (to 24 bits); its square, exactly
  CHECK(problem.alternatives[0].rule.scale == Scale::of(0x1.306fep-1 * 0x1.306fep-1));
}

TEST_CASE("torch aligns causality top-left and refuses it with a mask") {
  auto builder = ordinary_call("torch").option("is_causal", true).option("enable_gqa", true);
  CHECK(visible(read_problem(builder.call), 0, 0) == "10000");
  builder.booleans("attn_mask", {3, 5}, std::vector<std::uint8_t>(15, 1));
  CHECK(
      refusal(builder.call) ==
      "option \"is_causal\" of dialect torch: found together with attn_mask, expected one of them");
}

TEST_CASE("torch groups heads only when asked") {
  const auto builder = ordinary_call("torch");
  CHECK(refusal(builder.call) ==
        "array \"k\": found 2 heads, expected 4 as q has, or the option enable_gqa");
}

TEST_CASE("plain: alignment, window, head map and empty rows are options") {
  auto builder = ordinary_call("plain").option("causal", std::string("bottom-right"));
  CHECK(visible(read_problem(builder.call), 0, 0) == "11100");
  builder.option("causal", std::string("top-left"))
      .option("window", std::vector<std::int64_t>{1, -1});
  CHECK(visible(read_problem(builder.call), 0, 2) == "01100");
  builder.option("heads_map", std::string("tiled"));
  CHECK(read_problem(builder.call).rule.head_map == HeadMap::tiled);
  builder.option("empty_row", std::string("mean"));
  CHECK(read_problem(builder.call).rule.empty_row == EmptyRow::mean);
  builder.option("empty_row", std::string("one"));
  CHECK(refusal(builder.call) ==
        R"(option "empty_row" of dialect plain: expected one of "zero", "nan", "mean", "any")");
}

TEST_CASE("arrays of two and three axes, and the other layout of four") {
  CallBuilder builder("plain");
  builder.floats("q", {3, 4}).floats("k", {5, 4}).floats("v", {5, 2}).floats("out", {3, 2});
  CHECK(read_problem(builder.call).query.shape == Shape{1, 1, 3, 4});
  auto swapped = ordinary_call("plain");
  swapped.floats("q", {2, 3, 4, 4})
      .floats("k", {2, 5, 2, 4})
      .floats("v", {2, 5, 2, 2})
      .floats("out", {2, 3, 4, 2});
  swapped.call.layout = "bshd";
  const Problem problem = read_problem(swapped.call);
  CHECK(problem.query_heads() == 4);
  CHECK(problem.queries() == 3);
  CHECK(problem.keys() == 5);
}

TEST_CASE("shapes that do not fit are refused by name") {
  const auto with = [](const std::string& name, Shape shape) {
    return refusal(ordinary_call("plain").floats(name, shape).call);
  };
  CHECK(
      with("k", {2, 2, 5, 3}) ==
      R"(array "k": found 3 columns, expected 4 as "q" has; (batch, heads, rows, columns) is (2, 2, 5, 3))");
  CHECK(with("v", {2, 2, 4, 2}).rfind(R"(array "v": found 4 rows, expected 5 as "k" has)", 0) == 0);
  CHECK(with("k", {1, 2, 5, 4})
            .rfind(R"(array "k": found 1 batch entries, expected 2 as "q" has)", 0) == 0);
  CHECK(with("q", {2, 3, 3, 4})
            .rfind("array \"q\": found 3 heads, expected a multiple of the 2 heads of \"k\"", 0) ==
        0);
  CHECK(with("out", {2, 4, 3, 3}) ==
        "array \"out\": found shape (2, 4, 3, 3), expected (2, 4, 3, 2), (batch, query heads, "
        "queries, value width)");
  CHECK(with("q", {2, 4, 3, 0}).find("expected no axis of extent 0") != std::string::npos);
  CHECK(with("q", {2}) == "array \"q\": found shape (2), expected 2, 3 or 4 axes");
}

TEST_CASE("what a call does not say, or says beside the point") {
  auto builder = ordinary_call("plain");
  SECTION("an unknown dialect") {
    builder.call.dialect = "onnx-22";
    CHECK(refusal(builder.call) ==
          "unknown dialect \"onnx-22\"; known are onnx-23, onnx-24, onnx-25, torch, "
          "flash-attention-2, flash-attention-3, jax, cudnn, mlx, flashinfer, ort-gqa, ort-mha, "
          "openvino, gpt-oss, ggml, plain");
  }
  SECTION("an unknown option") {
    builder.option("is_causal", true);
    CHECK(refusal(builder.call) ==
          "unknown option \"is_causal\" of dialect plain; it knows causal, empty_lse, empty_row, "
          "heads_map, lse_base, scale, softcap, window");
  }
  SECTION("an array without meaning") {
    builder.floats("past_key", {2, 2, 1, 4});
    CHECK(refusal(builder.call) == "array \"past_key\" has no meaning in dialect plain");
  }
  SECTION("no key") {
    builder.call.arrays.erase("k");
    CHECK(refusal(builder.call) == "array \"k\" is missing; every call has q, k and v");
  }
  SECTION("nothing to judge") {
    builder.call.arrays.erase("out");
    CHECK(refusal(builder.call).rfind("nothing to judge", 0) == 0);
  }
  SECTION("a scale that is no number") {
    builder.option("scale", std::string("half"));
    CHECK(refusal(builder.call) == "option \"scale\" of dialect plain: expected a number");
  }
  SECTION("a query of integers") {
    builder.integers("q", {2, 4, 3, 4}, std::vector<std::int64_t>(96, 1));
    CHECK(refusal(builder.call) == "array \"q\": found int64, expected a floating-point format");
  }
  SECTION("a layout of four axes for arrays of three") {
    CallBuilder three("plain");
    three.floats("q", {2, 3, 4})
        .floats("k", {2, 5, 4})
        .floats("v", {2, 5, 2})
        .floats("out", {2, 3, 2});
    three.call.layout = "bshd";
    CHECK(refusal(three.call) == "layout \"bshd\": array \"q\" has 3 axes, expected 4");
  }
  SECTION("half a past") {
    auto onnx = ordinary_call("onnx-24").floats("past_key", {2, 2, 1, 4});
    CHECK(refusal(onnx.call) ==
          "array \"past_value\" is missing: past key and past value come together");
  }
  SECTION("lengths beyond the keys") {
    auto onnx = ordinary_call("onnx-24").integers("nonpad_kv_seqlen", {2}, {5, 6});
    CHECK(refusal(onnx.call) == "array \"nonpad_kv_seqlen\": found length 6, expected 0 to 5");
  }
}
