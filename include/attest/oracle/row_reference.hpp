// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// RowReference: the correctly rounded results of one query row, each with what certifies it: by
// intervals of double where they suffice, by rounded_number.hpp where not.
#pragma once
#include <attest/oracle/enclosure.hpp>
#include <attest/oracle/problem.hpp>
#include <attest/oracle/rounded_number.hpp>
#include <attest/oracle/special_row.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace attest::oracle {
namespace detail {

// Computes query rows over the keys and values of one head, one row at a time.
class RowReference {
 public:
  // `output`, `score`: their formats, or null where they are not wanted.
  RowReference(const Problem& problem, const NumberFormat* output, const NumberFormat* score)
      : problem_(problem), output_format_(output), score_format_(score) {}

  // Results of the last row, in order of column and key.
  std::vector<ReferenceElement> outputs, scores;

  void compute(const RowData& row) {
    const Rule& rule = problem_.rule;
    const bool negative_root =
        rule.scale_by_square_roots && !rule.scale.by_width && rule.scale.given < 0;
    outputs.assign(output_format_ ? row.value_width : 0, {});
    scores.assign(score_format_ ? row.key_count : 0, {});
    if (!negative_root && is_ordinary(row)) return compute_finite(row, nullptr);
    const SpecialRow special = separate(rule, row, negative_root);
    compute_finite(special.finite, &special);
  }

 private:
  static bool finite(const double* x, std::size_t count) {
    return std::all_of(x, x + count, [](double value) { return std::isfinite(value); });
  }
  // Some key is visible, and everything is finite but the bias of masked keys.
  static bool is_ordinary(const RowData& row) {
    bool any_visible = false;
    for (std::size_t j = 0; j < row.key_count; ++j) {
      if (row.visible(j) && !std::isfinite(row.bias[j])) return false;
      any_visible = any_visible || row.visible(j);
    }
    return any_visible && finite(row.query, row.width) &&
           finite(row.keys, row.key_count * row.width) &&
           finite(row.values, row.key_count * row.value_width);
  }

  static void settle_special(const Special& special, const NumberFormat& format,
                             ReferenceElement& element) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    element.special = special;
    element.certificate = special.anything ? Certificate::not_certified : Certificate::special;
    // Where more than one is accepted: an infinity, since no weight is exactly 0; the zero of
    // guarded weights.
    if (special.plus_infinity || special.minus_infinity)
      element.value = !format.has_infinity ? nan : special.plus_infinity ? infinity : -infinity;
    else
      element.value = special.zero ? 0 : nan;
  }

  Special special_score(const RowData& row, const SpecialRow* special, std::size_t j) const {
    const ScoreStage stage = problem_.score_stage;
    Special result;
    if (special) {
      const auto& stages = stage == ScoreStage::scaled   ? special->scaled
                           : stage == ScoreStage::capped ? special->capped
                           : stage == ScoreStage::biased ? special->biased
                                                         : special->weights;
      result = stages[j];
      // a cap bounds an infinite score; special.hpp does not work it out
      const bool infinite = special->scaled[j].plus_infinity || special->scaled[j].minus_infinity;
      if (infinite && problem_.rule.softcap != 0 && stage != ScoreStage::scaled) {
        result = {};
        result.anything = true;
      }
    } else if (!row.visible(j)) {
      result.minus_infinity = stage == ScoreStage::biased;
      result.zero = stage == ScoreStage::weights;
    }
    return result;
  }

  void compute_finite(const RowData& row, const SpecialRow* special) {
    std::vector<std::size_t> columns, keys;  // not settled yet
    for (std::size_t t = 0; t < outputs.size(); ++t) {
      if (special && special->outputs[t].any())
        settle_special(special->outputs[t], *output_format_, outputs[t]);
      else
        columns.push_back(t);
    }
    for (std::size_t j = 0; j < scores.size(); ++j) {
      const Special result = special_score(row, special, j);
      if (result.any())
        settle_special(result, *score_format_, scores[j]);
      else
        keys.push_back(j);
    }
    in_double(row, columns, keys);
    if (columns.empty() && keys.empty()) return;

    const ScoreStage stage = problem_.score_stage;
    const bool of_masked_keys = stage == ScoreStage::scaled || stage == ScoreStage::capped;
    RowArithmetics arithmetics(problem_.rule, row, of_masked_keys && !keys.empty());
    for (const std::size_t t : columns)
      MeanQuestion::of_column(t, *output_format_).answer(arithmetics, outputs[t]);
    for (const std::size_t j : keys) {
      if (stage == ScoreStage::weights)
        MeanQuestion::of_weight(j, *score_format_).answer(arithmetics, scores[j]);
      else
        ScoreQuestion(stage, j, *score_format_).answer(arithmetics, scores[j]);
    }
  }

  // Settles what double can; no interval of double is as narrow as double's own last place.
  void in_double(const RowData& row, std::vector<std::size_t>& columns,
                 std::vector<std::size_t>& keys) {
    const auto narrower = [](const NumberFormat* format) {
      return format && format->precision < formats::float64.precision;
    };
    const bool try_columns = !columns.empty() && narrower(output_format_);
    const bool try_keys = !keys.empty() && narrower(score_format_);
    if (!try_columns && !try_keys) return;
    const ScoreStage stage = problem_.score_stage;
    RowEnclosure<double> enclosed;
    enclose_scores(problem_.rule, row, try_keys, enclosed);
    const bool means = try_columns || stage == ScoreStage::weights;
    if (means) enclose_outputs(row, enclosed);
    if (try_columns && enclosed.bounded)
      drop_settled(columns, [&](std::size_t t) {
        const Enclosure& exact = enclosed.outputs[t];
        return settle(exact.high, exact.radius, *output_format_, outputs[t]);
      });
    if (!try_keys || (stage == ScoreStage::weights && !enclosed.bounded)) return;
    drop_settled(keys, [&](std::size_t j) {
      const ScoreEnclosure<double>& score = enclosed.scores[j];
      ReferenceElement& element = scores[j];
      switch (stage) {
        case ScoreStage::scaled:
          return settle(score.scaled, score.scaled_radius, *score_format_, element);
        case ScoreStage::capped:
          return settle(score.capped, score.capped_radius, *score_format_, element);
        case ScoreStage::biased:
          return settle(score.biased, score.biased_radius, *score_format_, element);
        default:
          return settle(enclosed.weights[j], enclosed.weight_radius[j], *score_format_, element);
      }
    });
  }

  template <class Settle>
  static void drop_settled(std::vector<std::size_t>& open, Settle settle) {
    open.erase(std::remove_if(open.begin(), open.end(), settle), open.end());
  }

  static bool settle(double centre, double radius, const NumberFormat& format,
                     ReferenceElement& element) {
    if (!std::isfinite(centre) || !std::isfinite(radius)) return false;
    const double low = std::nextafter(centre - radius, -HUGE_VAL);
    const double high = std::nextafter(centre + radius, HUGE_VAL);
    const double value = format.round(low);
    if (!same_number(value, format.round(high))) return false;
    // a NaN stands for overflow, which must be on one side
    if (std::isnan(value) && (low < 0) != (high < 0)) return false;
    element.value = value;
    element.width = std::nextafter(high - low, HUGE_VAL);
    element.certificate = Certificate::bits_53;
    return true;
  }

  const Problem& problem_;
  const NumberFormat* output_format_;
  const NumberFormat* score_format_;
};

}  // namespace detail
}  // namespace attest::oracle
