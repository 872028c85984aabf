// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A recipe becomes a call: arrays of numbers that give the scores it asks for, and options in the
// scope's dialect.
#pragma once
#include <attest/oracle/needle/dialects.hpp>
#include <attest/oracle/needle/random.hpp>
#include <attest/oracle/needle/side_by_side.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace attest::oracle {
namespace detail {

// The numbers of one call while they are made.
class RecipeNumbers {
 public:
  RecipeNumbers(const Recipe& recipe, double scale, double largest)
      : r_(recipe), scale_(scale), largest_(largest), random_(recipe.seed) {
    // Level and rise have a column each where there are three, so that all else is random.
    level_column_ = r_.scores.level != 0 &&
                    (r_.width >= 2 || r_.scores == ScoreShape{r_.scores.level, 0, 0, 0});
    rise_column_ = r_.width >= 3 && r_.scores.rise != 0;
    free_ = r_.width - level_column_ - rise_column_;
    // Keys hold the root of a large level, so that queries stay within their format.
    const double need = std::fabs(r_.scores.level) / scale_ / (largest / 2);
    level_key_ = need > 1 || std::fabs(r_.scores.level) > 64
                     ? std::exp2(std::ceil(std::log2(std::fabs(r_.scores.level) / scale_) / 2))
                     : 1;
  }

  void make() {
    keys.assign(r_.batches * r_.key_value_heads * r_.keys * r_.width, 0);
    values.assign(r_.batches * r_.key_value_heads * r_.keys * r_.value_width, 0);
    queries.assign(r_.batches * r_.query_heads * r_.queries * r_.width, 0);
    for (double& x : values) {
      x = random_.symmetric();
      if (r_.one_sign) x = 1 + std::fabs(x) / 2;
      if (r_.largest_values) x = largest_ * (0.5 + 0.25 * std::fabs(x));
    }
    for (std::size_t n = 0; n < r_.batches * r_.key_value_heads; ++n)
      for (std::size_t j = 0; j < r_.keys; ++j) make_key(&keys[(n * r_.keys + j) * r_.width], j);
    for (std::size_t b = 0; b < r_.batches; ++b)
      for (std::size_t h = 0; h < r_.query_heads; ++h)
        for (std::size_t i = 0; i < r_.queries; ++i) {
          const std::size_t g = key_value_head(r_.head_map, h, r_.query_heads, r_.key_value_heads);
          const std::size_t j = aimed_at(b, h, i);
          make_query(&queries[((b * r_.query_heads + h) * r_.queries + i) * r_.width],
                     &keys[((b * r_.key_value_heads + g) * r_.keys + j) * r_.width]);
        }
  }
  Random& random() { return random_; }

  std::vector<double> keys, values, queries;

 private:
  void make_key(double* k, std::size_t j) {
    for (std::size_t t = 0; t < free_; ++t) {
      k[t] = random_.normal();
      if (free_ < 3) k[t] += std::copysign(0.25, k[t]);  // no key close to 0, which nothing scores
    }
    std::size_t t = free_;
    if (level_column_) k[t++] = level_key_;
    if (rise_column_)
      k[t] = static_cast<double>(j) / static_cast<double>(std::max<std::size_t>(r_.keys - 1, 1));
  }
  void make_query(double* q, const double* aim) {
    double squares = 1e-3;
    for (std::size_t t = 0; t < free_; ++t) squares += aim[t] * aim[t];
    const double noise = r_.scores.spread / scale_ / std::sqrt(static_cast<double>(free_));
    for (std::size_t t = 0; t < free_; ++t)
      q[t] = r_.scores.peak / scale_ * aim[t] / squares + noise * random_.normal();
    std::size_t t = free_;
    if (level_column_) q[t++] = r_.scores.level / scale_ / level_key_;
    if (rise_column_) q[t] = r_.scores.rise / scale_;
  }
  // Keys at which some fault begins to matter, in turn: the last one that is seen and the first
  // that is not, the ends, the edges of tiles.
  std::size_t aimed_at(std::size_t b, std::size_t h, std::size_t i) {
    const auto count = static_cast<long>(r_.keys), at = static_cast<long>(i);
    const long own = at + (r_.causality == Causality::bottom_right || r_.past > 0
                               ? count - static_cast<long>(r_.queries)
                               : 0);
    std::vector<long> places{own, own + 1, count - 1, own - 1, 0, count / 2};
    if (r_.left >= 0) places.insert(places.end(), {own - r_.left, own - r_.left - 1});
    if (r_.right >= 0) places.insert(places.end(), {own + r_.right, own + r_.right + 1});
    for (const long tile : {4, 8, 16, 32, 64})
      if (tile < count) places.insert(places.end(), {tile, tile - 1});
    std::erase_if(places, [&](long place) { return place < 0 || place >= count; });
    const std::size_t turn = i + 5 * h + 3 * b + r_.seed;
    return static_cast<std::size_t>(places[turn % places.size()]);
  }

  const Recipe& r_;
  double scale_, largest_;
  Random random_;
  bool level_column_, rise_column_;
  std::size_t free_;
  double level_key_;
};

inline void add_mask(const Recipe& r, Random& random, ElementType type, Example& example) {
  if (r.mask == MaskKind::none) return;
  const Shape shape{r.mask_axes.batch ? r.batches : 1, r.mask_axes.head ? r.query_heads : 1,
                    r.mask_axes.query ? r.queries : 1, r.keys};
  std::vector<double> mask(element_count(shape));
  const double infinity = std::numeric_limits<double>::infinity();
  const std::size_t rows = mask.size() / r.keys;
  for (std::size_t row = 0; row < rows; ++row) {
    double* const m = &mask[row * r.keys];
    const std::size_t i = row % shape[2], head = row / shape[2];
    const bool empty = r.empty_rows && (i + head) % 4 == 3;
    const bool lowest = r.lowest && i % 2 == 1;
    const std::size_t run = r.hides_runs ? random.below(r.keys) : 0;
    for (std::size_t j = 0; j < r.keys; ++j) {
      const bool hides = empty || j < run || random.symmetric() * 0.5 + 0.5 < r.hidden;
      const double bias = lowest ? -facts(type).format->largest : 2 * random.symmetric();
      m[j] = r.mask == MaskKind::boolean ? !hides : hides ? -infinity : bias;
    }
    // one key at least, and not always the same
    if (!empty && std::none_of(m, m + r.keys, [&](double x) {
          return r.mask == MaskKind::boolean ? x != 0 : std::isfinite(x);
        }))
      m[random.below(r.keys)] = r.mask == MaskKind::boolean ? 1
                                : lowest                    ? -facts(type).format->largest
                                                            : 0;
  }
  example.array("attn_mask", shape, mask,
                r.mask == MaskKind::boolean ? ElementType::boolean : type);
}

inline void add_outputs(const Recipe& r, Random& random, ElementType type, Example& example) {
  const Shape out{r.batches, r.query_heads, r.queries, r.value_width};
  const auto zeros = [&](const char* name, const Shape& shape, ElementType as) {
    example.array(name, shape, std::vector<double>(element_count(shape), 0), as);
  };
  zeros("out", out, type);
  const ElementType wide = type == ElementType::float64 ? type : ElementType::float32;
  const Shape rows{r.batches, r.query_heads, r.queries};
  const auto some = [&](const Shape& shape) {
    std::vector<double> numbers(element_count(shape));
    for (double& x : numbers) x = random.symmetric();
    return numbers;
  };
  if (r.log_sum_exp) zeros("lse", rows, wide);
  if (!r.gradients) return;
  example.array("dout", out, some(out), type);
  if (r.log_sum_exp) example.array("dlse", rows, some(rows), wide);
  zeros("dv", {r.batches, r.key_value_heads, r.keys, r.value_width}, type);
  zeros("dq", {r.batches, r.query_heads, r.queries, r.width}, type);
  zeros("dk", {r.batches, r.key_value_heads, r.keys, r.width}, type);
  if (r.sink) zeros("dsinks", {r.query_heads}, type);
  if (r.mask == MaskKind::added) zeros("dattn_mask", example.call.arrays["attn_mask"].shape, type);
}

// Of ALiBi: powers of 2^(−8/n) for n a power of two, between them those of twice as many heads.
inline double slope(std::size_t h, std::size_t heads) {
  std::size_t power = 1;
  while (2 * power <= heads) power *= 2;
  const auto n = static_cast<double>(power);
  return h < power ? std::exp2(-8 * static_cast<double>(h + 1) / n)
                   : std::exp2(-4 * static_cast<double>(2 * (h - power) + 1) / n);
}

// Rows `from` to `to` of each head.
inline std::vector<double> rows_between(const std::vector<double>& all, std::size_t heads,
                                        std::size_t rows, std::size_t columns, std::size_t from,
                                        std::size_t to) {
  std::vector<double> some;
  for (std::size_t n = 0; n < heads; ++n)
    some.insert(some.end(), all.begin() + static_cast<std::ptrdiff_t>((n * rows + from) * columns),
                all.begin() + static_cast<std::ptrdiff_t>((n * rows + to) * columns));
  return some;
}

inline void add_keys(const Recipe& r, const RecipeNumbers& numbers, ElementType type,
                     Example& example) {
  const std::size_t heads = r.batches * r.key_value_heads;
  const auto part = [&](const char* name, const std::vector<double>& all, std::size_t columns,
                        std::size_t from, std::size_t to) {
    example.array(name, {r.batches, r.key_value_heads, to - from, columns},
                  rows_between(all, heads, r.keys, columns, from, to), type);
  };
  part("k", numbers.keys, r.width, r.past, r.keys);
  part("v", numbers.values, r.value_width, r.past, r.keys);
  if (r.past == 0) return;
  part("past_key", numbers.keys, r.width, 0, r.past);
  part("past_value", numbers.values, r.value_width, 0, r.past);
  for (const auto& [name, columns] :
       {std::pair{"present_key", r.width}, std::pair{"present_value", r.value_width}}) {
    const Shape shape{r.batches, r.key_value_heads, r.keys, columns};
    example.array(name, shape, std::vector<double>(element_count(shape), 0), type);
  }
}

// Of each batch entry another, the whole once, none where rows may be empty.
inline std::vector<double> key_lengths(const Recipe& r, bool none_too) {
  std::vector<double> lengths(r.batches);
  for (std::size_t b = 0; b < r.batches; ++b) {
    std::size_t shorter = (2 * r.seed + b * (r.keys / 2 + 1)) % r.keys | 1;
    if (r.full_pages && b % 2 == 1) shorter = std::min(r.keys, (shorter + 15) / 16 * 16);
    lengths[b] = static_cast<double>(b == 1 && r.seed % 3 == 0 && none_too ? 0 : shorter);
  }
  return lengths;
}

}  // namespace detail

// What of the recipe the scope's dialect can say; nothing changes it further.
inline Recipe expressible(const Scope& scope, const Recipe& recipe) {
  const RecipeDialect* dialect = find_recipe_dialect(scope.dialect);
  if (!dialect) {
    std::string known;
    for (const RecipeDialect& one : recipe_dialects)
      known += (known.empty() ? "" : ", ") + std::string(one.name);
    throw BadCall("dialect \"" + scope.dialect + "\": no calls can be made for it, only for " +
                  known);
  }
  Scope narrower = scope;
  narrower.features = scope.features & dialect->features;
  narrower.one_width = scope.one_width || dialect->one_width;
  Recipe r = within(narrower, recipe);
  dialect->fit(r);
  if (scope.dialect != "plain") r.empty_row = EmptyRow::zero;
  if (!scope.dialect.starts_with("onnx")) r.nan_beyond = false;
  if (!scope.features.causal && !scope.features.bottom_right && scope.dialect != "gpt-oss")
    r.causality = Causality::none;
  return r;
}

// A call like the recipe in the scope's dialect, its outputs zeros. Of an expressible recipe.
inline Example build(const Scope& scope, const Recipe& r) {
  const RecipeDialect& dialect = *find_recipe_dialect(scope.dialect);
  double scale = r.scale ? *r.scale : 1 / std::sqrt(static_cast<double>(r.width));
  const NumberFormat& format = *facts(scope.type).format;
  for (const char* name : scale_names)
    if (const auto given = scope.attributes.find(name); given != scope.attributes.end())
      if (const auto* number = std::get_if<double>(&given->second)) scale = *number;
  Example example(scope.dialect);
  detail::RecipeNumbers numbers(r, scale, format.largest);
  numbers.make();
  if (r.lengths && *dialect.lengths) {
    const std::vector<double> lengths = detail::key_lengths(r, scope.features.empty_rows);
    if (r.large_beyond || r.nan_beyond)
      for (std::size_t n = 0; n < r.batches * r.key_value_heads; ++n)
        for (std::size_t j = static_cast<std::size_t>(lengths[n / r.key_value_heads]); j < r.keys;
             ++j) {
          const double large = r.nan_beyond ? std::numeric_limits<double>::quiet_NaN()
                               : j % 2 == 0 ? 1000
                                            : -1000;
          std::fill_n(&numbers.keys[(n * r.keys + j) * r.width], r.width, large);
          std::fill_n(&numbers.values[(n * r.keys + j) * r.value_width], r.value_width, large);
        }
    example.array(dialect.lengths, {r.batches}, lengths,
                  scope.dialect.starts_with("onnx") ? ElementType::int64 : ElementType::int32);
  }
  example.array("q", {r.batches, r.query_heads, r.queries, r.width}, numbers.queries, scope.type);
  detail::add_keys(r, numbers, scope.type, example);
  detail::add_mask(r, numbers.random(), scope.type, example);
  if (r.sink) {
    std::vector<double> sinks(r.query_heads);
    for (std::size_t h = 0; h < sinks.size(); ++h)
      sinks[h] = *r.sink + 0.75 * static_cast<double>(h % 5);
    example.array(dialect.sinks, {r.query_heads}, sinks,
                  scope.type == ElementType::float64 ? scope.type : ElementType::float32);
  }
  if (r.slopes) {
    std::vector<double> slopes(r.query_heads);
    for (std::size_t h = 0; h < slopes.size(); ++h) slopes[h] = detail::slope(h, slopes.size());
    example.array("alibi_slopes", {r.query_heads}, slopes);
  }
  detail::add_outputs(r, numbers.random(), scope.type, example);
  dialect.write(r, scale, example);
  if (dialect.heads_side_by_side) {
    example.option("num_heads", static_cast<std::int64_t>(r.query_heads));
    if (dialect.features.grouped_heads)
      example.option("kv_num_heads", static_cast<std::int64_t>(r.key_value_heads));
    detail::put_heads_side_by_side(example);
  }
  for (const auto& [name, value] : scope.attributes) example.option(name, value);
  example.call.precision = scope.precision;
  example.call.subject = scope.subject;
  return example;
}

}  // namespace attest::oracle
