// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Recipe: what a call is to be like, before it is written in some dialect.
#pragma once
#include <attest/oracle/needle/scope.hpp>
#include <attest/rule.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace attest::oracle {

enum class Causality { none, top_left, bottom_right };
enum class MaskKind { none, boolean, added };

// Which axes of batch, head, query and key a mask has; along the others it is broadcast.
struct MaskAxes {
  bool batch = true, head = true, query = true;
  friend bool operator==(const MaskAxes&, const MaskAxes&) = default;
};

// Scores before softcap and bias: level, more by `rise` from the first key to the last, by `peak`
// at a key that is aimed at, by random numbers of deviation `spread`.
struct ScoreShape {
  double level = 0, rise = 0, peak = 3, spread = 1;
  friend bool operator==(const ScoreShape&, const ScoreShape&) = default;
};

struct Recipe {
  std::string aim;  // what it is to show, in words
  std::size_t batches = 1, query_heads = 1, key_value_heads = 1, queries = 4, keys = 5;
  std::size_t width = 4, value_width = 4;
  Causality causality = Causality::none;
  long left = -1, right = -1;
  double softcap = 0;
  std::optional<double> scale;
  HeadMap head_map = HeadMap::blocked;
  MaskKind mask = MaskKind::none;
  MaskAxes mask_axes;
  double hidden = 0.25;     // of the mask, about how much
  bool hides_runs = false;  // whole tiles of keys
  bool lowest = false;      // an added mask of some rows is the format's lowest number throughout
  EmptyRow empty_row = EmptyRow::zero;  // where the dialect takes it as an option
  bool empty_rows = false;              // some, by the mask
  std::optional<double> sink;           // of head 0, the others are near
  bool slopes = false;
  bool about_keys = false;  // which of them count: past or lengths
  std::size_t past = 0;     // of the keys
  bool lengths = false;
  bool log_sum_exp = false;
  LogBase base = LogBase::e;
  bool gradients = false;
  ScoreShape scores;
  bool one_sign = false;        // of the values
  bool extreme = false;         // at an end of the range
  bool largest_values = false;  // near the largest number of the format
  bool full_pages = false;      // every other length is a multiple of 16
  bool large_beyond = false;    // keys and values beyond the lengths are large
  bool nan_beyond = false;      // or NaN, which the dialect lets through
  bool general = false;         // worth a call even where the scope leaves some of it out
  std::uint64_t seed = 1;

  friend bool operator==(const Recipe&, const Recipe&) = default;
};

// The recipe as far as the scope allows: features it lacks are left out, extents moved to the
// nearest.
inline Recipe within(const Scope& scope, Recipe r) {
  const Features& may = scope.features;
  r.batches = scope.batches.nearest(r.batches);
  r.query_heads = scope.query_heads.nearest(r.query_heads);
  if (!may.grouped_heads || r.query_heads % r.key_value_heads != 0)
    r.key_value_heads = r.query_heads;
  r.queries = scope.queries.nearest(r.queries);
  r.keys = scope.square ? scope.keys.nearest(r.queries) : scope.keys.nearest(r.keys);
  if (scope.square) r.queries = r.keys;
  r.width = scope.width.nearest(r.width);
  r.value_width = scope.one_width ? r.width : scope.value_width.nearest(r.value_width);
  if (!may.scale) r.scale.reset();
  if (r.causality == Causality::top_left && !may.causal) r.causality = Causality::bottom_right;
  if (r.causality == Causality::bottom_right && !may.bottom_right)
    r.causality = may.causal ? Causality::top_left : Causality::none;
  if (!may.window) r.left = r.right = -1;
  if (!may.softcap) r.softcap = 0;
  if (!may.tiled_heads) r.head_map = HeadMap::blocked;
  if (r.mask == MaskKind::boolean && !may.boolean_mask) r.mask = MaskKind::added;
  if (r.mask == MaskKind::added && !may.added_mask)
    r.mask = may.boolean_mask ? MaskKind::boolean : MaskKind::none;
  if (r.mask == MaskKind::none || !may.empty_rows) r.empty_rows = false;
  if (r.mask != MaskKind::added) r.lowest = false;
  if (!may.sinks) r.sink.reset();
  if (!may.slopes) r.slopes = false;
  if (!may.cache || r.past >= r.keys) r.past = 0;
  if (!may.lengths) r.lengths = false;
  if (!r.lengths) r.full_pages = r.large_beyond = r.nan_beyond = false;
  if (r.mask == MaskKind::none) r.empty_row = EmptyRow::zero;
  if (!may.log_sum_exp) r.log_sum_exp = false;
  if (!r.log_sum_exp || !may.base_two) r.base = LogBase::e;
  if (!may.gradients) r.gradients = false;
  if (!may.extremes) r.extreme = r.largest_values = false;
  return r;
}

// Whether the recipe has lost what it is about.
inline bool lost(const Recipe& before, const Recipe& after) {
  const auto left_out = [](bool had, bool has) { return had && !has; };
  return left_out(before.causality != Causality::none, after.causality != Causality::none) ||
         left_out(before.left >= 0, after.left >= 0) ||
         left_out(before.right >= 0, after.right >= 0) ||
         left_out(before.softcap != 0, after.softcap != 0) ||
         left_out(before.mask != MaskKind::none, after.mask != MaskKind::none) ||
         left_out(before.lowest, after.lowest) ||
         left_out(before.head_map == HeadMap::tiled, after.head_map == HeadMap::tiled) ||
         left_out(before.sink.has_value(), after.sink.has_value()) ||
         left_out(before.slopes, after.slopes) || left_out(before.past > 0, after.past > 0) ||
         left_out(before.lengths, after.lengths) || left_out(before.nan_beyond, after.nan_beyond) ||
         (before.empty_row != after.empty_row) || left_out(before.gradients, after.gradients) ||
         left_out(before.extreme, after.extreme);
}

}  // namespace attest::oracle
