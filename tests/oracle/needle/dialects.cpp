// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A recipe means the same in every dialect that can say it.
#include "catch.hpp"

#include <attest/oracle/needle.hpp>
#include <attest/oracle/needle/dialects.hpp>
#include <attest/oracle/verdict.hpp>

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
      const bool at_end = dialect.name.starts_with("flash");
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
  scope.dialect = "cudnn";
  CHECK_THROWS_AS(needles(scope), BadCall);
}
