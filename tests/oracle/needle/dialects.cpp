// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A recipe means the same in every dialect that can say it.
#include "catch.hpp"

#include <attest/oracle/fault.hpp>
#include <attest/oracle/needle.hpp>
#include <attest/oracle/needle/build.hpp>
#include <attest/oracle/needle/dialects.hpp>
#include <attest/oracle/verdict.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace {

using namespace attest::oracle;

// By the recipe's own words, without any dialect's reader.
// Some dialects align a window at the end without causality too.
bool is_visible(const Recipe& r, bool at_end, std::size_t i, std::size_t j) {
  const long own =
      static_cast<long>(i) + (r.causality == Causality::bottom_right || at_end
                                  ? static_cast<long>(r.keys) - static_cast<long>(r.queries)
                                  : 0);
  const long ahead = static_cast<long>(j) - own;
  return (r.causality == Causality::none || ahead <= 0) && (r.left < 0 || -ahead <= r.left) &&
         (r.right < 0 || ahead <= r.right);
}

}  // namespace

TEST_CASE("what a recipe asks for is what its dialect's reader reads") {
  for (const RecipeDialect& dialect : recipe_dialects) {
    Scope scope;
    scope.dialect = std::string(dialect.name);
    scope.features = Features::all();
    const std::vector<Needle> calls = needles(scope);
    CHECK(calls.size() >= 8);
    for (const Needle& needle : calls) {
      const Recipe& r = needle.recipe;
      CAPTURE(dialect.name, r.aim);
      const Problem p = read_problem(needle.call.call);
      CHECK(p.batches() == r.batches);
      CHECK(p.query_heads() == r.query_heads);
      CHECK(p.key_value_heads() == r.key_value_heads);
      CHECK(p.queries() == r.queries);
      CHECK(p.given_keys() == r.keys);
      CHECK(p.past() == r.past);
      CHECK(p.rule.softcap == r.softcap);
      CHECK(p.rule.head_map == r.head_map);
      CHECK(p.mask.has_value() == (r.mask != MaskKind::none));
      CHECK(p.sinks.empty() == !r.sink.has_value());
      CHECK(p.alibi_slopes.empty() == !r.slopes);
      CHECK(p.has_gradients() == r.gradients);
      CHECK(p.log_sum_exp.has_value() == r.log_sum_exp);
      const double scale = p.rule.scale.by_width ? 1 / std::sqrt(static_cast<double>(p.width()))
                                                 : p.rule.scale.given;
      CHECK(scale == (r.scale ? *r.scale : 1 / std::sqrt(static_cast<double>(r.width))));
      if (r.lengths || (dialect.name == "gpt-oss" && r.causality == Causality::none)) continue;
      const bool at_end = dialect.name.starts_with("flash");  // and flashinfer
      bool same = true;
      for (std::size_t i = 0; i < r.queries; ++i)
        for (std::size_t j = 0; j < r.keys; ++j)
          same = same &&
                 is_visible(r, at_end, i, j) ==
                     position_visible(p.rule, static_cast<long>(i) + p.offsets[0] + p.rule.offset,
                                      static_cast<long>(j));
      CHECK(same);
    }
  }
}

TEST_CASE("a recipe has the same outputs in every dialect, and they pass") {
  for (const RecipeDialect& dialect : recipe_dialects) {
    Scope scope, plain;
    scope.dialect = std::string(dialect.name);
    scope.features = plain.features = Features::all();
    std::size_t compared = 0;
    for (const Needle& needle : needles(scope)) {
      CAPTURE(dialect.name, needle.recipe.aim);
      const Problem problem = read_problem(needle.call.call);
      const Precision claim = claimed_precision(needle.call.call, problem);
      const Example honest = with_outputs(needle.call.call, evaluate(problem, claim));
      CHECK(judge_by_rule(read_problem(honest.call), claim).verdict == Verdict::pass);

      // In plain, where that says the same.
      Recipe r = needle.recipe;
      const bool causal = r.causality != Causality::none;
      const bool at_end = dialect.name.starts_with("flash") && (r.left >= 0 || r.right >= 0);
      if (r.lengths || (!causal && (at_end || r.slopes || r.past > 0))) continue;
      r.past = 0;
      if (!(expressible(plain, r) == r)) continue;
      const Example same_call = build(plain, r);
      const Problem same = read_problem(same_call.call);
      const Implementation by_dialect = implementation(problem), by_plain = implementation(same);
      const Outputs got = evaluate(by_dialect, by_dialect, {}, claim, false);
      const Outputs expected = evaluate(by_plain, by_plain, {}, claim, false);
      REQUIRE(got.out.size() == expected.out.size());
      double most = 0, size = 0;
      for (std::size_t n = 0; n < got.out.size(); ++n) {
        const bool may_differ = problem.rule.empty_row != same.rule.empty_row;
        if (may_differ && expected.out[n] == 0) continue;  // a row without keys
        if (std::isnan(got.out[n]) || std::isnan(expected.out[n])) most = HUGE_VAL;
        most = std::max(most, std::fabs(got.out[n] - expected.out[n]));
        size = std::max(size, std::fabs(expected.out[n]));
      }
      CHECK(most <= 1e-9 * size);
      ++compared;
    }
    CAPTURE(dialect.name);
    CHECK(compared >= 5);
  }
}

TEST_CASE("extents and features of a scope are kept to") {
  Scope scope;
  scope.features.causal = true;
  scope.batches = {1, 1};
  scope.query_heads = {1, 1};
  scope.queries = {8, 32, 8};
  scope.keys = {16, 64, 16};
  scope.width = {12, 12};
  scope.value_width = {4, 4};
  const std::vector<Needle> calls = needles(scope);
  CHECK(calls.size() >= 5);
  for (const Needle& needle : calls) {
    CAPTURE(needle.recipe.aim);
    const Problem p = read_problem(needle.call.call);
    CHECK((p.batches() == 1 && p.query_heads() == 1 && p.key_value_heads() == 1));
    CHECK(scope.queries.holds(p.queries()));
    CHECK(scope.keys.holds(p.keys()));
    CHECK(p.width() == 12);
    CHECK(p.value_width() == 4);
    CHECK(p.rule.window_left == -1);
    CHECK(p.rule.softcap == 0);
    CHECK((!p.mask && p.sinks.empty() && !p.log_sum_exp && p.rule.scale.by_width));
  }
}

TEST_CASE("a dialect that no recipe can be written in is refused by name") {
  Scope scope;
  scope.dialect = "onnx-22";
  CHECK_THROWS_AS(needles(scope), BadCall);
}
