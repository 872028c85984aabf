// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Bad input at the command: whatever is wrong with a capture is said in one line that names the
// file, with exit code 2.
#include "catch.hpp"

#include "program.hpp"

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "../oracle/call_builder.hpp"

namespace {

using attest::oracle::ElementType;
using attest::test::CallBuilder;
using attest::test::lines;
using attest::test::ordinary_call;
using attest::test::Result;
using attest::test::run;
using attest::test::write_capture;
using files::npy;
using files::stored;

// One line on standard error that names the file and every one of `words`, nothing else, exit
// code 2.
void check_refusal(const Result& result, const std::string& file,
                   const std::vector<std::string>& words = {}) {
  CAPTURE(result.err, file);
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  CHECK(lines(result.err) == 1);
  CHECK(result.err.size() < 1000);
  CHECK(result.err.rfind("attest: ", 0) == 0);
  CHECK(result.err.find(file) != std::string::npos);
  for (const std::string& word : words) CHECK(result.err.find(word) != std::string::npos);
  for (const char* trace :
       {"terminate", "what()", "runtime error", "AddressSanitizer", "exception", "std::"})
    CHECK(result.err.find(trace) == std::string::npos);
  const auto control = [](char letter) { return static_cast<unsigned char>(letter) < 0x20; };
  CHECK(std::count_if(result.err.begin(), result.err.end(), control) == 1);
}

class Bad {
 public:
  void refused(const std::vector<std::string>& words = {}) {
    check_refusal(run({"check", path()}), path(), words);
    check_refused_as_json();
  }
  // The other capture is still judged.
  void check_refused_as_json() {
    const Result result = run({"check", path(), good_, "--json"});
    CHECK(result.code == 2);
    CHECK(lines(result.err) == 1);
    const auto json = nlohmann::json::parse(result.out);
    REQUIRE(json.size() == 2);
    CHECK(json[0].at("error").is_string());
    CHECK(json[1].contains("verdict"));
  }
  Bad& npz(const std::string& content) {
    folder_.write("x.npz", content);
    return *this;
  }
  Bad& json(const std::string& content) {
    folder_.write("x.json", content);
    return *this;
  }
  Bad& call(const attest::oracle::Call& call) {
    write_capture(folder_, "x", call);
    return *this;
  }
  std::string path() const { return (folder_.path() / "x.npz").string(); }
  std::string json_path() const { return (folder_.path() / "x.json").string(); }
  const files::Folder& folder() const { return folder_; }

 private:
  files::Folder folder_;
  std::string good_ = write_capture(folder_, "good", ordinary_call("plain").call).string();
};

std::string good_npz() {
  const files::Folder folder;
  return files::read(write_capture(folder, "x", ordinary_call("plain").call));
}

}  // namespace

TEST_CASE("files that are no captures") {
  Bad bad;
  const std::string npz = good_npz();
  bad.json(R"({"dialect": "plain"})");
  bad.refused({"no such file"});
  bad.npz("").refused({"empty"});
  bad.npz(npz.substr(0, npz.size() / 2)).refused({"cut off"});
  bad.npz(npz.substr(0, npz.size() - 3)).refused();
  bad.npz("no archive at all, only words").refused({"expected a zip archive"});
  std::string flipped = npz;
  flipped[npz.size() / 3] = static_cast<char>(flipped[npz.size() / 3] ^ 0x10);
  bad.npz(flipped).refused();
  check_refusal(run({"check", bad.json_path()}), bad.json_path(), {"NAME.npz"});

  std::filesystem::remove(bad.path());
  std::filesystem::create_directory(bad.path());
  bad.refused({"is not a file"});
  std::filesystem::remove(bad.path());
  std::filesystem::create_symlink(bad.path(), bad.path());
  bad.refused();
}

TEST_CASE("options that are no options") {
  Bad bad;
  bad.npz(good_npz());
  bad.refused({"x.json"});  // missing
  const auto refused = [&](const std::string& json, const std::vector<std::string>& words) {
    CAPTURE(json.substr(0, 100));
    bad.json(json);
    const Result result = run({"check", bad.path()});
    check_refusal(result, (bad.folder().path() / "x.").string(), words);
  };
  refused("", {"x.json"});
  refused("{", {"x.json"});
  refused(std::string(100'000, '['), {"nested"});
  std::string deep;
  for (int level = 0; level < 50'000; ++level) deep += "{\"a\":";
  refused(deep, {"x.json"});
  refused("[]", {"an object"});
  refused(R"({"dialekt": "plain"})", {"dialekt"});
  refused("{\"line\\nbreak\": 1}", {"line"});
  refused(R"({"dialect": 24})", {"dialect"});
  refused(R"({"dialect": "onnx-22"})", {"onnx-22"});
  refused("{}", {"dialect"});
  refused("{\"dialect\": \"plain\\u001b[31m\\nx\"}", {"dialect"});
  refused(R"({"dialect": ")" + std::string(10'000, 'x') + "\"}", {"dialect"});
  refused(R"({"dialect": "plain", "attributes": {"causl": "none"}})", {"causl"});
  refused("{\"dialect\": \"plain\", \"attributes\": {\"a\\nb\\u0007\": 1}}", {"option"});
  refused(R"({"dialect": "plain", "attributes": {")" + std::string(100'000, 'y') + R"(": 1}})",
          {"option"});
  refused(R"({"dialect": "plain", "attributes": {"causal": 1}})", {"causal"});
  refused(R"({"dialect": "plain", "attributes": {"causal": "up"}})", {"causal"});
  refused(R"({"dialect": "plain", "attributes": {"scale": "1"}})", {"scale"});
  refused(R"({"dialect": "plain", "attributes": {"scale": [1]}})", {"scale"});
  refused(R"({"dialect": "plain", "attributes": {"scale": true}})", {"scale"});
  refused(R"({"dialect": "plain", "attributes": {"scale": null}})", {"scale"});
  refused(R"({"dialect": "plain", "attributes": {"scale": 1e400}})", {"scale"});
  refused(R"({"dialect": "plain", "attributes": {"softcap": -1}})", {"softcap"});
  refused(R"({"dialect": "plain", "attributes": {"window": [1]}})", {"window"});
  refused(R"({"dialect": "plain", "attributes": {"window": [1, -2]}})", {"window"});
  refused(R"({"dialect": "plain", "attributes": {"window": [1, 99999999999]}})", {"window"});
  refused(R"({"dialect": "plain", "attributes": {"window": 3}})", {"window"});
  refused(R"({"dialect": "plain", "precision": {"weights": 32}})", {"weights"});
  refused("{\"dialect\": \"plain\", \"precision\": {\"weights\": \"a\\nb\"}}", {"weights"});
  refused("{\"dialect\": \"plain\", \"precision\": {\"a\\nb\": \"float32\"}}", {"precision"});
  refused(R"({"dialect": "plain", "precision": {"tile": -1}})", {"tile"});
  refused(R"({"dialect": "plain", "precision": {"tile": "64"}})", {"tile"});
  refused(R"({"dialect": "plain", "formats": {"q": "bfloat16"}})", {"formats"});
  refused(R"({"dialect": "plain", "layout": "sbhd"})", {"layout"});
  refused(R"({"dialect": "onnx-24", "attributes": {"is_causal": 2}})", {"is_causal"});
  refused(R"({"dialect": "onnx-24", "attributes": {"is_causal": 1.0}})", {"is_causal"});
  refused(R"({"dialect": "onnx-24", "attributes": {"left_window_size": 1}})", {"left_window_size"});
  refused(R"({"dialect": "onnx-24", "attributes": {"qk_matmul_output_mode": 4}})",
          {"qk_matmul_output_mode"});
  refused(R"({"dialect": "onnx-24", "attributes": {"softmax_precision": 2}})",
          {"softmax_precision"});
  refused(R"({"dialect": "onnx-24", "attributes": {"softcap": 1e300}})", {"softcap"});
}

TEST_CASE("arrays that no call has") {
  Bad bad;
  bad.json(R"({"dialect": "plain"})");
  const std::string one(4, '\0');
  const auto with_q = [&](const std::string& file) { return files::zip({stored("q.npy", file)}); };
  bad.npz(with_q(npy("<f4", "(1, 1)", one))).refused({"\"k\"", "missing"});
  bad.npz(with_q(npy("|O", "(1, 1)", one))).refused({"\"q\""});
  bad.npz(with_q(npy("<c8", "(1, 1)", one + one))).refused({"\"q\""});
  bad.npz(with_q(npy(">f4", "(1, 1)", one))).refused({"\"q\"", "big-endian"});
  bad.npz(with_q(npy("<f4", "(536870912,)", one))).refused({"\"q\"", "2147483648 bytes"});
  bad.npz(with_q(npy("<f4", "(0, 9223372036854775807)", ""))).refused({"\"q\""});
  bad.npz(with_q(files::npy_with_header(std::string(50'000, '('), one))).refused({"\"q\""});
  files::Entry liar = stored("q.npy", npy("<f4", "(1, 1)", one));
  liar.claimed_size = 2'000'000'000;
  bad.npz(files::zip({liar})).refused({"\"q\""});
  bad.npz(files::zip({stored("q\n.npy", npy("<f4", "(1, 1)", one))})).refused();
  bad.npz(files::zip({stored("../../q.npy", npy("<f4", "(1, 1)", one))})).refused();
  bad.npz(files::zip({})).refused();
}

TEST_CASE("arrays that do not fit each other") {
  Bad bad;
  const auto refused = [&](const std::string& dialect, const char* array, auto&& change) {
    auto builder = ordinary_call(dialect);
    change(builder);
    CAPTURE(array);
    bad.call(builder.call);
    check_refusal(run({"check", bad.path()}), bad.path(), {"\"" + std::string(array) + "\""});
  };
  for (const std::string dialect : {"onnx-23", "onnx-24", "onnx-25", "torch", "plain"}) {
    CAPTURE(dialect);
    const auto shaped = [&](const char* array, attest::oracle::Shape shape) {
      refused(dialect, array, [&](CallBuilder& builder) { builder.floats(array, shape); });
    };
    shaped("q", {});
    shaped("q", {7});
    shaped("q", {1, 1, 1, 1, 1});
    shaped("q", {2, 4, 0, 4});
    shaped("q", {2, 4, 3, 0});
    shaped("q", {0, 4, 3, 4});
    shaped("k", {2, 2, 5, 3});
    shaped("k", {2, 0, 5, 4});
    shaped("k", {1, 2, 5, 4});
    shaped("v", {2, 2, 4, 2});
    shaped("v", {2, 1, 5, 2});
    shaped("v", {2, 2, 5, 0});
    if (dialect != "torch") shaped("out", {2, 4, 3, 3});
    if (dialect != "torch") shaped("attn_mask", {6});
    if (dialect != "torch") shaped("attn_mask", {1, 1, 1, 3, 5});
    if (dialect != "torch") shaped("attn_mask", {});
    refused(dialect, "q", [](CallBuilder& builder) {
      builder.array("q", ElementType::int32, {2, 4, 3, 4}, std::vector<std::int32_t>(96));
    });
    refused(dialect, "v", [](CallBuilder& builder) {
      builder.array("v", ElementType::uint8, {2, 2, 5, 2}, std::vector<std::uint8_t>(40));
    });
    refused(dialect, "k", [](CallBuilder& builder) { builder.call.arrays.erase("k"); });
  }
  refused("plain", "out", [](CallBuilder& builder) {
    builder.array("out", ElementType::int64, {2, 4, 3, 2}, std::vector<std::int64_t>(48));
  });
  refused("plain", "past_key", [](CallBuilder& builder) {
    builder.floats("past_key", {2, 2, 1, 4});
  });
  refused("plain", "sinks", [](CallBuilder& builder) { builder.floats("sinks", {3}); });
  refused("onnx-24", "sinks", [](CallBuilder& builder) { builder.floats("sinks", {4}); });
  refused("onnx-24", "past_value", [](CallBuilder& builder) {
    builder.floats("past_key", {2, 2, 1, 4});
  });
  refused("onnx-24", "nonpad_kv_seqlen", [](CallBuilder& builder) {
    builder.integers("nonpad_kv_seqlen", {2}, {1, 6});
  });
  refused("onnx-24", "nonpad_kv_seqlen", [](CallBuilder& builder) {
    builder.integers("nonpad_kv_seqlen", {2}, {1, -1});
  });
  refused("onnx-24", "nonpad_kv_seqlen",
          [](CallBuilder& builder) { builder.floats("nonpad_kv_seqlen", {2}); });
  refused("onnx-23", "nonpad_kv_seqlen", [](CallBuilder& builder) {
    builder.integers("nonpad_kv_seqlen", {2}, {1, 1});
  });
}

TEST_CASE("an option that only the file can show is named with the file") {
  Bad bad;
  auto builder = ordinary_call("plain");
  builder.call.arrays.erase("out");
  bad.call(builder.call).refused({"nothing to judge"});
}

TEST_CASE("a file without permission") {
  const bool is_root = geteuid() == 0;
  Bad bad;
  bad.call(ordinary_call("plain").call);
  namespace fs = std::filesystem;
  fs::permissions(bad.folder().path(), fs::perms(0755));
  const auto user = is_root ? attest::test::User::nobody : attest::test::User::same;
  if (run({"--help"}, user).code != 0) {
    WARN("skipped: nobody may run the program");
    return;
  }
  fs::permissions(bad.json_path(), fs::perms(0));
  check_refusal(run({"check", bad.path()}, user), bad.json_path(), {"cannot be opened"});
  fs::permissions(bad.path(), fs::perms(0));
  check_refusal(run({"check", bad.path()}, user), bad.path(), {"cannot be opened"});
}

TEST_CASE("a path with a line break or bytes that are no UTF-8 is told in one line") {
  const files::Folder folder;
  const std::string broken = (folder.path() / "line\nbreak.npz").string();
  const Result line = run({"check", broken});
  check_refusal(line, "line\\x0abreak.npz");
  const std::string latin = (folder.path() / "caf\xe9.npz").string();
  const Result result = run({"check", "--json", latin});
  CHECK(result.code == 2);
  CHECK(lines(result.err) == 1);
  CHECK(nlohmann::json::parse(result.out).contains("error"));

  auto builder = ordinary_call("plain");
  builder.call.dialect = "none";
  write_capture(folder, "line\nbreak", builder.call);
  check_refusal(run({"check", broken}), "line\\x0abreak.npz", {"none"});
  builder.call.dialect = "plain";
  write_capture(folder, "line\nbreak", builder.call, "\"subject\": \"a\\nb\\u001b[31m\"");
  const Result judged = run({"check", broken});
  CHECK(judged.out.find("break.npz: ") != std::string::npos);
  CHECK(judged.out.find("line\nbreak") == std::string::npos);
  CHECK(judged.out.find('\x1b') == std::string::npos);
  CHECK(judged.out.find("a\nb") == std::string::npos);
}
