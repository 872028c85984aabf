// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The capture: both files become one call whose tensors stay valid; real captures are read.
#include "catch.hpp"

#include <attest/format/capture.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>

#include "files.hpp"

using attest::format::Capture;
using attest::format::load_capture;
using attest::format::parse_capture;
using attest::oracle::Attribute;
using attest::oracle::ElementType;
using attest::oracle::Shape;
using attest::oracle::Tensor;
using files::npy;
using files::refusal;
using files::stored;

namespace {

Capture parse(const std::vector<files::Entry>& entries, std::string_view json) {
  return parse_capture(files::as_bytes(files::zip(entries)), "x.npz", json, "x.json");
}

std::string refused(const std::vector<files::Entry>& entries, std::string_view json) {
  return refusal([&] { parse(entries, json); });
}

files::Entry bits(std::string name, std::string_view descr, std::vector<std::uint16_t> values) {
  const std::string shape = "(" + std::to_string(values.size()) + ",)";
  return stored(std::move(name), npy(descr, shape, files::in_memory(values)));
}

Capture load(const std::string& name) {
  return load_capture(std::filesystem::path(ATTEST_TEST_DATA) / (name + ".npz"));
}

}  // namespace

TEST_CASE("a captured decode step is read as it was written") {
  const Capture capture = load("causal_past2_q1_kv3");
  CHECK(capture.call.dialect == "onnx-23");
  CHECK(capture.call.subject == "onnxruntime 1.30.0, CPU, Attention operator");
  CHECK(capture.call.attributes ==
        std::map<std::string, Attribute>{{"is_causal", Attribute(std::int64_t{1})}});
  CHECK(capture.call.layout == "bhsd");
  CHECK(capture.verdict == "wrong");
  CHECK(capture.max_abs_error == "1.3");
  CHECK(capture.note == "S=1, 3 new keys, past 2: keys 3,4 must be masked");
  CHECK(capture.diagnosis.empty());

  const Tensor* past = capture.call.find("past_key");
  const Tensor* key = capture.call.find("k");
  const Tensor* present = capture.call.find("present_key");
  REQUIRE(past);
  REQUIRE(key);
  REQUIRE(present);
  CHECK(capture.call.find("lse") == nullptr);
  REQUIRE(past->shape.size() == 4);
  CHECK(past->type == ElementType::float32);
  CHECK(past->shape[2] == 2);
  CHECK(key->shape[2] == 3);
  REQUIRE(present->shape == Shape{past->shape[0], past->shape[1], 5, past->shape[3]});
  // What the cache holds afterwards is what it held, then the new keys: the views are at their
  // places.
  for (std::size_t head = 0; head < past->shape[1]; ++head)
    for (std::size_t d = 0; d < past->shape[3]; ++d) {
      CHECK(present->number(0, head, 1, d) == past->number(0, head, 1, d));
      CHECK(present->number(0, head, 4, d) == key->number(0, head, 2, d));
    }
}

TEST_CASE("tensors stay where they are when a capture moves") {
  static_assert(!std::is_copy_constructible_v<Capture> && !std::is_copy_assignable_v<Capture>);
  static_assert(std::is_nothrow_move_assignable_v<Capture>);
  Capture first = load("fm_bool_mode3");
  const std::byte* data = first.call.find("q")->data;
  const double number = first.call.find("q")->number(0, 0, 0, 0);
  Capture second = std::move(first);
  Capture third;
  third = std::move(second);
  CHECK(third.call.find("q")->data == data);
  CHECK(third.call.find("q")->number(0, 0, 0, 0) == number);
  const attest::format::NpyArray& owner = third.buffers.at("q");
  CHECK(owner.view().data == data);
}

TEST_CASE("the bits of 8- and 16-bit formats are read as numbers") {
  const Capture capture =
      parse({bits("q.npy", "<u2", {0x3f80, 0xc000}), stored("k.npy", npy("|u1", "(1,)", "\x38")),
             stored("v.npy", npy("|u1", "(1,)", "\x3c"))},
            R"({"formats": {"q": "bfloat16", "k": "float8_e4m3fn", "v": "float8_e5m2"}})");
  const auto number = [&](const char* name, std::ptrdiff_t byte) {
    const Tensor* tensor = capture.call.find(name);
    return tensor->number_at(tensor->data + byte);
  };
  CHECK(capture.call.find("q")->type == ElementType::bfloat16);
  CHECK(capture.call.find("k")->type == ElementType::float8_e4m3fn);
  CHECK(capture.call.find("v")->type == ElementType::float8_e5m2);
  CHECK(number("q", 0) == 1);
  CHECK(number("q", 2) == -2);
  CHECK(number("k", 0) == 1);
  CHECK(number("v", 0) == 1);
}

TEST_CASE("layout and precision reach the call") {
  const Capture capture = parse({bits("q.npy", "<f2", {0})},
                                R"({"layout": "bshd", "precision": {"weights": "float16"}})");
  CHECK(capture.call.layout == "bshd");
  CHECK(capture.call.precision.at("weights") == Attribute(std::string("float16")));
}

TEST_CASE("formats that do not fit the arrays are refused") {
  CHECK(refused({bits("q.npy", "<f2", {0})}, R"({"formats": {"q": "bfloat16"}})") ==
        "x.json: key \"formats.q\": the array in x.npz is float16; bfloat16 is stored as uint16");
  CHECK(refused({bits("q.npy", "<u2", {0})}, R"({"formats": {"q": "float8_e5m2"}})") ==
        "x.json: key \"formats.q\": the array in x.npz is uint16; float8_e5m2 is stored as uint8");
  CHECK(refused({bits("q.npy", "<u2", {0}), bits("k.npy", "<u2", {0})},
                R"({"formats": {"v": "bfloat16"}})") ==
        "x.json: key \"formats.v\": x.npz has no such array, only k, q");
}

TEST_CASE("arrays that no capture has are refused") {
  CHECK(refused({bits("query.npy", "<f2", {0})}, "{}") ==
        "x.npz: array \"query\": is unknown; expected q, k, v, attn_mask, past_key, past_value, "
        "nonpad_kv_seqlen, seqused_k, cu_seqlens_q, cu_seqlens_k, sinks, alibi_slopes, out, lse, "
        "qk_matmul_output, present_key, present_value, dout, dq, dk, dv, dsinks, dlse, "
        "dattn_mask");
  CHECK(refused({}, "{}") == "x.npz: holds no arrays");
}

TEST_CASE("arrays by the names that a dialect has for them are known") {
  for (const std::string name :
       {"sink_token", "seq_len_kv", "head_sink", "seqlens_k", "sink", "qo_indptr", "block_table"})
    CHECK(parse({bits(name + ".npy", "<f2", {0})}, "{}").call.find(name));
}

TEST_CASE("every array of the capture format is known") {
  for (const std::string name : {"q",
                                 "k",
                                 "v",
                                 "attn_mask",
                                 "past_key",
                                 "past_value",
                                 "sinks",
                                 "out",
                                 "lse",
                                 "alibi_slopes",
                                 "present_key",
                                 "dout",
                                 "dq",
                                 "dk",
                                 "dv",
                                 "dsinks",
                                 "dlse",
                                 "dattn_mask",
                                 "seqused_k",
                                 "cu_seqlens_q",
                                 "cu_seqlens_k",
                                 "nonpad_kv_seqlen",
                                 "present_value",
                                 "qk_matmul_output"})
    CHECK(parse({bits(name + ".npy", "<f2", {0})}, "{}").call.find(name));
}

TEST_CASE("both files must be there, under their names") {
  const files::Folder folder;
  const auto npz = folder.write("x.npz", files::zip({bits("q.npy", "<f2", {0})}));
  const std::string json = (folder.path() / "x.json").string();
  CHECK(refusal([&] { load_capture(npz); }) ==
        npz.string() + ": expected the options of the call in " + json + ", which is not there");
  CHECK(refusal([&] { load_capture(json); }) ==
        json + ": expected a file named NAME.npz, with NAME.json beside it");
  folder.write("x.json", "{}");
  CHECK(refusal([&] { load_capture(npz); }) == "accepted");
  folder.write("x.json", std::string(5'000'000, ' '));
  CHECK(refusal([&] { load_capture(npz); }) == json + ": is more than 1048576 bytes of options");
  std::filesystem::remove(json);
  std::filesystem::create_directory(json);
  CHECK(refusal([&] { load_capture(npz); }) == json + ": is not a file");
}

TEST_CASE("the captures kept with the tests are read") {
  const auto names = files::captures_under(ATTEST_TEST_DATA);
  CHECK(names.size() >= 9);
  for (const auto& name : names) {
    CAPTURE(name);
    const Capture capture = load_capture(name.string() + ".npz");
    for (const char* array : {"q", "k", "v", "out"}) CHECK(capture.call.find(array));
    CHECK_FALSE(capture.call.dialect.empty());
    CHECK((capture.verdict == "right" || capture.verdict == "wrong"));
  }
}

TEST_CASE("all shared captures are read") {
  const std::filesystem::path shared = ATTEST_SHARED_DATA;
  if (shared.empty()) {
    WARN("skipped: captures");
    return;
  }
  const auto names = files::captures_under(shared / "captures");
  CHECK(names.size() >= 300);
  for (const auto& name : names) {
    CAPTURE(name);
    const Capture capture = load_capture(name.string() + ".npz");
    for (const char* array : {"q", "k", "v", "out"}) CHECK(capture.call.find(array));
    CHECK((capture.verdict == "right" || capture.verdict == "wrong"));
  }
}
