// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Recipes at random within a scope: small extents, few features at a time.
#pragma once
#include <attest/oracle/needle/build.hpp>
#include <attest/oracle/needle/random.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace attest::testing {

inline oracle::Recipe random_recipe(const oracle::Scope& scope, std::uint64_t seed) {
  using namespace oracle;
  Random random(seed);
  Recipe r;
  r.aim = "random call " + std::to_string(seed);
  r.general = true;
  r.seed = random.bits();
  const std::vector<std::size_t> widths{4, 8, 1, 2, 3, 5, 7, 16, 4};
  const std::vector<std::size_t> rows{1, 2, 3, 4, 5, 7, 8, 9, 12, 17, 33};
  const std::vector<std::size_t> heads{1, 2, 4, 6, 3};
  r.batches = random.one_in(3) ? 2 : 1;
  r.key_value_heads = random.one_in(2) ? 1 : random.between(1, 3);
  r.query_heads = r.key_value_heads * random.one_of(heads);
  r.queries = random.one_of(rows);
  r.keys = random.one_in(8) ? 65 : random.one_of(rows);
  r.width = random.one_of(widths);
  r.value_width = random.one_of(widths);
  if (random.one_in(3))
    r.causality = random.one_in(2) ? Causality::top_left : Causality::bottom_right;
  if (random.one_in(5)) {
    r.left = static_cast<long>(random.below(r.keys + 1));
    if (random.one_in(2)) r.right = static_cast<long>(random.below(r.keys + 1));
  }
  if (random.one_in(4)) r.softcap = 0.5 * static_cast<double>(random.between(1, 12));
  if (random.one_in(4)) r.scale = static_cast<double>(random.between(1, 12)) / 8;
  if (random.one_in(6)) r.head_map = HeadMap::tiled;
  if (random.one_in(3)) {
    r.mask = random.one_in(2) ? MaskKind::boolean : MaskKind::added;
    r.mask_axes = {random.one_in(2), random.one_in(2), !random.one_in(3)};
    r.hidden = 0.2 * static_cast<double>(random.between(0, 3));
    r.hides_runs = random.one_in(4);
    r.empty_rows = random.one_in(3);
  }
  if (random.one_in(5)) r.sink = static_cast<double>(random.between(0, 8)) - 4;
  if (random.one_in(6)) r.slopes = true;
  if (random.one_in(3)) r.past = random.below(r.keys);
  if (random.one_in(4)) r.lengths = true;
  r.log_sum_exp = random.one_in(2);
  if (random.one_in(4)) r.base = LogBase::two;
  r.gradients = random.one_in(4);
  r.scores.level = static_cast<double>(random.below(9)) - 6;
  r.scores.rise = random.one_in(2) ? 4 * random.symmetric() : 0;
  r.scores.peak = static_cast<double>(random.below(5));
  r.scores.spread = random.one_in(4) ? 3 : 1;
  r.one_sign = random.one_in(4);
  return expressible(scope, r);
}

}  // namespace attest::testing
