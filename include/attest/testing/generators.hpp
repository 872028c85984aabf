// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// RapidCheck generators of calls of attention, which shrink towards fewer rows, heads and features.
#pragma once
#include <attest/testing/random_recipe.hpp>
#include <attest/testing/trial.hpp>

#include <rapidcheck.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <utility>
#include <vector>

namespace attest::oracle {

inline void showValue(const Recipe& r, std::ostream& out) {
  out << "q (" << r.batches << ", " << r.query_heads << ", " << r.queries << ", " << r.width
      << "), k (" << r.batches << ", " << r.key_value_heads << ", " << r.keys << ", " << r.width
      << "), values of width " << r.value_width;
  if (r.causality != Causality::none)
    out << (r.causality == Causality::top_left ? ", causal" : ", causal at the end");
  if (r.left >= 0 || r.right >= 0) out << ", window " << r.left << " to " << r.right;
  if (r.softcap != 0) out << ", softcap " << r.softcap;
  if (r.scale) out << ", scale " << *r.scale;
  if (r.mask != MaskKind::none)
    out << (r.mask == MaskKind::boolean ? ", boolean mask" : ", added mask");
  if (r.sink) out << ", sinks";
  if (r.slopes) out << ", slopes";
  if (r.past > 0) out << ", " << r.past << " keys in the past";
  if (r.lengths) out << ", lengths";
  out << ", seed " << r.seed;
}

}  // namespace attest::oracle

namespace attest::testing {
namespace detail {

// Recipes that ask for less.
inline std::vector<oracle::Recipe> simpler(const oracle::Scope& scope, const oracle::Recipe& r) {
  std::vector<oracle::Recipe> all;
  const auto add = [&](auto change) {
    oracle::Recipe less = r;
    change(less);
    less = oracle::expressible(scope, less);
    if (!(less == r)) all.push_back(std::move(less));
  };
  using R = oracle::Recipe;
  for (std::size_t R::*extent : {&R::queries, &R::keys, &R::width, &R::value_width, &R::batches}) {
    add([&](R& less) { less.*extent = 1; });
    add([&](R& less) { less.*extent = (less.*extent + 1) / 2; });
    add([&](R& less) { less.*extent -= less.*extent > 1; });
  }
  add([](R& less) { less.query_heads = less.key_value_heads = 1; });
  add([](R& less) { less.query_heads = less.key_value_heads; });
  add([](R& less) { less.causality = oracle::Causality::none; });
  add([](R& less) { less.left = less.right = -1; });
  add([](R& less) { less.softcap = 0; });
  add([](R& less) { less.scale.reset(); });
  add([](R& less) { less.mask = oracle::MaskKind::none; });
  add([](R& less) { less.sink.reset(); });
  add([](R& less) { less.slopes = less.lengths = false; });
  add([](R& less) { less.past = 0; });
  add([](R& less) { less.gradients = less.log_sum_exp = false; });
  add([](R& less) { less.scores = {}; });
  return all;
}

inline rc::Shrinkable<oracle::Recipe> shrinkable(const oracle::Scope& scope, oracle::Recipe r) {
  return rc::shrinkable::just(
      r, rc::seq::map(rc::seq::fromContainer(simpler(scope, r)),
                      [scope](oracle::Recipe less) { return shrinkable(scope, std::move(less)); }));
}

}  // namespace detail

// Recipes of calls within the scope; oracle::build makes the call.
inline rc::Gen<oracle::Recipe> recipes(const oracle::Scope& scope) {
  return [scope](const rc::Random& from, int) {
    rc::Random random(from);
    return detail::shrinkable(scope, random_recipe(scope, random.next()));
  };
}

}  // namespace attest::testing
