// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// RowJudge: the verdict on each element of one query row.
//
// A row is enclosed in double first. Where that does not decide about each of its elements it is
// enclosed again in Wide.
#pragma once
#include <attest/oracle/problem.hpp>
#include <attest/oracle/report.hpp>
#include <attest/oracle/special.hpp>
#include <attest/oracle/tolerance.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace attest::oracle {
namespace detail {

enum class Decision { within, beyond, open };

// Whether `got`, a number of `format`, is within `allowed` of the exact value.
inline Decision decide(double got, const Enclosure& exact, double allowed,
                       const NumberFormat& format) {
  if (std::isnan(got)) return Decision::beyond;
  if (std::isinf(got)) {
    // what rounds to ∞: the largest number and half a unit more
    const double threshold =
        format.largest + std::ldexp(1.0, format.max_exponent - format.precision);
    const double towards = got > 0 ? exact.high : -exact.high;
    if (towards - exact.radius + allowed >= threshold) return Decision::within;
    return towards + exact.radius + allowed < threshold ? Decision::beyond : Decision::open;
  }
  if (exact.farthest(got) <= allowed) return Decision::within;
  return exact.nearest(got) > allowed ? Decision::beyond : Decision::open;
}

inline bool all_finite(const double* x, std::size_t count) {
  double sum = 0;  // 0·x is NaN exactly where x is not finite
  for (std::size_t i = 0; i < count; ++i) sum += 0 * x[i];
  return sum == 0;
}

constexpr Verdict verdict_of(Decision decision) {
  return decision == Decision::within   ? Verdict::pass
         : decision == Decision::beyond ? Verdict::fail
                                        : Verdict::no_certificate;
}

// Judges one query row: its outputs and, if the subject returned them, its scores.
class RowJudge {
 public:
  RowJudge(const Problem& problem, const Precision& claim) : problem_(problem), claim_(claim) {}

  // Results of the last row judged, in order of column and key.
  std::vector<Element> outputs, scores;
  bool wide = false;

  // `head_is_finite`: no key or value of the row's head is a NaN or an infinity.
  // `got_outputs`, `got_scores`: d_v and T numbers, or null where the subject returned none.
  void judge(const RowData& row, bool head_is_finite, const double* got_outputs,
             const double* got_scores) {
    const Rule& rule = problem_.rule;
    const bool negative_root =
        rule.scale_by_square_roots && !rule.scale.by_width && rule.scale.given < 0;
    std::optional<SpecialRow> special;
    if (negative_root || !head_is_finite || is_special(row))
      special = separate(rule, row, negative_root);
    const RowData& finite = special ? special->finite : row;
    wide = false;
    if (!judge_in<double>(finite, special, got_outputs, got_scores)) {
      wide = true;
      judge_in<Wide>(finite, special, got_outputs, got_scores);
    }
  }

 private:
  // Whether the row itself needs more than the ordinary path: something in it is not finite, or no
  // key is visible.
  static bool is_special(const RowData& row) {
    bool any_visible = false, finite = true;
    for (std::size_t j = 0; j < row.key_count; ++j) {
      any_visible = any_visible || row.visible(j);
      finite = finite && (std::isfinite(row.bias[j]) || !row.visible(j));
    }
    return !any_visible || !finite || !all_finite(row.query, row.width);
  }

  // Returns whether every element was decided.
  template <class Real>
  bool judge_in(const RowData& row, const std::optional<SpecialRow>& special,
                const double* got_outputs, const double* got_scores) {
    RowEnclosure<Real> exact;
    RowTolerance tolerance;
    enclose_scores(problem_.rule, row, got_scores != nullptr, exact);
    tolerate_scores(problem_.rule, claim_, row, exact, tolerance);
    enclose_outputs(row, exact);
    if (exact.bounded) tolerate_outputs(claim_, row, exact, tolerance);
    bool decided = true;
    if (got_scores) decided = judge_scores(row, special, exact, tolerance, got_scores);
    if (got_outputs)
      decided = judge_outputs(row, special, exact, tolerance, got_outputs) && decided;
    return decided;
  }

  template <class Real>
  bool judge_scores(const RowData& row, const std::optional<SpecialRow>& special,
                    const RowEnclosure<Real>& exact, const RowTolerance& tolerance,
                    const double* got) {
    const NumberFormat& format = *problem_.scores->got.format();
    scores.assign(row.key_count, {});
    bool all_decided = true;
    for (std::size_t j = 0; j < row.key_count; ++j) {
      Element& element = scores[j];
      element.got = got[j];
      const ScoreEnclosure<Real>& score = exact.scores[j];
      double error = 0;
      bool bounded = true;
      switch (problem_.score_stage) {
        case ScoreStage::scaled:
          element.exact = enclosure(score.scaled, score.scaled_radius);
          error = tolerance.scaled[j];
          if (special) element.expected = special->scaled[j];
          break;
        case ScoreStage::capped:
          element.exact = enclosure(score.capped, score.capped_radius);
          error = tolerance.capped[j];
          if (special) element.expected = special->capped[j];
          break;
        case ScoreStage::biased:
          element.exact = enclosure(score.biased, score.biased_radius);
          error = tolerance.biased[j];
          if (special) element.expected = special->biased[j];
          if (!special && !row.visible(j)) element.expected.minus_infinity = true;
          break;
        case ScoreStage::weights:
          bounded = exact.bounded;
          if (special) element.expected = special->weights[j];
          if (!special && !row.visible(j)) element.expected.zero = true;
          if (bounded && !element.expected.any()) {
            element.exact = enclosure(exact.weights[j], exact.weight_radius[j]);
            error = tolerance.weights[j];
            // a tolerance that lets in every weight from 0 to 1 proves nothing
            const double p = exact.weights[j];
            bounded = !tolerance.may_overflow && !(error >= p && error >= 1 - p);
          }
          break;
      }
      if (element.expected.any()) {
        element.verdict = element.expected.accepts(got[j]) ? Verdict::pass : Verdict::fail;
        continue;
      }
      if (!bounded) {
        element.verdict = Verdict::no_certificate;
        all_decided = all_decided && exact.bounded;
        continue;
      }
      element.allowed =
          error + format.half_ulp(std::fabs(element.exact.high) + element.exact.radius + error);
      const Decision decision = decide(got[j], element.exact, element.allowed, format);
      element.verdict = verdict_of(decision);
      all_decided = all_decided && decision != Decision::open;
    }
    return all_decided;
  }

  template <class Real>
  bool judge_outputs(const RowData& row, const std::optional<SpecialRow>& special,
                     const RowEnclosure<Real>& exact, const RowTolerance& tolerance,
                     const double* got) {
    const NumberFormat& format = *problem_.output->got.format();
    outputs.assign(row.value_width, {});
    bool all_decided = true;
    bool scores_decide_nothing = false;
    // infinite values all have weights that no arithmetic of the claim takes for 0
    const bool infinities_count =
        special && exact.bounded && !special->infinite_values.empty() &&
        std::all_of(special->infinite_values.begin(), special->infinite_values.end(),
                    [&](std::size_t j) { return exact.weights[j] - tolerance.weights[j] > 0; });
    for (std::size_t t = 0; t < row.value_width; ++t) {
      Element& element = outputs[t];
      element.got = got[t];
      if (special && special->outputs[t].any()) {
        element.expected = special->outputs[t];
        if (infinities_count && (element.expected.plus_infinity || element.expected.minus_infinity))
          element.expected.nan = false;
        element.verdict = element.expected.accepts(got[t]) ? Verdict::pass : Verdict::fail;
        continue;
      }
      if (!exact.bounded) {
        element.verdict = Verdict::no_certificate;
        all_decided = false;
        continue;
      }
      element.exact = exact.outputs[t];
      element.allowed = allowed(tolerance.outputs[t], element.exact, format);
      element.lowest = tolerance.lowest[t];
      element.highest = tolerance.highest[t];
      const double slack = allowed(tolerance.beyond_hull[t], element.exact, format);
      const auto outside = [&](double lowest, double highest) {
        return got[t] < lowest - slack || got[t] > highest + slack;
      };
      Decision decision = decide(got[t], element.exact, element.allowed, format);
      if (tolerance.vacuous[t]) {
        // Any blend of the visible values may be right; where a score overflows so may 0, for a
        // guarded row, and a NaN.
        const bool not_a_number = tolerance.may_overflow && !std::isfinite(got[t]);
        const bool no_blend =
            tolerance.may_overflow
                ? outside(std::min(0.0, element.lowest), std::max(0.0, element.highest))
                : outside(element.lowest, element.highest) || std::isnan(got[t]);
        decision = no_blend && !not_a_number ? Decision::beyond : Decision::open;
        scores_decide_nothing = true;
      } else if (decision == Decision::open) {
        all_decided = false;
      }
      element.beyond_hull = decision == Decision::beyond && std::isfinite(got[t]) &&
                            outside(element.lowest, element.highest);
      element.verdict = verdict_of(decision);
    }
    if (scores_decide_nothing) all_decided = judge_held(row, exact, tolerance, got) && all_decided;
    return all_decided;
  }

  // Second reading of the elements the scores of which are rounded away at the claimed precision:
  // the definition evaluated in numbers of the claimed format. What is right by it passes.
  template <class Real>
  bool judge_held(const RowData& row, const RowEnclosure<Real>& exact,
                  const RowTolerance& tolerance, const double* got) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const NumberFormat& format = *problem_.output->got.format();
    std::vector<double> held, error;
    hold_scores(problem_.rule, claim_, row, exact, tolerance, held, error);

    Special whole;
    bool all_hidden = true;
    for (std::size_t j = 0; j < row.key_count; ++j) {
      if (!row.visible(j)) continue;
      if (!(held[j] < infinity) && error[j] == 0) whole.nan = true;  // ∞ − ∞
      if (!(held[j] == -infinity && error[j] == 0)) all_hidden = false;
    }
    if (all_hidden) whole.nan = whole.zero = true;  // as in special.hpp

    RowEnclosure<Real> reading;
    RowTolerance allowance;
    std::vector<double> bias(row.key_count, -infinity);
    RowData finite = row;
    finite.bias = bias.data();
    if (!whole.any()) {
      reading.scores.resize(row.key_count);
      allowance.biased = error;
      for (std::size_t j = 0; j < row.key_count; ++j) {
        if (!row.visible(j) || held[j] == -infinity) continue;
        bias[j] = 0;
        reading.scores[j].biased = Real(held[j]);
        if (!(error[j] < infinity)) allowance.may_overflow = true;
      }
      enclose_outputs(finite, reading);
      if (reading.bounded) tolerate_outputs(claim_, finite, reading, allowance);
    }

    bool all_decided = true;
    for (std::size_t t = 0; t < row.value_width; ++t) {
      Element& element = outputs[t];
      if (!tolerance.vacuous[t] || element.expected.any()) continue;
      Element second = element;
      second.reading = "scores rounded to " + std::string(claim_.scores.name);
      if (whole.any()) {
        second.expected = whole;
        second.verdict = whole.accepts(got[t]) ? Verdict::pass : Verdict::fail;
      } else if (!reading.bounded) {
        all_decided = false;
        continue;
      } else {
        second.exact = reading.outputs[t];
        second.allowed = allowed(allowance.outputs[t], second.exact, format);
        const Decision decision = decide(got[t], second.exact, second.allowed, format);
        if (decision == Decision::open) all_decided = false;
        second.verdict = allowance.vacuous[t] ? Verdict::no_certificate : verdict_of(decision);
      }
      if (second.verdict == Verdict::pass) element = second;
    }
    return all_decided;
  }

  double allowed(double internal, const Enclosure& exact, const NumberFormat& format) const {
    return internal +
           output_rounding(claim_, format, std::fabs(exact.high) + exact.radius + internal);
  }

  const Problem& problem_;
  const Precision& claim_;
};

}  // namespace detail
}  // namespace attest::oracle
