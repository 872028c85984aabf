// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Needles, from their recipes.
#pragma once
#include <attest/oracle/needle.hpp>
#include <attest/oracle/needle/recipes.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace attest::oracle {

ATTEST_ORACLE_INLINE std::vector<Needle> needles(const Scope& scope) {
  std::vector<Recipe> recipes;
  std::vector<Needle> result;
  for (const Recipe& recipe : needle_recipes()) {
    Recipe r = expressible(scope, recipe);
    if (lost(recipe, r) && !recipe.general) continue;
    // beyond float16 is beyond no other format
    if (r.softcap > formats::float16.largest && scope.type != ElementType::float16) continue;
    const auto same = [&](Recipe other) {
      other.aim = r.aim;
      other.seed = r.seed;
      return other == r;
    };
    if (std::any_of(recipes.begin(), recipes.end(), same)) continue;
    recipes.push_back(r);
    Example call = build(scope, r);
    result.push_back({std::move(r), std::move(call)});
  }
  return result;
}

ATTEST_ORACLE_INLINE std::vector<Needle> needles_of_the_whole_rule(const Scope& scope) {
  Scope plain = scope, onnx = scope;
  plain.dialect = "plain";
  onnx.dialect = "onnx-24";
  plain.features = onnx.features = Features::all();
  std::vector<Needle> result = needles(plain);
  for (Needle& needle : needles(onnx))
    if (needle.recipe.about_keys) result.push_back(std::move(needle));
  return result;
}

}  // namespace attest::oracle
