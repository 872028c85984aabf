// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The verdict on each log-sum-exp.
#pragma once
#include <attest/oracle/log_sum_exp.hpp>
#include <attest/oracle/parallel.hpp>
#include <attest/oracle/report.hpp>
#include <attest/oracle/row_judge.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace attest::oracle::detail {

// What the log-sum-exp of a row is where it is no number: of a row without keys what the dialect
// says; with an infinite score ∞, or NaN from ∞ − ∞.
inline Special special_log_sum_exp(const Problem& problem, const RowData& row,
                                   const SpecialRow& special) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Special result;
  bool empty = true, hidden = true, nan = false, plus = false, open = false;
  for (std::size_t j = 0; j < row.key_count; ++j) {
    const bool masked = row.bias[j] == -infinity;
    const Special& score = special.biased[j];
    empty = empty && masked;
    hidden = hidden && (masked || score.minus_infinity);
    if (masked && score.nan && problem.rule.masked_non_finite == MaskedNonFinite::unspecified)
      open = true;
    else
      nan = nan || score.nan;
    plus = plus || score.plus_infinity;
  }
  if (empty) {
    result.minus_infinity = problem.empty_log_sum_exp != EmptyLogSumExp::plus_infinity;
    result.plus_infinity = !result.minus_infinity;
    result.anything = problem.empty_log_sum_exp == EmptyLogSumExp::unspecified;
  } else if (open) {
    result.anything = true;
  } else if (nan || plus) {
    result.nan = true;
    result.plus_infinity = !nan;
  } else if (hidden) {
    result.minus_infinity = result.nan = true;
  }
  return result;
}

// Judges the rows of one head.
class LogSumExpJudge {
 public:
  LogSumExpJudge(const Problem& problem, const Precision& claim, const RowData& head)
      : problem_(problem), claim_(claim), arithmetic_(problem.rule, claim, head) {}

  Element judge(const RowData& row, double got) {
    const Rule& rule = problem_.rule;
    element_ = {};
    element_.got = got;
    bool ordinary = all_finite(row.query, row.width), any_visible = false;
    for (std::size_t j = 0; j < row.key_count; ++j) {
      any_visible = any_visible || row.visible(j);
      ordinary = ordinary && (!row.visible(j) || std::isfinite(row.bias[j])) &&
                 all_finite(row.key(j), row.width);
    }
    const bool negative_root =
        rule.scale_by_square_roots && !rule.scale.by_width && rule.scale.given < 0;
    if (ordinary && any_visible && !negative_root) {
      in_tiers(row, arithmetic_);
      return element_;
    }
    const SpecialRow special = separate(rule, row, negative_root);
    element_.expected = special_log_sum_exp(problem_, row, special);
    if (element_.expected.any()) {
      bool right = element_.expected.accepts(got);
      // a large negative number in the place of −∞, as a finite mask gives
      if (!any_visible && problem_.empty_log_sum_exp == EmptyLogSumExp::large_negative)
        right = right || got <= problem_.large_negative.value_or(
                                    -0.5 * problem_.log_sum_exp->got.format()->largest);
      element_.verdict = right ? Verdict::pass : Verdict::fail;
      return element_;
    }
    in_tiers(special.finite, ScoreArithmetic(rule, claim_, special.finite));
    return element_;
  }

 private:
  void in_tiers(const RowData& row, const ScoreArithmetic& arithmetic) {
    const bool coarser = problem_.log_sum_exp->got.format()->precision < formats::float64.precision;
    if (coarser && judge_in<double>(row, arithmetic)) return;
    if (!judge_in<DoubleDouble>(row, arithmetic)) judge_in<Wide>(row, arithmetic);
  }

  // Returns whether a wider arithmetic could decide no more.
  template <class Real>
  bool judge_in(const RowData& row, const ScoreArithmetic& arithmetic) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const NumberFormat& format = *problem_.log_sum_exp->got.format();
    RowEnclosure<Real> exact;
    ScoreTolerance scores;
    enclose_scores(problem_.rule, row, false, exact);
    arithmetic.tolerate(row, exact, scores);
    const Exponentials<Real> exponentials = enclose_exponentials(row, exact.scores);
    EnclosedNumber<Real> result = enclose_log_sum_exp(exponentials);
    element_.verdict = Verdict::no_certificate;
    element_.enclosed = result.radius < infinity;
    if (!element_.enclosed) {
      element_.open = "the exact value is not enclosed narrowly enough";
      return false;
    }
    exact.below_maximum.assign(row.key_count, infinity);
    for (std::size_t j = 0; j < row.key_count; ++j)
      if (row.visible(j))
        exact.below_maximum[j] =
            static_cast<double>(Real(exponentials.maximum - exact.scores[j].biased));
    double error =
        tolerate_log_sum_exp(claim_, row, exact, scores.biased, static_cast<double>(result.value));
    if (problem_.rule.log_sum_exp_base == LogBase::two) {
      result = in_base_two(result);
      error *= log2_e * (1 + 0x1p-20);
    }
    element_.exact = enclosure(result.value, result.radius);
    element_.allowed =
        error + output_rounding(claim_, format,
                                std::fabs(element_.exact.high) + element_.exact.radius + error);
    const Decision decision = decide(element_.got, element_.exact, element_.allowed, format);
    element_.verdict = verdict_of(decision);
    if (scores.may_overflow) {
      element_.open = "a score may leave the range of its format";
      element_.verdict = Verdict::no_certificate;
      return true;
    }
    if (!(element_.allowed < infinity)) {
      element_.open = "this arithmetic has no bound over so many keys";
      return true;
    }
    if (decision == Decision::open)
      element_.open = "the exact value is not enclosed narrowly enough";
    return decision != Decision::open;
  }

  const Problem& problem_;
  const Precision& claim_;
  ScoreArithmetic arithmetic_;
  Element element_;
};

// One head of keys, its query heads and rows. Memory: the keys of the head.
inline OutputReport judge_log_sum_exp(const Problem& problem, const Precision& claim, std::size_t b,
                                      std::size_t g) {
  const std::size_t keys = problem.keys(), width = problem.width();
  std::vector<double> query(width), key(keys * width), bias(keys);
  for (std::size_t j = 0; j < keys; ++j) problem.read_key(b, g, j, key.data() + j * width);
  const RowData row{query.data(), key.data(), nullptr, bias.data(), width, 0, keys};
  LogSumExpJudge judge(problem, claim, row);
  OutputReport report;
  for (std::size_t h = 0; h < problem.query_heads(); ++h) {
    if (problem.key_value_head_of(h) != g) continue;
    for (std::size_t i = 0; i < problem.queries(); ++i) {
      Element element;
      const double got = problem.log_sum_exp->got.number(b, h, i, 0);
      if (problem.padded(b, i)) {
        if (problem.padded_row == PaddedRow::absent) continue;
        element.got = got;
        element.expected.anything = true;
      } else {
        problem.query.read_row(b, h, i, query.data());
        for (std::size_t j = 0; j < keys; ++j) bias[j] = problem.bias(b, h, i, j);
        element = judge.judge(row, got);
      }
      element.index = {b, h, i, 0};
      report.count(element);
    }
  }
  return report;
}

inline OutputReport judge_log_sum_exp(const Problem& problem, const Precision& claim,
                                      std::size_t threads) {
  const std::size_t heads = problem.key_value_heads(), count = problem.batches() * heads;
  std::vector<OutputReport> found(count);
  in_parallel(threads, count, [&](std::size_t, std::size_t n) {
    found[n] = judge_log_sum_exp(problem, claim, n / heads, n % heads);
  });
  OutputReport report;
  report.name = problem.log_sum_exp->name;
  report.shape = problem.log_sum_exp->got.shape;
  for (const OutputReport& of_head : found) report.add(of_head);
  return report;
}

}  // namespace attest::oracle::detail
