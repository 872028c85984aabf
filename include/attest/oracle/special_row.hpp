// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What IEEE 754 makes of the NaNs and infinities in a row: which results are decided by them, and
// the finite rest.
#pragma once
#include <attest/oracle/enclosure.hpp>
#include <attest/oracle/special.hpp>
#include <attest/rule.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace attest::oracle {

// A row with its NaNs and infinities taken out: `finite` has 0 in their place and masks the keys
// whose score is −∞.
struct SpecialRow {
  RowData finite;
  std::vector<double> query, keys, values, bias;  // what `finite` points into
  std::vector<Special> scaled, capped, biased;    // of each key
  std::vector<Special> weights;                   // of each key
  std::vector<Special> outputs;                   // of each column
  std::vector<std::size_t> infinite_values;  // keys with weight and an infinity among their values
};

// `row` may hold NaNs and infinities; `negative_root`: every score is NaN, since the scale is
// applied by a root it lacks.
inline SpecialRow separate(const Rule& rule, const RowData& row, bool negative_root) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::size_t keys = row.key_count, width = row.width, columns = row.value_width;
  const auto clean = [](const double* from, std::size_t count) {
    std::vector<double> numbers(from, from + count);
    for (double& x : numbers)
      if (!std::isfinite(x)) x = 0;
    return numbers;
  };
  SpecialRow result;
  result.finite = row;
  result.query = clean(row.query, width);
  result.keys = clean(row.keys, keys * width);
  result.values = clean(row.values, keys * columns);
  result.bias.assign(row.bias, row.bias + keys);
  result.finite.query = result.query.data();
  result.finite.keys = result.keys.data();
  result.finite.values = result.values.data();
  result.finite.bias = result.bias.data();
  result.scaled.resize(keys);
  result.capped.resize(keys);
  result.biased.resize(keys);
  result.weights.resize(keys);
  result.outputs.resize(columns);

  bool empty = true, all_hidden = true, row_is_nan = false, row_is_open = false;
  for (std::size_t j = 0; j < keys; ++j) {
    const double* k = row.key(j);
    double score = 0;  // stands for any finite score
    bool finite = !negative_root;
    for (std::size_t t = 0; t < width; ++t)
      finite = finite && std::isfinite(row.query[t]) && std::isfinite(k[t]);
    if (!finite) {
      double product = 0;
      for (std::size_t t = 0; t < width; ++t) product += row.query[t] * k[t];
      score = negative_root ? std::numeric_limits<double>::quiet_NaN()
                            : product * (rule.scale.by_width ? 1.0 : rule.scale.given);
      if (std::isfinite(score))
        score = std::numeric_limits<double>::quiet_NaN();  // 0·∞ beside a finite sum
    }
    result.scaled[j] = Special::of(score);
    result.capped[j] = result.scaled[j];
    double added = row.bias[j];
    if (rule.softcap != 0 && std::isinf(score)) {
      // tanh(±∞) = ±1: a key of score 0 to which the cap is added
      added += std::copysign(rule.softcap, score);
      std::fill_n(result.keys.begin() + static_cast<std::ptrdiff_t>(j * width), width, 0.0);
      result.capped[j] = {};
      result.capped[j].anything = true;  // ±softcap, which is no special number
      score = 0;
    }
    const double biased = score + added;
    result.biased[j] = Special::of(biased);
    const bool masked = row.bias[j] == -infinity;
    if (!masked) empty = false;
    if (masked && !finite && rule.masked_non_finite == MaskedNonFinite::unspecified) {
      row_is_open = true;
      continue;
    }
    if (std::isnan(biased) || biased == infinity) row_is_nan = true;
    if (biased != -infinity) all_hidden = false;
    result.bias[j] = std::isfinite(biased) ? added : -infinity;
  }

  Special whole;  // what the whole row is, if no number
  if (empty) {
    whole.nan = rule.empty_row == EmptyRow::nan;
    whole.zero = rule.empty_row == EmptyRow::zero;
    whole.anything = rule.empty_row == EmptyRow::unspecified ||
                     (rule.empty_row == EmptyRow::mean && keys == 0);  // the mean of nothing
  } else if (row_is_open) {
    whole.anything = true;
  } else if (row_is_nan) {
    whole.nan = true;
  } else if (all_hidden) {
    whole.nan = true;  // ∞ − ∞ in the function body; zero where the weights are guarded, as ONNX's
                       // reference does
    whole.zero = true;
  }
  if (empty && rule.empty_row == EmptyRow::mean) {
    result.query.assign(width, 0);
    result.bias.assign(keys, 0);
    result.finite.query = result.query.data();
    result.finite.bias = result.bias.data();
  }
  for (std::size_t j = 0; j < keys; ++j) {
    result.weights[j] = whole;
    if (!whole.any() && result.bias[j] == -infinity) result.weights[j].zero = true;
  }
  for (std::size_t t = 0; t < columns; ++t) {
    Special& output = result.outputs[t];
    output = whole;
    if (whole.any() && !whole.zero) continue;
    // Σ p v with a value that is no number: 0·∞ is NaN, and so is ∞ − ∞
    bool nan = false, plus = false, minus = false, open = false;
    for (std::size_t j = 0; j < keys; ++j) {
      const double v = row.value(j)[t];
      if (std::isfinite(v)) continue;
      const bool masked = row.bias[j] == -infinity;
      if (masked && rule.masked_non_finite == MaskedNonFinite::unspecified)
        open = true;
      else if (std::isnan(v) || result.bias[j] == -infinity || whole.zero)
        nan = true;
      else {
        (v > 0 ? plus : minus) = true;
        result.infinite_values.push_back(j);
      }
    }
    if (open) {
      output = {};
      output.anything = true;
    } else if (nan || (plus && minus)) {
      output = {};
      output.nan = true;
    } else if (plus || minus) {
      // NaN is right too if the weight underflows to 0; the verdict rules that out where it cannot
      output = {};
      output.nan = true;
      (plus ? output.plus_infinity : output.minus_infinity) = true;
    }
  }
  return result;
}

}  // namespace attest::oracle
