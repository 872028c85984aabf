// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// RowJudge: the verdict on each element of one query row.
//
// A row is enclosed in double first; where that does not decide about each of its elements, in
// double-double, and at last in Wide. A subject of double's own precision is as exact as an
// enclosure in double: it begins with the second.
#pragma once
#include <attest/oracle/double_double.hpp>
#include <attest/oracle/likely_tolerance.hpp>
#include <attest/oracle/problem.hpp>
#include <attest/oracle/replay.hpp>
#include <attest/oracle/report.hpp>
#include <attest/oracle/score_tolerance.hpp>
#include <attest/oracle/special_row.hpp>
#include <attest/oracle/tolerance.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace attest::oracle {
namespace detail {

enum class Decision { within, beyond, open };

// Whether `got`, a number of `format`, is within `allowed` of the exact value.
inline Decision decide(double got, const Enclosure& exact, double allowed,
                       const NumberFormat& format) {
  if (!(allowed < std::numeric_limits<double>::infinity())) return Decision::open;
  // What rounds to ∞: the largest number and half a unit more. An 8-bit format may saturate
  // instead; one without infinity has NaN in its place (OCP 8-bit floating point 1.0, section 5.2).
  const double threshold = format.largest + std::ldexp(1.0, format.max_exponent - format.precision);
  const bool eight_bits = format.precision <= 4;
  if (std::isinf(got) || (std::isnan(got) && !format.has_infinity) ||
      (eight_bits && std::fabs(got) == format.largest)) {
    const double towards = std::isnan(got) ? std::fabs(exact.high)
                           : got > 0       ? exact.high
                                           : -exact.high;
    if (towards - exact.radius + allowed >= threshold) return Decision::within;
    if (!std::isfinite(got))
      return towards + exact.radius + allowed < threshold ? Decision::beyond : Decision::open;
  }
  if (std::isnan(got)) return Decision::beyond;
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

// Judges query rows over the keys and values of one head, one row at a time.
class RowJudge {
 public:
  // `head`: its query and bias are not looked at.
  RowJudge(const Problem& problem, const Precision& claim, const RowData& head)
      : problem_(problem),
        claim_(claim),
        reach_(likely_reach(problem.output ? problem.output->got.size() : 1)),
        head_arithmetic_(problem.rule, claim, head),
        head_is_finite_(all_finite(head.keys, head.key_count * head.width) &&
                        all_finite(head.values, head.key_count * head.value_width)) {}

  // Results of the last row judged, in order of column and key.
  std::vector<Element> outputs, scores;
  bool double_decided = false, wide = false;  // the first and the last tier

  // `got_outputs`, `got_scores`: d_v and T numbers, or null where the subject returned none.
  void judge(const RowData& row, const double* got_outputs, const double* got_scores) {
    const Rule& rule = problem_.rule;
    const bool negative_root =
        rule.scale_by_square_roots && !rule.scale.by_width && rule.scale.given < 0;
    double_decided = wide = false;
    if (negative_root || !head_is_finite_ || is_special(row)) {
      const SpecialRow special = separate(rule, row, negative_root);
      if (head_is_finite_) {  // its keys are the head's
        judge_in_tiers({special.finite, &special, head_arithmetic_, got_outputs, got_scores});
      } else {
        const ScoreArithmetic arithmetic(rule, claim_, special.finite);
        judge_in_tiers({special.finite, &special, arithmetic, got_outputs, got_scores});
      }
    } else {
      judge_in_tiers({row, nullptr, head_arithmetic_, got_outputs, got_scores});
    }
  }

 private:
  // A row to be judged: its finite part, what is special about it, and what was got.
  struct Task {
    const RowData& row;
    const SpecialRow* special;
    const ScoreArithmetic& arithmetic;
    const double* got_outputs;
    const double* got_scores;
  };
  // What one tier of arithmetic finds out about it.
  template <class Real>
  struct Findings {
    RowEnclosure<Real> exact;
    ScoreTolerance score_tolerance;
    RowTolerance tolerance;
    Replay replay;
  };

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

  void judge_in_tiers(const Task& task) {
    const auto& outer = task.got_outputs ? problem_.output : problem_.scores;
    const bool coarser = outer->got.format()->precision < formats::float64.precision;
    double_decided = coarser && judge_in<double>(task);
    if (double_decided || judge_in<DoubleDouble>(task)) return;
    wide = true;
    judge_in<Wide>(task);
  }

  // Returns whether a wider arithmetic could decide no more.
  template <class Real>
  bool judge_in(const Task& task) {
    Findings<Real> found;
    enclose_scores(problem_.rule, task.row, task.got_scores != nullptr, found.exact);
    task.arithmetic.tolerate(task.row, found.exact, found.score_tolerance);
    enclose_outputs(task.row, found.exact);
    if (found.exact.bounded) {
      tolerate_outputs(claim_, task.row, found.exact, found.score_tolerance.biased,
                       found.tolerance);
      if (!task.special && !found.score_tolerance.may_overflow)
        found.replay = replay_outputs(claim_, task.row, found.exact, found.score_tolerance.biased,
                                      found.tolerance);
      if (found.replay.known)  // which decides, whatever is likely
        found.tolerance.likely.assign(task.row.value_width,
                                      std::numeric_limits<double>::infinity());
      else
        tolerate_likely(claim_, task.row, found.exact, found.score_tolerance, reach_,
                        found.tolerance);
    }
    bool decided = true;
    if (task.got_scores) decided = judge_scores(task, found);
    if (task.got_outputs) decided = judge_outputs(task, found) && decided;
    return decided;
  }

  // A score output: where no number is expected, and otherwise what is exact and what may be lost.
  struct Expected {
    Special special;
    Enclosure exact;
    double error = 0;
    const char* open = nullptr;  // why nothing can be proved, if so
  };
  template <class Real>
  Expected expected_score(const Task& task, const Findings<Real>& found, std::size_t j) const {
    const ScoreEnclosure<Real>& score = found.exact.scores[j];
    const ScoreTolerance& tolerance = found.score_tolerance;
    const bool masked = !task.special && !task.row.visible(j);
    Expected expected;
    switch (problem_.score_stage) {
      case ScoreStage::scaled:
        if (task.special) expected.special = task.special->scaled[j];
        expected.exact = enclosure(score.scaled, score.scaled_radius);
        expected.error = tolerance.scaled[j];
        break;
      case ScoreStage::capped:
        if (task.special) expected.special = task.special->capped[j];
        expected.exact = enclosure(score.capped, score.capped_radius);
        expected.error = tolerance.capped[j];
        break;
      case ScoreStage::biased:
        if (task.special) expected.special = task.special->biased[j];
        if (masked) expected.special.minus_infinity = true;
        expected.exact = enclosure(score.biased, score.biased_radius);
        expected.error = tolerance.biased[j];
        break;
      case ScoreStage::weights:
        if (task.special) expected.special = task.special->weights[j];
        if (masked) expected.special.zero = true;
        if (expected.special.any()) break;
        if (!found.exact.bounded) {
          expected.open = not_enclosed;
          break;
        }
        const double p = found.exact.weights[j];
        expected.exact = enclosure(p, found.exact.weight_radius[j]);
        expected.error = found.tolerance.weights[j];
        // a tolerance that lets in every weight from 0 to 1 proves nothing
        if (tolerance.may_overflow)
          expected.open = out_of_range;
        else if (expected.error >= p && expected.error >= 1 - p)
          expected.open = scores_decide_nothing;
        break;
    }
    if (tolerance.overflows[j] && !std::isfinite(task.got_scores[j])) expected.open = out_of_range;
    return expected;
  }

  template <class Real>
  bool judge_scores(const Task& task, const Findings<Real>& found) {
    const NumberFormat& format = *problem_.scores->got.format();
    scores.assign(task.row.key_count, {});
    bool all_decided = true;
    for (std::size_t j = 0; j < task.row.key_count; ++j) {
      Element& element = scores[j];
      const double got = element.got = task.got_scores[j];
      const Expected expected = expected_score(task, found, j);
      element.expected = expected.special;
      if (expected.special.any()) {
        element.verdict = expected.special.accepts(got) ? Verdict::pass : Verdict::fail;
        continue;
      }
      element.exact = expected.exact;
      element.allowed = expected.error + format.half_ulp(std::fabs(expected.exact.high) +
                                                         expected.exact.radius + expected.error);
      const Decision decision = expected.open == not_enclosed
                                    ? Decision::open
                                    : decide(got, expected.exact, element.allowed, format);
      element.verdict = verdict_of(decision);
      if (decision == Decision::open) {
        element.open = not_enclosed;
        element.enclosed = expected.open != not_enclosed;
        all_decided = false;
      }
      // ∞ or NaN for a score beyond its format's range is right where it rounds to that
      if (expected.open && expected.open != not_enclosed &&
          (decision == Decision::within
               ? expected.open != out_of_range || problem_.score_stage == ScoreStage::weights
               : expected.open == out_of_range)) {
        element.verdict = Verdict::no_certificate;
        element.open = expected.open;
      }
    }
    return all_decided;
  }

  template <class Real>
  bool judge_outputs(const Task& task, const Findings<Real>& found) {
    const NumberFormat& format = *problem_.output->got.format();
    const RowTolerance& tolerance = found.tolerance;
    const bool may_overflow = found.score_tolerance.may_overflow;
    // infinite values all have weights that no arithmetic of the claim takes for 0
    const bool infinities_count =
        task.special && found.exact.bounded && !task.special->infinite_values.empty() &&
        std::all_of(
            task.special->infinite_values.begin(), task.special->infinite_values.end(),
            [&](std::size_t j) { return found.exact.weights[j] - tolerance.weights[j] > 0; });
    outputs.assign(task.row.value_width, {});
    bool all_decided = true, held_may_decide = false;
    for (std::size_t t = 0; t < task.row.value_width; ++t) {
      Element& element = outputs[t];
      const double got = element.got = task.got_outputs[t];
      if (task.special && task.special->outputs[t].any()) {
        element.expected = task.special->outputs[t];
        if (infinities_count && (element.expected.plus_infinity || element.expected.minus_infinity))
          element.expected.nan = false;
        element.verdict = element.expected.accepts(got) ? Verdict::pass : Verdict::fail;
        continue;
      }
      element.verdict = Verdict::no_certificate;
      if (!found.exact.bounded) {
        element.open = not_enclosed;
        element.enclosed = false;
        all_decided = false;
        continue;
      }
      element.exact = found.exact.outputs[t];
      element.lowest = tolerance.lowest[t];
      element.highest = tolerance.highest[t];
      element.allowed = allowed(tolerance.outputs[t], element.exact, format);
      const Decision direct = decide(got, element.exact, element.allowed, format);
      const Decision folded = decide(
          got, element.exact, allowed(tolerance.folded_outputs[t], element.exact, format), format);
      const auto outside = [&](double lowest, double highest) {
        return beyond(got, lowest, highest, tolerance.beyond_hull[t], format);
      };
      element.likely = allowed(tolerance.likely[t], element.exact, format);
      const Decision likely = decide(got, element.exact, element.likely, format);
      const bool decidable = !tolerance.vacuous[t] && !may_overflow;
      if (decidable && direct == Decision::within && likely != Decision::beyond) {
        element.verdict = Verdict::pass;
        // nearer to the bound than the exact value is known
        if (likely == Decision::open && std::isfinite(element.likely)) all_decided = false;
      } else if (may_overflow
                     // then 0 may be right as well, for a guarded row, and ∞ or NaN
                     ? std::isfinite(got) &&
                           outside(std::min(0.0, element.lowest), std::max(0.0, element.highest))
                     : folded == Decision::beyond || outside(element.lowest, element.highest)) {
        element.verdict = Verdict::fail;
        element.beyond_hull = std::isfinite(got) && outside(element.lowest, element.highest);
      } else if (may_overflow) {
        element.open = out_of_range;
      } else if (likely == Decision::beyond) {
        element.verdict = Verdict::suspect;
      } else if (!std::isfinite(element.allowed)) {
        element.open = bound_is_void;
      } else if (tolerance.vacuous[t]) {
        element.open = scores_decide_nothing;
      } else if (direct == Decision::beyond && folded == Decision::within) {
        element.open = depends_on_exponent;
      } else {
        element.open = not_enclosed;
        all_decided = false;
      }
      held_may_decide = held_may_decide || !decidable;
    }
    if (held_may_decide) all_decided = judge_held(task, found) && all_decided;
    return found.replay.known ? judge_replayed(task, found.replay) : all_decided;
  }

  // The verdict where the claim says how weights are rounded. Returns whether a wider arithmetic
  // could decide no more.
  bool judge_replayed(const Task& task, const Replay& replay) {
    const NumberFormat& format = *problem_.output->got.format();
    bool decided = true;
    for (std::size_t t = 0; t < task.row.value_width; ++t) {
      Element& element = outputs[t];
      if (element.beyond_hull) continue;
      element.exact = replay.outputs[t];
      element.allowed = allowed(replay.tolerance[t], element.exact, format);
      element.likely = std::numeric_limits<double>::infinity();
      element.reading = "weights rounded again as claimed";
      element.open.clear();
      const Decision decision = decide(element.got, element.exact, element.allowed, format);
      element.verdict = verdict_of(decision);
      if (decision != Decision::open) continue;
      element.open = not_enclosed;
      decided = false;
    }
    return decided;
  }

  // Whether `got` is certainly no blend of values from lowest to highest, whatever their weights;
  // `sums`: what the roundings of sums may carry a blend beyond them.
  bool beyond(double got, double lowest, double highest, double sums,
              const NumberFormat& format) const {
    const auto slack = [&](double end) {
      return sums + output_rounding(claim_, format, std::fabs(end) + sums);
    };
    return got < lowest - slack(lowest) || got > highest + slack(highest);
  }

  // Second reading of the outputs that rounded or overflowing scores leave open: the definition
  // evaluated in numbers of the claimed format. What is right by it passes.
  template <class Real>
  bool judge_held(const Task& task, const Findings<Real>& found) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const NumberFormat& format = *problem_.output->got.format();
    const RowData& row = task.row;
    std::vector<double> held, error;
    task.arithmetic.hold(row, found.exact, found.score_tolerance, held, error);

    Special whole;
    bool all_hidden = true, foreseen = true;
    for (std::size_t j = 0; j < row.key_count; ++j) {
      if (!row.visible(j)) continue;
      if (!(held[j] < infinity) && error[j] == 0) whole.nan = true;  // ∞ − ∞
      if (!(held[j] == -infinity && error[j] == 0)) all_hidden = false;
      if (!(error[j] < infinity)) foreseen = false;
    }
    if (all_hidden) whole.nan = whole.zero = true;  // as in special.hpp
    if (!foreseen && !whole.any()) return true;

    RowEnclosure<Real> reading;
    RowTolerance allowance;
    std::vector<double> bias(row.key_count, -infinity);
    RowData finite = row;
    finite.bias = bias.data();
    if (!whole.any()) {
      reading.scores.resize(row.key_count);
      for (std::size_t j = 0; j < row.key_count; ++j) {
        if (!row.visible(j) || held[j] == -infinity) continue;
        bias[j] = 0;
        reading.scores[j].biased = Real(held[j]);
      }
      enclose_outputs(finite, reading);
      if (!reading.bounded) return false;
      tolerate_outputs(claim_, finite, reading, error, allowance);
    }

    bool all_decided = true;
    for (std::size_t t = 0; t < row.value_width; ++t) {
      Element& element = outputs[t];
      if (element.expected.any() || element.verdict == Verdict::pass) continue;
      if (!found.score_tolerance.may_overflow && !found.tolerance.vacuous[t]) continue;
      Element second = element;
      second.reading = "scores rounded to " + std::string(claim_.scores.name);
      second.beyond_hull = false;
      second.likely = std::numeric_limits<double>::infinity();
      second.open.clear();
      second.verdict = Verdict::pass;
      if (whole.any()) {
        second.expected = whole;
        if (whole.accepts(element.got)) element = second;
        continue;
      }
      second.exact = reading.outputs[t];
      second.allowed = allowed(allowance.outputs[t], second.exact, format);
      const Decision decision = decide(element.got, second.exact, second.allowed, format);
      if (decision == Decision::open && std::isfinite(second.allowed)) all_decided = false;
      if (decision == Decision::within && !allowance.vacuous[t]) element = second;
    }
    return all_decided;
  }

  double allowed(double internal, const Enclosure& exact, const NumberFormat& format) const {
    return internal +
           output_rounding(claim_, format, std::fabs(exact.high) + exact.radius + internal);
  }

  // Why there is no certificate.
  static constexpr const char* not_enclosed = "the exact value is not enclosed narrowly enough";
  static constexpr const char* scores_decide_nothing =
      "at this precision the scores decide nothing";
  static constexpr const char* out_of_range = "a score may leave the range of its format";
  static constexpr const char* bound_is_void = "this arithmetic has no bound over so many keys";
  static constexpr const char* depends_on_exponent =
      "right only if scale or sum are folded into the exponent, which rounds larger numbers";

  const Problem& problem_;
  const Precision& claim_;
  double reach_;  // of independent roundings
  ScoreArithmetic head_arithmetic_;
  bool head_is_finite_;
};

}  // namespace detail
}  // namespace attest::oracle
