// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The program from outside: exit codes, what goes to which stream, the JSON it prints.
#include "catch.hpp"

#include "program.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <limits>
#include <string>

#include "../oracle/call_builder.hpp"

namespace {

using attest::test::CallBuilder;
using attest::test::lines;
using attest::test::Result;
using attest::test::run;
using attest::test::write_capture;
using Json = nlohmann::json;

constexpr float NaN = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

// One query q = 0 over the values 1, 2 and 6: their mean, 3, is right.
CallBuilder mean_of_three(float out) {
  CallBuilder builder("plain");
  builder.floats("q", {1, 2}, {0, 0});
  builder.floats("k", {3, 2}, {1, 2, 3, 4, 5, 6});
  builder.floats("v", {3, 1}, {1, 2, 6});
  builder.floats("out", {1, 1}, {out});
  builder.call.subject = "by hand";
  return builder;
}

// float32 holds neither score beside 1e30, so the weights are equal there and e to 1 exactly:
// nothing is certain.
CallBuilder undecided() {
  CallBuilder builder("plain");
  builder.floats("q", {1, 1}, {1}).floats("k", {2, 1}, {1, 0}).floats("v", {2, 1}, {0, 1});
  builder.floats("attn_mask", {1, 2}, {1e30f, 1e30f}).option("scale", 1.0);
  builder.floats("out", {1, 1}, {0.26894142f});
  return builder;
}

// The captures each test needs, one of each kind.
struct Captures {
  files::Folder folder;
  std::string right, wrong, open, bad;
  Captures() {
    right =
        write_capture(folder, "right", mean_of_three(3).call, R"("subject": "by hand")").string();
    wrong = write_capture(folder, "wrong", mean_of_three(3.5f).call).string();
    open = write_capture(folder, "open", undecided().call).string();
    bad = folder.write("bad.npz", "no archive").string();
  }
};

void check_one_line(const Result& result) {
  CAPTURE(result.err);
  CHECK(result.code == 2);
  CHECK(lines(result.err) == 1);
  CHECK(result.err.rfind("attest: ", 0) == 0);
  CHECK((!result.err.empty() && result.err.back() == '\n'));
  CHECK(result.out.empty());
}

}  // namespace

TEST_CASE("exit codes: 0 pass, 1 fail, 2 bad input, 3 undecided") {
  const Captures captures;
  const Result right = run({"check", captures.right});
  CHECK(right.code == 0);
  CHECK(right.err.empty());
  CHECK(right.out.rfind(captures.right + ": PASS\n", 0) == 0);
  CHECK(right.out.find("by hand") != std::string::npos);

  const Result wrong = run({"check", captures.wrong});
  CHECK(wrong.code == 1);
  CHECK(wrong.err.empty());
  CHECK(wrong.out.rfind(captures.wrong + ": FAIL\n", 0) == 0);
  CHECK(wrong.out.find("got 3.5") != std::string::npos);

  const Result open = run({"check", captures.open});
  CHECK(open.code == 3);
  CHECK(open.err.empty());
  CHECK(open.out.rfind(captures.open + ": NO CERTIFICATE\n", 0) == 0);

  check_one_line(run({"check", captures.bad}));
}

TEST_CASE("of several captures the gravest decides: bad input, fail, undecided, pass") {
  const Captures captures;
  CHECK(run({"check", captures.right, captures.open}).code == 3);
  CHECK(run({"check", captures.open, captures.wrong, captures.right}).code == 1);
  const Result mixed = run({"check", captures.bad, captures.wrong, captures.bad, captures.right});
  CHECK(mixed.code == 2);
  CHECK(lines(mixed.err) == 2);
  CHECK(mixed.out.find(captures.wrong + ": FAIL\n") != std::string::npos);
  CHECK(mixed.out.find(captures.right + ": PASS\n") != std::string::npos);
  CHECK(mixed.out.find(captures.bad) == std::string::npos);
}

TEST_CASE("--json prints one object for one capture and an array for several") {
  const Captures captures;
  const Result one = run({"check", "--json", captures.wrong});
  CHECK(one.code == 1);
  const Json object = Json::parse(one.out);
  REQUIRE(object.is_object());
  CHECK(object.at("capture") == captures.wrong);
  CHECK(object.at("dialect") == "plain");
  CHECK(object.at("verdict") == "fail");
  CHECK(object.at("outputs").at("out").at("verdict") == "fail");
  CHECK(object.at("outputs").at("out").at("elements") == 1);
  CHECK(object.at("outputs").at("out").at("failed") == 1);
  CHECK(object.at("outputs").at("out").at("worst").at("got") == 3.5);
  CHECK(object.at("outputs").at("out").at("worst").at("index") == Json({0, 0, 0, 0}));

  const Result several = run({"check", captures.right, captures.bad, captures.open, "--json"});
  CHECK(several.code == 2);
  CHECK(lines(several.err) == 1);
  const Json array = Json::parse(several.out);
  REQUIRE(array.is_array());
  REQUIRE(array.size() == 3);
  CHECK(array[0].at("verdict") == "pass");
  CHECK(array[0].at("subject") == "by hand");
  CHECK(array[1].at("capture") == captures.bad);
  CHECK(array[1].at("error").is_string());
  CHECK_FALSE(array[1].contains("verdict"));
  CHECK(array[2].at("verdict") == "no_certificate");

  const Result error = run({"check", captures.bad, "--json"});
  CHECK(error.code == 2);
  CHECK(lines(error.err) == 1);
  CHECK(Json::parse(error.out).at("error").is_string());
}

TEST_CASE("JSON holds NaN and infinities as texts") {
  const files::Folder folder;
  const auto got = [&](float out) {
    const std::string path = write_capture(folder, "x", mean_of_three(out).call).string();
    const Json json = Json::parse(run({"check", "--json", path}).out);
    CHECK(json.at("verdict") == "fail");
    return json.at("outputs").at("out").at("worst").at("got");
  };
  CHECK(got(NaN) == "nan");
  CHECK(got(infinity) == "inf");
  CHECK(got(-infinity) == "-inf");
  CHECK(got(4) == 4);
}

TEST_CASE("--dialect is judged by instead of the capture's own") {
  // one query, two keys, causal: plain hides the second key; so does ONNX by another option, and
  // knows no "causal"
  CallBuilder builder("plain");
  builder.floats("q", {1, 1, 1, 1}, {0}).floats("k", {1, 1, 2, 1}, {0, 0});
  builder.floats("v", {1, 1, 2, 1}, {1, 3}).floats("out", {1, 1, 1, 1}, {2});
  const files::Folder folder;
  const std::string path = write_capture(folder, "x", builder.call).string();
  CHECK(Json::parse(run({"check", "--json", path}).out).at("dialect") == "plain");
  const Result other = run({"check", "--json", "--dialect", "onnx-24", path});
  CHECK(other.code == 0);
  CHECK(Json::parse(other.out).at("dialect") == "onnx-24");
  builder.option("causal", std::string("top-left"));
  CHECK(run({"check", write_capture(folder, "x", builder.call).string()}).code == 1);
  const Result unknown_option = run({"check", "--dialect=onnx-24", path});
  check_one_line(unknown_option);
  CHECK(unknown_option.err.find("\"causal\"") != std::string::npos);
  const Result unknown = run({"check", "--dialect", "onnx-99", path});
  check_one_line(unknown);
  CHECK(unknown.err.find("onnx-99") != std::string::npos);
  // what every dialect shares is judged differently: 3 axes are (head, row, column) in plain,
  // refused by ONNX
  check_one_line(run({"check", "--dialect", "onnx-24",
                      write_capture(folder, "y", mean_of_three(3).call).string()}));
}

TEST_CASE("a claimed precision on the command line is judged by, before the capture's own") {
  const files::Folder folder;
  auto builder = mean_of_three(3.01f);
  builder.call.precision["weights"] = std::string("float32");
  const std::string path = write_capture(folder, "x", builder.call).string();
  CHECK(run({"check", path}).code == 1);
  for (const char* step : {"accumulate", "softmax", "weights"}) {
    CAPTURE(step);
    const Result coarse = run({"check", "--json", std::string("--") + step, "bfloat16", path});
    CHECK(coarse.code == 0);
    CHECK(Json::parse(coarse.out).at("claim").at(step) == "bfloat16");
  }
  CHECK(Json::parse(run({"check", "--json", "--scores", "float16", path}).out)
            .at("claim")
            .at("scores") == "float16");
  CHECK(Json::parse(run({"check", "--json", "--tile", "2", path}).out).at("claim").at("tile") == 2);
  CHECK(run({"check", "--weights", "float64", path}).code == 1);
  for (const std::string value : {"float12", "Float32", "-"})
    check_one_line(run({"check", "--weights", value, path}));
  for (const std::string value : {"-1", "x", "1.5", "99999999999999999999"}) {
    CAPTURE(value);
    check_one_line(run({"check", "--tile=" + value, path}));
  }
}

TEST_CASE("the number of threads changes nothing that is said") {
  const Captures captures;
  const std::string alone = run({"check", "--json", "--threads", "1", captures.wrong}).out;
  CHECK(Json::parse(alone).at("verdict") == "fail");
  CHECK(run({"check", "--json", "--threads", "3", captures.wrong}).out == alone);
  CHECK(run({"check", "--json", captures.wrong}).out == alone);
  for (const std::string value : {"0", "-1", "x", "1.5", "100000"}) {
    CAPTURE(value);
    check_one_line(run({"check", "--threads=" + value, captures.right}));
  }
}

TEST_CASE("a command line that cannot be meant is refused in one line") {
  const Captures captures;
  check_one_line(run({}));
  check_one_line(run({"judge"}));
  check_one_line(run({"check"}));
  check_one_line(run({"check", "--colour", captures.right}));
  check_one_line(run({"check", captures.right, "-x"}));
  check_one_line(run({"check", captures.right, "--dialect"}));
  check_one_line(run({"check", captures.right, "--json=perhaps"}));
  check_one_line(run({"check", captures.right, "--line\nbreak"}));
  check_one_line(run({"dialects", "more"}));
}

TEST_CASE("an empty value is no value") {
  const Captures captures;
  check_one_line(run({"check", captures.right, "--dialect", ""}));
  check_one_line(run({"check", captures.right, "--weights="}));
}

TEST_CASE("a second command is not obeyed in silence") {
  const Captures captures;
  CHECK(run({"check", captures.wrong, "dialects"}).code == 2);
  CHECK(run({"dialects", "check", captures.wrong}).code != 0);
}

TEST_CASE("help and the list of dialects go to standard output") {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--help"},
                                                {"check", "--help"},
                                                {"dialects", "--help"},
                                                {"dialects"}}) {
    const Result result = run(words);
    CHECK(result.code == 0);
    CHECK(result.err.empty());
    CHECK(lines(result.out) >= 2);
  }
  const Result version = run({"--version"});
  CHECK((version.code == 0 && version.err.empty() && version.out.starts_with("attest 0.")));
  for (const char* dialect :
       {"onnx-23", "onnx-24", "onnx-25", "torch", "flash-attention-2", "flash-attention-3", "jax",
        "cudnn", "mlx", "flashinfer", "ort-gqa", "ort-mha", "openvino", "gpt-oss", "ggml", "plain"})
    CHECK(("\n" + run({"dialects"}).out).find(std::string("\n") + dialect + " ") !=
          std::string::npos);
  const Result jax = run({"dialects", "jax"});
  CHECK(jax.code == 0);
  for (const char* said : {"https://docs.jax.dev/", "local_window_size", "query_seq_lengths",
                           "rows without keys return the mean of all values"})
    CHECK(jax.out.find(said) != std::string::npos);
}

TEST_CASE("a verdict that cannot be written is an error") {
  if (!std::filesystem::exists("/dev/full")) {
    WARN("skipped: no /dev/full");
    return;
  }
  const Captures captures;
  const Result lost = run({"check", captures.right}, attest::test::User::same, "/dev/full");
  CHECK(lost.code == 2);
  CHECK(lines(lost.err) == 1);
}
