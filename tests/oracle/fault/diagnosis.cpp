// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Diagnosis of injected faults: each fault of the catalogue is put into implementations of three
// precisions, and is named by what they return — alone, or among faults that this input does not
// tell apart from it.
#include "catch.hpp"

#include <attest/oracle/diagnosis.hpp>
#include <attest/oracle/fault.hpp>
#include <attest/oracle/fault/examples.hpp>
#include <attest/oracle/verdict.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace attest::oracle;

// Random calls of random shapes, among which every fault finds what it may strike.
class RandomCall {
 public:
  RandomCall(unsigned seed, ElementType type) : random_(seed), type_(type) {}

  Example make() {
    const std::size_t group = pick({1, 2, 3}), heads = pick({1, 2, 3}), batches = pick({1, 2});
    const std::size_t queries = pick({1, 3, 5, 9}), keys = pick({2, 5, 9, 17, 20});
    const std::size_t width = pick({2, 4, 6, 8}), value_width = pick({width, 3, 5});
    const int kind = static_cast<int>(pick({0, 1, 2, 3, 4, 5, 6}));
    const bool cached = kind == 6;
    Example example(cached ? "onnx-24" : "plain");
    const Shape q{batches, group * heads, queries, width}, k{batches, heads, keys, width},
        v{batches, heads, keys, value_width}, out{batches, group * heads, queries, value_width};
    add(example, "q", q, 1.5);
    add(example, "k", k, 1.5);
    add(example, "v", v, 1);
    example.array("out", out, zeros(out), type_);
    const Shape lse{batches, group * heads, queries};
    if (!cached && pick({0, 1})) example.array("lse", lse, zeros(lse), type_);
    if (cached) {
      const std::size_t past = pick({1, 3});
      const Shape past_k{batches, heads, past, width}, past_v{batches, heads, past, value_width};
      const Shape all_k{batches, heads, past + keys, width},
          all_v{batches, heads, past + keys, value_width};
      add(example, "past_key", past_k, 1.5);
      add(example, "past_value", past_v, 1);
      example.array("present_key", all_k, zeros(all_k), type_);
      example.array("present_value", all_v, zeros(all_v), type_);
      if (pick({0, 1})) example.option("is_causal", std::int64_t{1});
      return example;
    }
    if (kind == 1 || kind == 2)
      example.option("causal", std::string(pick({0, 1}) ? "top-left" : "bottom-right"));
    if (kind == 2) example.option("window", std::vector<std::int64_t>{2, kind == 2 ? 1 : -1});
    if (kind == 3) {
      std::vector<double> mask(batches * group * heads * queries * keys);
      for (double& x : mask) x = static_cast<double>(pick({0, 1, 1}));
      example.array("attn_mask", {batches, group * heads, queries, keys}, mask,
                    ElementType::boolean);
    }
    if (kind == 4) add(example, "attn_mask", {queries, keys}, 1);
    if (kind == 5) {
      add(example, "sinks", {group * heads}, 1);
      example.option("softcap", 2.0);
    }
    if (kind < 2 && pick({0, 1})) {
      add(example, "dout", out, 1);
      example.array("dq", q, zeros(q), type_)
          .array("dk", k, zeros(k), type_)
          .array("dv", v, zeros(v), type_);
    }
    if (kind == 1 && pick({0, 1})) {
      std::vector<double> slopes(group * heads);
      for (std::size_t h = 0; h < slopes.size(); ++h)
        slopes[h] = std::exp2(-8 * static_cast<double>(h + 1) / static_cast<double>(slopes.size()));
      example.array("alibi_slopes", {slopes.size()}, slopes);
    }
    return example;
  }

 private:
  std::size_t pick(std::initializer_list<std::size_t> from) {
    return from.begin()[std::uniform_int_distribution<std::size_t>(0, from.size() - 1)(random_)];
  }
  static std::vector<double> zeros(const Shape& shape) {
    return std::vector<double>(element_count(shape), 0);
  }
  void add(Example& example, const std::string& name, const Shape& shape, double deviation) {
    std::normal_distribution<double> normal(0, deviation);
    std::vector<double> numbers(element_count(shape));
    for (double& x : numbers) x = normal(random_);
    example.array(name, shape, numbers, type_);
  }

  std::mt19937 random_;
  ElementType type_;
};

struct Tally {
  std::size_t injected = 0, unique = 0, among = 0, wrong_unique = 0, missed = 0;
  std::map<std::string, std::size_t> failures;
};

bool holds(const Finding& finding, const FaultCase& injected) {
  return finding.faults.size() == 1 && finding.faults[0].fault == injected.fault &&
         (finding.faults[0].setting == injected.setting || finding.as_inaccurate ||
          std::find(finding.also.begin(), finding.also.end(), injected.setting) !=
              finding.also.end());
}

// Injects `fault` into some call that it strikes so that the judge notices.
void inject(const Fault& fault, unsigned seed, ElementType type, Tally& tally) {
  constexpr unsigned most_calls = 40;
  std::mt19937 random(seed);
  for (unsigned n = 0; n < most_calls; ++n) {
    const Example example = RandomCall(1000 * seed + n, type).make();
    const Problem problem = read_problem(example.call);
    const std::vector<FaultCase> cases = cases_of(fault, problem);
    if (cases.empty()) continue;
    const FaultCase& injected = cases[random() % cases.size()];
    Precision claim = fused_precision(problem.format);
    const Example wrong =
        with_outputs(example.call, evaluate(problem, injected, Place::everywhere(), claim));
    const Problem got = read_problem(wrong.call);
    const Report report = judge(got, claim);
    if (report.verdict != Verdict::fail) continue;
    const Diagnosis diagnosis = diagnose(got, claim, report);
    ++tally.injected;
    const bool named = std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                                   [&](const Finding& one) { return holds(one, injected); });
    tally.unique += named && diagnosis.unique();
    tally.among += named && !diagnosis.unique();
    tally.wrong_unique += !named && diagnosis.unique();
    tally.missed += !named && !diagnosis.unique();
    if (!named) {
      std::string words = injected.in_words() + " [" + std::string(facts(type).name) + "] named ";
      words += diagnosis.findings.empty() ? "nothing" : diagnosis.findings.front().in_words();
      if (diagnosis.findings.size() > 1)
        words += " and " + std::to_string(diagnosis.findings.size() - 1) + " others";
      ++tally.failures[words];
    }
    return;
  }
}

void check(unsigned seeds) {
  Tally tally;
  for (const Fault& fault : faults())
    for (const ElementType type :
         {ElementType::float32, ElementType::float16, ElementType::bfloat16})
      for (unsigned seed = 1; seed <= seeds; ++seed) inject(fault, seed, type, tally);
  std::string list;
  for (const auto& [words, count] : tally.failures) list += words + "\n";
  INFO(list);
  WARN("injected " << tally.injected << ": " << tally.unique << " named alone, " << tally.among
                   << " among others, " << tally.missed << " not named, " << tally.wrong_unique
                   << " alone and wrong");
  CHECK(tally.injected > 3 * 100 * seeds);
  CHECK(100 * (tally.unique + tally.among) >= 95 * tally.injected);
  CHECK(tally.wrong_unique == 0);
}

}  // namespace

TEST_CASE("injected faults are named") {
  check(1);
}

TEST_CASE("injected faults are named, four seeds", "[.long]") {
  check(4);
}

TEST_CASE("faults of some rows, heads or keys are named with their place") {
  struct Confined {
    const char* fault;
    Place place;
    const char* words;
  };
  const Confined all[] = {
      {"scale missing",
       {.batches = Stretch::one(1), .heads = {}, .rows = {}, .keys = {}},
       "scale missing, batch 1 only"},
      {"rows zero",
       {.batches = {}, .heads = {}, .rows = Stretch::every(4, 3), .keys = {}},
       "rows zero, rows mod 4 = 3"},
      {"scale missing",
       {.batches = {}, .heads = Stretch::one(2), .rows = {}, .keys = {}},
       "scale missing, head 2 only"},
      {"causality dropped",
       {.batches = {}, .heads = {}, .rows = Stretch::from(4), .keys = {}},
       "causality dropped, rows >= 4"},
      {"causality dropped",
       {.batches = {}, .heads = {}, .rows = {}, .keys = Stretch::from(16)},
       "causality dropped, keys >= 16"},
  };
  for (const Confined& confined : all) {
    CAPTURE(confined.words);
    Example example =
        detail::different_call(2, 4, 2, 16, 24, 8, 4).option("causal", std::string("top-left"));
    const Problem problem = read_problem(example.call);
    const Precision claim = usual_precision(problem.format);
    const Example wrong = with_outputs(
        example.call, evaluate(problem, {find_fault(confined.fault), 0}, confined.place, claim));
    const Problem got = read_problem(wrong.call);
    const Diagnosis diagnosis = diagnose(got, claim, judge(got, claim));
    std::vector<std::string> words;
    for (const Finding& one : diagnosis.findings) words.push_back(one.in_words());
    CAPTURE(words);
    CHECK(std::find(words.begin(), words.end(), confined.words) != words.end());
  }
}

TEST_CASE("two faults together are named") {
  const Example example = detail::different_call(2, 4, 2, 5, 9, 8, 4);
  const Problem problem = read_problem(example.call);
  const Precision claim = usual_precision(problem.format);
  Implementation by = implementation(problem, {find_fault("scale missing"), 0});
  find_fault("key/value heads tiled")->inject(by, 0);
  const Example wrong =
      with_outputs(example.call, evaluate(implementation(problem), by, {}, claim, true));
  const Problem got = read_problem(wrong.call);
  const Diagnosis diagnosis = diagnose(got, claim, judge(got, claim));
  REQUIRE(!diagnosis.findings.empty());
  CHECK(diagnosis.findings[0].in_words() == "scale missing; and key/value heads tiled");
}

TEST_CASE("what no fault explains is described") {
  const Example example = detail::different_call(1, 1, 1, 4, 3, 4, 6);
  const Problem problem = read_problem(example.call);
  const Precision claim = usual_precision(problem.format);
  Outputs outputs = evaluate(problem, claim);
  std::mt19937 random(1);
  for (std::size_t n = 2 * 6; n < 3 * 6; ++n)
    outputs.out[n] = std::uniform_real_distribution<double>(-1, 1)(random);
  const Example wrong = with_outputs(example.call, outputs);
  const Problem got = read_problem(wrong.call);
  const Diagnosis diagnosis = diagnose(got, claim, judge(got, claim));
  CHECK(diagnosis.findings.empty());
  REQUIRE(!diagnosis.hints.empty());
  CHECK(diagnosis.hints[0] == "1 of 4 rows fail, the first at batch 0, head 0, row 2: row 2 only");
}

TEST_CASE("a scale that nobody would guess is estimated") {
  const Example example = detail::different_call(1, 2, 2, 8, 12, 8, 4);
  const Problem problem = read_problem(example.call);
  const Precision claim = usual_precision(problem.format);
  const Example wrong =
      with_outputs(example.call, evaluate(problem, {find_fault("fixed scale"), 0.3217}, {}, claim));
  const Problem got = read_problem(wrong.call);
  const Diagnosis diagnosis = diagnose(got, claim, judge(got, claim));
  REQUIRE(diagnosis.unique());
  CHECK(diagnosis.findings[0].in_words() == "fixed scale: 0.3217");
}

TEST_CASE("an output that is right has no diagnosis") {
  const Example example = detail::different_call(2, 4, 2, 5, 9, 8, 4);
  const Problem problem = read_problem(example.call);
  const Precision claim = usual_precision(problem.format);
  const Example right = with_outputs(example.call, evaluate(problem, claim));
  const Problem got = read_problem(right.call);
  const Report report = judge(got, claim);
  CHECK(report.verdict == Verdict::pass);
  CHECK(diagnose(got, claim, report).findings.empty());
}
