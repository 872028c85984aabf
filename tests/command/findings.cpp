// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What the command says of faults: which one a capture shows, which ones its input could have
// shown, and the catalogue.
#include "catch.hpp"

#include <attest/findings.hpp>
#include <attest/oracle/diagnosis.hpp>
#include <attest/oracle/fault.hpp>
#include <attest/oracle/fault/examples.hpp>
#include <attest/oracle/verdict.hpp>

#include <nlohmann/json.hpp>
#include <string>

#include "program.hpp"

namespace {

using namespace attest::test;
using Json = nlohmann::json;

std::string kept(const char* name) {
  return std::string(ATTEST_TEST_DATA) + "/" + name + ".npz";
}
bool says(const std::string& text, const char* words) {
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("a failing capture is diagnosed, in words and as data") {
  const std::string path = kept("community-40-causal_decode1of40");
  const Result words = run({"check", path});
  CHECK(words.code == 1);
  CHECK(says(words.out,
             "\n  diagnosis: causal mask aligned top-left\n"
             "    The first query stands at the first key: query i sees keys up to i.\n"
             "    usually: "));
  const Json json = Json::parse(run({"check", "--json", path}).out);
  CHECK(json.at("diagnosis").at("unique") == true);
  CHECK(json.at("diagnosis").at("faults").at(0).at("names") ==
        Json::array({"causal mask aligned top-left"}));
  CHECK(json.at("diagnosis").at("faults").at(0).at("place") == "everywhere");
}

TEST_CASE("faults that an input does not tell apart are listed") {
  const Result words = run({"check", kept("causal_past2_q1_kv3")});
  CHECK(says(words.out,
             "\n  diagnosis: one of 5, which this input does not tell apart\n"
             "    1. causality dropped\n"));
  CHECK(says(words.out, "\n    2. causal mask aligned bottom-right\n"));
}

TEST_CASE("of a suspect output it is said what is usual, and no fault is named") {
  using namespace attest;
  const oracle::Example call = oracle::detail::different_call(1, 1, 1, 2, 3, 2, 2);
  const oracle::Problem problem = oracle::read_problem(call.call);
  const oracle::Precision claim = oracle::usual_precision(problem.format);
  oracle::Report report = oracle::judge(problem, claim);  // of zeros
  report.verdict = oracle::Verdict::suspect;
  const oracle::Diagnosis diagnosis = oracle::diagnose(problem, claim, report);
  CHECK(diagnosis.findings.empty());
  CHECK(diagnosis.hints.size() == 2);
  const std::string words = command::in_words(diagnosis);
  CHECK(says(words, "  diagnosis: none, since nothing is certainly wrong\n    every number"));
  const Json json = command::as_json(diagnosis);
  CHECK(json.at("of_suspect") == true);
  CHECK(json.at("faults").empty());
  report.verdict = oracle::Verdict::fail;
  CHECK(!oracle::diagnose(problem, claim, report).of_suspect);
}

TEST_CASE("a passing capture is told what its input does not show") {
  const std::string path = kept("fp16_causal");
  const Result words = run({"check", path});
  CHECK(words.code == 0);
  CHECK(!says(words.out, "diagnosis"));
  CHECK(says(words.out, "\n  input: shows "));
  CHECK(says(words.out, ": every row sees some key\n"));
  CHECK(
      says(words.out, "\n    this input is inadequate: that it passes says nothing about these\n"));
  const Json json = Json::parse(run({"check", "--json", path}).out);
  CHECK(!json.contains("diagnosis"));
  const Json& input = json.at("input");
  CHECK(input.at("adequate") == false);
  CHECK(input.at("shown").get<int>() + static_cast<int>(input.at("blind").size()) ==
        input.at("applicable").get<int>());
  CHECK(input.at("rows") == input.at("all_rows"));
}

TEST_CASE("a failing capture's input is not called inadequate for what it has shown") {
  const Result words = run({"check", kept("community-40-causal_decode1of40")});
  CHECK(says(words.out, "\n  input: shows "));
  CHECK(!says(words.out, "inadequate"));
}

TEST_CASE("the catalogue is listed, and one fault in full") {
  const Result all = run({"faults"});
  CHECK(all.code == 0);
  CHECK(says(all.out, "scale\n  scale missing\n"));
  CHECK(says(all.out, "\nkey cache\n"));
  CHECK(says(all.out, "\n  log-sum-exp to base 2\n"));
  const Result one = run({"faults", "tail of keys dropped"});
  CHECK(one.code == 0);
  CHECK(says(one.out, "  usually: the number of tiles is rounded down\n"));
  CHECK(says(one.out, "  reported for instance in pytorch/pytorch#169222\n"));
  CHECK(says(one.out, "      k (3, 1) [0, 1, 2]\n"));
  const Result none = run({"faults", "nothing of that name"});
  CHECK(none.code == 2);
  CHECK(says(none.err, "nothing of that name"));
}
