// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// attest inputs and attest fuzz from outside: what subjects do wrong is found, whatever it is, and
// nothing they do hangs or crashes the command.
#include "catch.hpp"

#include "program.hpp"

#include <attest/format/capture.hpp>
#include <attest/oracle/verdict.hpp>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using attest::test::lines;
using attest::test::Result;
using attest::test::run;

// attest fuzz with little to do.
Result fuzz(const files::Folder& folder, const std::string& subject,
            std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"fuzz", "--subject", subject, "--save",
                                     (folder.path() / "failures").string()};
  for (const auto& [option, value] : {std::pair{"--calls", "6"}, std::pair{"--shrink", "60"}})
    if (std::find(more.begin(), more.end(), option) == more.end())
      arguments.insert(arguments.end(), {option, value});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments);
}
bool says(const Result& result, const std::string& words) {
  return result.out.find(words) != std::string::npos;
}
// A Python that has the module; empty: none.
std::string python_with(const std::string& module) {
  for (const std::string python : {"python3", "/usr/bin/python3"})
    if (std::system((python + " -c 'import " + module + "' >/dev/null 2>&1").c_str()) == 0)
      return python;
  return {};
}
const std::string numpy_python = python_with("numpy"), torch_python = python_with("torch");
const std::string subjects = ATTEST_SUBJECTS;

}  // namespace

TEST_CASE("inputs are captures that can be read, with what they show beside them") {
  const files::Folder folder;
  const std::filesystem::path to = folder.path() / "inputs";
  const Result made = run({"inputs", "--for", "causal,softcap,grouped-heads", "-o", to.string(),
                           "--queries", "1:12", "--keys", "1:20", "--heads", "1:6"});
  CHECK(made.code == 0);
  CHECK(made.err.empty());
  std::size_t captures = 0;
  for (const auto& entry : std::filesystem::directory_iterator(to)) {
    CHECK(entry.path().extension() != ".unfinished");
    if (entry.path().extension() != ".npz") continue;
    ++captures;
    const attest::format::Capture capture = attest::format::load_capture(entry.path());
    const attest::oracle::Problem problem = attest::oracle::read_problem(capture.call);
    CHECK(problem.queries() <= 12);
    CHECK(problem.keys() <= 20);
    // nothing has answered yet
    CHECK(attest::oracle::judge(problem, claimed_precision(capture.call, problem)).verdict ==
          attest::oracle::Verdict::fail);
  }
  CHECK(captures >= 3);
  CHECK(captures + 1 == lines(made.out));
  std::ifstream shows(to / "shows.txt");
  const std::string text((std::istreambuf_iterator<char>(shows)), {});
  for (const char* fault : {"softcap dropped", "key/value heads tiled", "causality dropped"})
    CHECK(text.find(fault) != std::string::npos);
}

TEST_CASE("scopes that cannot be meant are refused in one line") {
  const files::Folder folder;
  const std::string to = (folder.path() / "x").string();
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--for", "speed"},
                                                {"--dialect", "onnx-22"},
                                                {"--type", "int8"},
                                                {"--queries", "0"},
                                                {"--queries", "4:2"},
                                                {"--queries", "x"},
                                                {"--keys", "3:5:4:1"},
                                                {"--keys", "5:7:4"},
                                                {"--width", "99999999999999999999"}}) {
    CAPTURE(wrong[1]);
    std::vector<std::string> arguments{"inputs", "-o", to};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    const Result result = run(arguments);
    CHECK(result.code == 2);
    CHECK(lines(result.err) == 1);
    CHECK(!std::filesystem::exists(to));
  }
  CHECK(fuzz(folder, "true").code == 2);  // without {in} and {out}
}

TEST_CASE("a subject that gives no answer is found, and how it fails") {
  const files::Folder folder;
  const auto found = [&](const std::string& subject, const std::string& words,
                         std::vector<std::string> more = {}) {
    CAPTURE(subject);
    const Result result = fuzz(folder, subject, std::move(more));
    CAPTURE(result.out, result.err);
    CHECK(result.code == 1);
    CHECK(result.err.empty());
    CHECK(says(result, words));
    CHECK(says(result, "smallest call: q (1, 1, 1, 1), k (1, 1, 1, 1)"));
  };
  found(": {in} {out}; kill -SEGV $$", "signal 11");
  found(": {in} {out}; echo oh no >&2; exit 3", "exit code 3: oh no");
  found(": {in} {out}", "writes no file");
  found("cp {in} {out}; : > {out}", "writes no capture");
  found("printf nonsense > {out}; : {in}", "writes no capture");
  found("mkdir {out}; : {in}", "writes no file");
  found("ln -s /dev/zero {out}; : {in}", "writes no file");
  found(": {in} {out}; exec /nowhere/there", "exit code 127");
  found("awk 'BEGIN { s = \"x\"; while (1) s = s s }' {in} {out}", "ends with", {"--memory", "64"});
}

TEST_CASE("a subject's inputs copied as its outputs are no right answer") {
  const files::Folder folder;
  const Result zeros = fuzz(folder, "cp {in} {out}", {"--for", "none"});
  CHECK(zeros.code == 1);
  CHECK(says(zeros, "rows zero"));
  std::size_t captures = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "failures"))
    if (entry.path().extension() == ".npz") {
      ++captures;
      CHECK(run({"check", entry.path().string()}).code == 1);
    }
  CHECK(captures == 1);
}

TEST_CASE("what is found is there as data") {
  const files::Folder folder;
  const Result zeros = fuzz(folder, "cp {in} {out}", {"--for", "none", "--json", "--seed", "5"});
  CHECK(zeros.code == 1);
  CHECK(zeros.err.empty());
  const nlohmann::json found = nlohmann::json::parse(zeros.out);
  CHECK(found.at("passed") == false);
  CHECK(found.at("dialect") == "plain");
  CHECK(found.at("type") == "float32");
  CHECK(found.at("seed") == 5);
  CHECK(found.at("calls") > 1);
  CHECK(found.at("judged") > 0);
  REQUIRE(found.at("findings").size() == 1);
  const nlohmann::json& one = found.at("findings")[0];
  CHECK(one.at("check").get<std::string>().starts_with("needle: "));
  const auto& faults = one.at("faults");
  CHECK(std::find(faults.begin(), faults.end(), "rows zero") != faults.end());
  CHECK(one.at("hints").empty());
  CHECK(one.at("call").at("dialect") == "plain");
  CHECK(one.at("call").at("arrays").at("q").at("type") == "float32");
  CHECK(one.at("call").at("arrays").at("q").at("shape").size() == 4);
  CHECK(run({"check", one.at("saved").get<std::string>()}).code == 1);

  const Result crash = fuzz(folder, ": {in} {out}; exit 3", {"--json"});
  CHECK(crash.code == 1);
  const nlohmann::json ended = nlohmann::json::parse(crash.out).at("findings")[0];
  CHECK(ended.at("found") == "ends with exit code 3");
  CHECK(ended.at("faults").empty());

  const Result bad = fuzz(folder, "true", {"--json"});
  CHECK(bad.code == 2);
  CHECK(bad.out.empty());
}

TEST_CASE("calls are made for every dialect that says them by names of its own") {
  for (const std::string dialect :
       {"cudnn", "flashinfer", "ort-gqa", "ort-mha", "openvino", "ggml"}) {
    CAPTURE(dialect);
    const files::Folder folder;
    const std::filesystem::path to = folder.path() / "inputs";
    const Result made = run({"inputs", "--dialect", dialect, "--for", "all", "--queries", "1:9",
                             "--keys", "1:17", "--heads", "1:4", "-o", to.string()});
    CHECK(made.code == 0);
    // outputs are NaN until somebody computes them: read as calls of the dialect, and wrong
    const Result checked = run({"check", (to / "input-01.npz").string()});
    CHECK(checked.code == 1);
    CHECK(says(checked, "as " + dialect));
    const Result copied = fuzz(folder, "cp {in} {out}", {"--dialect", dialect, "--for", "all"});
    CHECK(copied.code == 1);
    CHECK(says(copied, "got 0, exact"));
  }
}

TEST_CASE("a subject that does not end is ended, with all that it has begun") {
  const files::Folder folder;
  const std::string note = (folder.path() / "process").string();
  const auto begun = std::chrono::steady_clock::now();
  const Result result = fuzz(folder, "sleep 600 & echo $! > " + note + "; : {in} {out}; sleep 600",
                             {"--timeout", "0.2", "--shrink", "2"});
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(60));
  CHECK(result.code == 1);
  CHECK(says(result, "no answer after 0.2 s"));
  int process = 0;
  std::ifstream(note) >> process;
  REQUIRE(process > 1);
  // gone, or about to be: a signal is not obeyed at once
  bool gone = false;
  for (int n = 0; n < 100 && !gone; ++n) {
    std::ifstream state("/proc/" + std::to_string(process) + "/stat");
    std::string number, name, letter;
    gone = !(state >> number >> name >> letter) || letter == "Z";
    if (!gone) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  CHECK(gone);
  // what it leaves behind when it ends by itself, and one that writes without end
  CHECK(fuzz(folder, "sleep 600 & : {in} {out}", {"--shrink", "0"}).code == 1);
  const Result endless = fuzz(folder, "yes {in} {out}", {"--timeout", "0.3", "--shrink", "0"});
  CHECK(says(endless, "no answer after 0.3 s"));
}

TEST_CASE("a subject that stays is asked by lines, and begun anew when it fails") {
  const files::Folder folder;
  const auto found = [&](const std::string& subject, const std::string& words) {
    CAPTURE(subject);
    const Result result =
        fuzz(folder, subject, {"--persistent", "--timeout", "0.4", "--shrink", "3"});
    CAPTURE(result.out, result.err);
    CHECK(result.code == 1);
    CHECK(says(result, words));
  };
  found("true", "ends without an answer: exit code 0");
  found("read line; kill -KILL $$", "ends without an answer: signal 9");
  found("while read line; do echo what is that; done", "answers: what is that");
  found("while read line; do echo ok; done", "writes no file");
  found("cat > /dev/null", "no answer after 0.4 s");
  found("yes | tr -d '\\n'", "without an end of line");
  found("while read line; do printf o; sleep 600; done", "no answer after 0.4 s");
}

TEST_CASE("attention in NumPy is right, by one process for each call and by one for all") {
  if (numpy_python.empty()) {
    WARN("skipped: python3 has no numpy");
    return;
  }
  const files::Folder folder;
  const std::string script = numpy_python + " " + subjects + "/numpy_attention.py";
  const Result stays = fuzz(folder, script, {"--persistent", "--for", "all", "--no-laws"});
  CAPTURE(stays.out, stays.err);
  CHECK(stays.code == 0);
  const Result alone = fuzz(folder, script + " {in} {out}",
                            {"--no-laws", "--no-needles", "--calls", "3", "--type", "bfloat16"});
  CAPTURE(alone.out, alone.err);
  CHECK(alone.code == 0);
}

TEST_CASE("a fault in a NumPy subject is shrunk and named") {
  if (numpy_python.empty()) {
    WARN("skipped: python3 has no numpy");
    return;
  }
  const files::Folder folder;
  const std::string script = folder
                                 .write("faulty.py", R"(
import sys
sys.path.insert(0, ")" + subjects + R"(")
import numpy_attention
from attest_subject import serve
def attention(call):
    call.attributes.pop("softcap", None)
    return numpy_attention.attention(call)
serve(attention)
)")
                                 .string();
  const Result result =
      fuzz(folder, numpy_python + " " + script,
           {"--persistent", "--for", "softcap,causal", "--shrink", "100", "--no-laws"});
  CAPTURE(result.out, result.err);
  CHECK(result.code == 1);
  CHECK(says(result, "it returns what this would: softcap dropped"));
  CHECK(says(result, "softcap"));
}

TEST_CASE("PyTorch's attention is right by its own dialect") {
  if (torch_python.empty()) {
    WARN("skipped: python3 has no torch");
    return;
  }
  const files::Folder folder;
  const Result result =
      fuzz(folder, torch_python + " " + subjects + "/torch_attention.py",
           {"--persistent", "--dialect", "torch", "--for", "causal,boolean-mask,grouped-heads",
            "--no-laws", "--timeout", "60", "--memory", "0"});
  CAPTURE(result.out, result.err);
  CHECK(result.code == 0);
}
