// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Edges: every element type, layout and extreme option that a capture file may hold, judged by the
// program.
#include "catch.hpp"

#include "program.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "../oracle/call_builder.hpp"

namespace {

using namespace attest::oracle;
using attest::test::CallBuilder;
using attest::test::ordinary_call;
using attest::test::run;
using attest::test::write_capture;

// One query q = 0 over the values 1, 2 and 6: their mean, 3, is right under any mask that adds the
// same to each.
CallBuilder mean_of_three(const std::string& dialect) {
  CallBuilder builder(dialect);
  builder.floats("q", {1, 1, 1, 2}, {0, 0}).floats("k", {1, 1, 3, 2}, {1, 2, 3, 4, 5, 6});
  builder.floats("v", {1, 1, 3, 1}, {1, 2, 6}).floats("out", {1, 1, 1, 1}, {3});
  return builder;
}

int verdict(const CallBuilder& builder) {
  const files::Folder folder;
  const auto result = run({"check", write_capture(folder, "x", builder.call).string()});
  CAPTURE(result.err, result.out);
  CHECK((result.code >= 0 && result.code <= 3));
  CHECK((result.code == 2) == !result.err.empty());
  return result.code;
}

}  // namespace

TEST_CASE("the output may be of another format than the query, if it is a floating one") {
  auto builder = mean_of_three("plain");
  builder.array("out", ElementType::float64, {1, 1, 1, 1}, std::vector<double>{3});
  CHECK(verdict(builder) == 0);
  builder.array("out", ElementType::float64, {1, 1, 1, 1}, std::vector<double>{3.001});
  CHECK(verdict(builder) == 1);
  for (const auto& [type, bits] :
       {std::pair{ElementType::float16, 0x4200}, {ElementType::bfloat16, 0x4040}}) {
    builder.array("out", type, {1, 1, 1, 1},
                  std::vector<std::uint16_t>{static_cast<std::uint16_t>(bits)});
    CHECK(verdict(builder) == 0);
    builder.array("out", type, {1, 1, 1, 1},
                  std::vector<std::uint16_t>{static_cast<std::uint16_t>(bits + 3)});
    CHECK(verdict(builder) == 1);
  }
  builder.array("out", ElementType::float8_e4m3fn, {1, 1, 1, 1}, std::vector<std::uint8_t>{0x44});
  CHECK(verdict(builder) == 0);
  builder.array("out", ElementType::int32, {1, 1, 1, 1}, std::vector<std::int32_t>{3});
  CHECK(verdict(builder) == 2);
}

TEST_CASE("arrays may each have their own format") {
  auto builder = mean_of_three("onnx-24");
  builder.array("v", ElementType::float16, {1, 1, 3, 1},
                std::vector<std::uint16_t>{0x3c00, 0x4000, 0x4600});
  CHECK(verdict(builder) == 0);
  builder.array("k", ElementType::float64, {1, 1, 3, 2}, std::vector<double>{1, 2, 3, 4, 5, 6});
  builder.array("present_key", ElementType::float64, {1, 1, 3, 2},
                std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(verdict(builder) == 0);
  builder.floats("present_key", {1, 1, 3, 2},
                 {1, 2, 3, 4, 5, 6});  // no copy: its format is another
  CHECK(verdict(builder) == 1);
  builder.call.arrays.erase("present_key");
  builder.array("qk_matmul_output", ElementType::float16, {1, 1, 1, 3},
                std::vector<std::uint16_t>{0, 0, 0});
  CHECK(verdict(builder) == 0);
}

TEST_CASE("a mask of any rank and any type is added, or true where it is bool") {
  for (const Shape& shape :
       std::vector<Shape>{{3}, {1, 3}, {1, 1, 3}, {1, 1, 1, 3}, {1, 1}, {1, 1, 1, 1}})
    for (const auto& facts : element_types) {
      CAPTURE(facts.name, shape.size());
      auto builder = mean_of_three("onnx-23");
      const bool boolean = facts.type == ElementType::boolean;
      builder.array("attn_mask", facts.type, shape,
                    std::vector<std::uint8_t>(element_count(shape) * facts.bytes, boolean ? 1 : 0));
      CHECK(verdict(builder) == 0);
    }
}

TEST_CASE("a past without rows, no valid keys, no keys") {
  auto builder = mean_of_three("onnx-24");
  builder.floats("past_key", {1, 1, 0, 2}, {}).floats("past_value", {1, 1, 0, 1}, {});
  CHECK(verdict(builder) == 0);
  auto padded = mean_of_three("onnx-24").integers("nonpad_kv_seqlen", {1}, {0});
  CHECK(verdict(padded) == 1);
  CHECK(verdict(padded.floats("out", {1, 1, 1, 1}, {0})) == 0);
  auto none = mean_of_three("plain").floats("k", {1, 1, 0, 2}, {}).floats("v", {1, 1, 0, 1}, {});
  CHECK(verdict(none) == 1);
  CHECK(verdict(none.floats("out", {1, 1, 1, 1}, {0})) == 0);
}

TEST_CASE("arrays in Fortran's order and in the layout bshd mean the same numbers") {
  // two heads over one key each: the output is the value, so an axis read for another shows
  const std::vector<float> by_head = {1, 2, 3, 4, 5, 6};  // (head 2, row 1, column 3)
  const std::string zeros = files::in_memory(std::vector<float>(4));
  const auto with = [&](const std::string& v, const std::string& out, const std::string& layout) {
    const files::Folder folder;
    folder.write("x.json", R"({"dialect": "plain", "layout": ")" + layout + "\"}");
    const std::string one = layout == "bshd" ? "(1, 1, 2, 2)" : "(1, 2, 1, 2)";
    return run({"check",
                folder
                    .write("x.npz",
                           files::zip({files::stored("q.npy", files::npy("<f4", one, zeros)),
                                       files::stored("k.npy", files::npy("<f4", one, zeros)),
                                       files::stored("v.npy", v), files::stored("out.npy", out)}))
                    .string()})
        .code;
  };
  const auto array = [](const char* shape, const std::vector<float>& numbers, bool fortran) {
    return files::npy("<f4", shape, files::in_memory(numbers), fortran);
  };
  const std::vector<float> columns_first = {1, 4, 2, 5, 3, 6};  // the same, first axes fastest
  const char* const heads = "(1, 2, 1, 3)";
  CHECK(with(array(heads, by_head, false), array(heads, by_head, false), "bhsd") == 0);
  CHECK(with(array(heads, columns_first, true), array(heads, by_head, false), "bhsd") == 0);
  CHECK(with(array(heads, by_head, false), array(heads, columns_first, true), "bhsd") == 0);
  CHECK(with(array(heads, by_head, false), array(heads, columns_first, false), "bhsd") == 1);
  const char* const rows = "(1, 1, 2, 3)";
  CHECK(with(array(rows, by_head, false), array(rows, columns_first, true), "bshd") == 0);
  CHECK(with(array(heads, by_head, false), array(heads, by_head, false), "bshd") == 2);
}

TEST_CASE("extreme options end in a verdict or a refusal") {
  for (const double scale : {0.0, -0.0, -1.0, 1e308, -1e308, 1e-300, 5e-324})
    for (const double softcap : {0.0, 5e-324, 1e-300, 1.0, 1e300, 1e308})
      for (const char* dialect : {"plain", "onnx-24"}) {
        CAPTURE(scale, softcap, dialect);
        auto builder = ordinary_call(dialect, 1, 1, 1);
        builder.option("scale", scale).option("softcap", softcap);
        verdict(builder);
      }
  for (const auto& [tile, code] :
       {std::pair<std::int64_t, int>{0, 0}, {1, 0}, {INT64_MAX, 0}, {-1, 2}, {INT64_MIN, 2}}) {
    auto builder = mean_of_three("plain");
    builder.call.precision["tile"] = tile;
    CHECK(verdict(builder) == code);
  }
}

TEST_CASE("one query over very many keys") {
  const std::size_t keys = 100'000;
  CallBuilder builder("plain");
  builder.floats("q", {1, 1}, {0})
      .floats("k", {keys, 1})
      .floats("v", {keys, 1}, std::vector<float>(keys, 2));
  CHECK(verdict(builder.floats("out", {1, 1}, {2})) == 0);
  CHECK(verdict(builder.floats("out", {1, 1}, {2.5})) == 1);
}

TEST_CASE("FlashAttention's lengths are read by either of their names") {
  for (const char* name : {"seqused_k", "cache_seqlens"}) {
    CAPTURE(name);
    auto builder = mean_of_three("flash-attention-2");
    builder.floats("q", {1, 1, 1, 1}, {0}).floats("k", {1, 1, 3, 1}, {1, 2, 3});
    builder.integers(name, {1}, {3});
    CHECK(verdict(builder) == 0);
    builder.integers(name, {1}, {2});  // then the mean is 1.5
    CHECK(verdict(builder) == 1);
  }
}
