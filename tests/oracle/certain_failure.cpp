// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Outputs that certainly fail: what is no longer looked at is counted, and hides no verdict.
#include "call_builder.hpp"
#include "catch.hpp"

#include <attest/oracle/verdict.hpp>

#include <limits>
#include <vector>

namespace {

using namespace attest::oracle;
using attest::test::CallBuilder;

constexpr std::size_t batches = 2, heads = 8, queries = 512, keys = 5, width = 4, columns = 2;
constexpr std::size_t elements = batches * heads * queries * columns;

// Equal scores, so that every output is the mean of the values, which are all 3.
CallBuilder threes(const std::vector<float>& out) {
  CallBuilder builder("onnx-23");
  const auto filled = [&](const char* name, std::size_t of_head, float number) {
    builder.floats(name,
                   {batches, heads, of_head / (name[0] == 'v' ? columns : width),
                    name[0] == 'v' ? columns : width},
                   std::vector<float>(batches * heads * of_head, number));
  };
  filled("q", queries * width, 0);
  filled("k", keys * width, 1);
  filled("v", keys * columns, 3);
  return builder.floats("out", {batches, heads, queries, columns}, out);
}

JudgeOptions nothing_after_failure(std::size_t blocks_from) {
  JudgeOptions options;
  options.blocks_from = blocks_from;
  options.work_after_failure = 0;
  return options;
}

constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

}  // namespace

TEST_CASE("what is not looked at once an output fails is counted") {
  const CallBuilder wrong = threes(std::vector<float>(elements, 4));
  const JudgeOptions options = nothing_after_failure(never);
  const Report report = judge(wrong.call, options);
  CHECK(report.verdict == Verdict::fail);
  const OutputReport& output = report.outputs[0];
  CHECK(output.elements == elements);
  CHECK(output.not_looked_at > 0);
  CHECK(output.failed > 0);
  CHECK(output.failed + output.not_looked_at == elements);
  CHECK(report.rows * columns + output.not_looked_at == elements);

  JudgeOptions threads = options;
  threads.threads = 3;
  CHECK(judge(wrong.call, threads).outputs[0].failed == output.failed);

  const Report whole = judge(wrong.call, {});
  CHECK(whole.outputs[0].failed == elements);
  CHECK(whole.outputs[0].not_looked_at == 0);
}

TEST_CASE("nothing is left out before it is certain that an output fails") {
  std::vector<float> out(elements, 3);
  const auto judged = [&] { return judge(threes(out).call, nothing_after_failure(never)); };
  CHECK(judged().verdict == Verdict::pass);
  CHECK(judged().rows == batches * heads * queries);
  out.back() = 4;
  CHECK(judged().verdict == Verdict::fail);
  CHECK(judged().outputs[0].not_looked_at == 0);
}

TEST_CASE("an output that fails leaves nothing out of another that is judged with it") {
  CallBuilder builder = threes(std::vector<float>(elements, 4));
  std::vector<float> scores(batches * heads * queries * keys, 0);
  const auto judged = [&] {
    builder.floats("qk_matmul_output", {batches, heads, queries, keys}, scores);
    return judge(builder.call, nothing_after_failure(never));
  };
  const Report right_scores = judged();
  REQUIRE(right_scores.outputs.size() == 2);
  CHECK(right_scores.outputs[0].verdict == Verdict::fail);
  CHECK(right_scores.outputs[0].failed == elements);
  CHECK(right_scores.outputs[1].verdict == Verdict::pass);
  CHECK(right_scores.outputs[1].not_looked_at == 0);
  scores.back() = 1;
  CHECK(judged().outputs[1].verdict == Verdict::fail);
}

TEST_CASE("blocks look at every row, whatever fails") {
  const Report report =
      judge(threes(std::vector<float>(elements, 4)).call, nothing_after_failure(0));
  CHECK(report.outputs[0].failed == elements);
  CHECK(report.outputs[0].not_looked_at == 0);
}
