// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Diagnosis: fault after fault tried.
#pragma once
#include <attest/oracle/diagnosis.hpp>
#include <attest/oracle/diagnosis/evidence.hpp>
#include <attest/oracle/diagnosis/finding.hpp>
#include <attest/oracle/diagnosis/hints.hpp>
#include <attest/oracle/diagnosis/pattern.hpp>
#include <attest/oracle/diagnosis/whole.hpp>
#include <attest/oracle/fault.hpp>
#include <attest/oracle/scale_estimate.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attest::oracle {

namespace detail {

class Diagnostician {
 public:
  Diagnostician(const Problem& problem, const Precision& claim, const Report& report,
                const DiagnosisOptions& options)
      : options_(options), report_(report), evidence_(problem, claim, report, options.row_work) {
    for (const EvidenceRow& row : evidence_.rows)
      for (const char fits : row.fits_right) failing_ += !fits;
    if (WholeEvidence::work(evidence_) <= options.row_work) whole_.emplace(evidence_);
    if (whole_ && !whole_->any()) whole_.reset();
    extreme_ = evidence_.largest_score > 500;
  }

  Diagnosis run() {
    Diagnosis result;
    result.rows = evidence_.rows.size();
    result.all_rows = evidence_.all_rows();
    if (failing_ == 0 && (!whole_ || whole_->failing == 0)) {
      result.hints.push_back("what is off is too little to tell faults apart");
      return result;
    }
    for (const Fault& fault : faults())
      for (const FaultCase& one : cases_of(fault, evidence_.problem())) {
        if (!may_go_on(0.6)) break;
        try_alone(one);
      }
    if (everywhere_.empty() && confined_.empty()) try_overflow();
    if (everywhere_.empty() && confined_.empty()) try_fitted();
    if (everywhere_.empty() && confined_.empty()) try_backward();
    if (everywhere_.empty() && confined_.empty()) try_keys();
    if (everywhere_.empty() && confined_.empty()) try_pairs();
    if (everywhere_.empty() && confined_.empty()) try_as_inaccurate();
    result.findings = ranked(everywhere_.empty() ? confined_ : everywhere_);
    if (result.findings.empty()) result.hints = hints(evidence_);
    result.complete = complete_;
    return result;
  }

 private:
  bool may_go_on(double part) {
    if (evidence_.spent < part * options_.work) return true;
    complete_ = false;
    return false;
  }

  // Compares everything; nothing if a failing row is not explained. `outside`: rows that are right
  // and would not be with the fault.
  std::optional<Fit> compare_all(const Hypothesis& hypothesis, const Precision& claim,
                                 std::vector<RowIndex>* outside) {
    Evidence::Comparison comparison(evidence_, hypothesis, claim);
    Fit all;
    for (const EvidenceRow& row : evidence_.rows) {
      const Fit fit = comparison.of(row);
      if (fit.fits) {
        all.add(fit);
        continue;
      }
      if (row.fails || !outside) return std::nullopt;
      outside->push_back(row.at);
    }
    // a looser claim explains nothing by itself
    if (failing_ > 0 && 2 * all.explained < failing_ && !hypothesis.faults.empty())
      return std::nullopt;
    return all;
  }

  void keep(std::vector<Finding>& findings, Finding finding, const Fit& fit) {
    finding.closeness =
        fit.elements > 0 ? std::sqrt(fit.squares / static_cast<double>(fit.elements)) : 0;
    findings.push_back(std::move(finding));
  }

  // Whether outputs that rows do not show fit too; adds to `fit`.
  bool whole_fits(const Hypothesis& hypothesis, Fit& fit) {
    if (!whole_) return true;
    const Fit of_whole = whole_->of(hypothesis);
    if (!of_whole.fits || (whole_->failing > 0 && 2 * of_whole.explained < whole_->failing))
      return false;
    fit.add(of_whole);
    return true;
  }

  void try_alone(const FaultCase& one) {
    Hypothesis hypothesis{{one}, {}};
    std::vector<RowIndex> outside;
    std::optional<Fit> fit = compare_all(hypothesis, evidence_.claim(), &outside);
    if (!fit) return;
    Finding finding;
    finding.faults = hypothesis.faults;
    if (outside.empty()) {
      if (whole_fits(hypothesis, *fit))
        keep(everywhere_, finding, *fit);
      else
        forward_.push_back(hypothesis);
      return;
    }
    if (evidence_.failing == 0) return;
    std::vector<RowIndex> inside;
    for (std::size_t n = 0; n < evidence_.failing; ++n) inside.push_back(evidence_.rows[n].at);
    const std::optional<Place> place = simplest_place(evidence_.problem(), inside, outside);
    finding.irregular = !place;
    if (place) finding.place = hypothesis.place = *place;
    if (place && !whole_fits(hypothesis, *fit)) return;
    keep(confined_, finding, *fit);
  }

  // Sums of exponentials times values may leave the range in one order and not in another: all that
  // fails is not finite, and some order leads there.
  void try_overflow() {
    const Problem& problem = evidence_.problem();
    if (!problem.output || evidence_.failing == 0) return;
    const std::size_t columns = problem.value_width();
    const double largest = evidence_.claim().accumulate.largest * (1 - 0x1p-10);
    RowEvaluator right(evidence_.right(), evidence_.claim(), RowEvaluator::Rounds::nothing,
                       evidence_.shared());
    std::vector<double> sizes(columns), worst(columns);
    for (std::size_t n = 0; n < evidence_.failing; ++n) {
      const EvidenceRow& row = evidence_.rows[n];
      right.compute(row.at);
      std::fill(sizes.begin(), sizes.end(), 0.0);
      std::fill(worst.begin(), worst.end(), 0.0);
      double maximum = -std::numeric_limits<double>::infinity();
      for (std::size_t j = 0; j < right.row.size(); ++j) {
        if (right.row.hidden[j] || !right.row.values[j]) continue;
        const double before = maximum;
        maximum = std::max(maximum, right.row.scores[j]);
        for (std::size_t t = 0; t < columns; ++t) {
          sizes[t] = sizes[t] * (before == maximum ? 1 : std::exp(before - maximum)) +
                     std::exp(right.row.scores[j] - maximum) * std::fabs(right.row.values[j][t]);
          worst[t] = std::max(worst[t], sizes[t]);
        }
      }
      for (std::size_t t = 0; t < row.got.size(); ++t)
        if (!row.fits_right[t] && (t >= columns || std::isfinite(row.got[t]) || worst[t] < largest))
          return;
    }
    Finding finding;
    finding.faults = {{find_fault("values accumulated before the division"), 0}};
    everywhere_.push_back(finding);
  }

  // Numbers that are not among a fault's usual ones, estimated from the output.
  void try_fitted() {
    const Problem& problem = evidence_.problem();
    if (!problem.output || evidence_.failing == 0) return;
    double product = 0, squares = 0;
    for (std::size_t n = 0; n < evidence_.failing; ++n) {
      const EvidenceRow& row = evidence_.rows[n];
      for (std::size_t t = 0; t < problem.value_width(); ++t) {
        if (!std::isfinite(row.got[t]) || !std::isfinite(row.right.values[t])) continue;
        product += row.got[t] * row.right.values[t];
        squares += row.right.values[t] * row.right.values[t];
      }
    }
    if (squares > 0) try_alone({find_fault("output scaled"), product / squares});
    if (!everywhere_.empty() || !confined_.empty()) return;
    std::optional<double> scale;
    if (report_.scale_estimate)
      scale = report_.scale_estimate->scale;
    else if (evidence_.row_work() * static_cast<double>(evidence_.all_rows()) < options_.row_work)
      if (const auto fit = fit_scale(problem, evidence_.claim())) scale = fit->scale;
    if (scale) try_alone({find_fault("fixed scale"), *scale});
  }

  // A fault that gives all rows, and another of the backward pass.
  void try_backward() {
    for (const Hypothesis& forward : forward_)
      for (const Fault& fault : faults()) {
        if (fault.family != FaultFamily::gradient || forward.faults[0].fault == &fault) continue;
        for (const FaultCase& one : cases_of(fault, evidence_.problem())) {
          if (!may_go_on(0.75)) return;
          Hypothesis both = forward;
          both.faults.push_back(one);
          Fit fit;
          if (!whole_fits(both, fit)) continue;
          Finding finding;
          finding.faults = both.faults;
          keep(everywhere_, finding, fit);
        }
      }
  }

  static bool is_of_keys(FaultFamily family) {
    return family == FaultFamily::scale || family == FaultFamily::mask ||
           family == FaultFamily::causality || family == FaultFamily::window ||
           family == FaultFamily::heads || family == FaultFamily::softcap ||
           family == FaultFamily::positions || family == FaultFamily::cache ||
           family == FaultFamily::layout;
  }

  // Faults of some keys only: from a tile on, before it, or in it.
  void try_keys() {
    const std::size_t keys = evidence_.problem().given_keys();
    std::vector<Stretch> places;
    for (const std::size_t n : {64u, 128u, 32u, 16u, 8u, 256u, 512u, 1024u})
      for (std::size_t from = 0; from < keys && places.size() < 400; from += n) {
        if (from > 0) places.push_back(Stretch::from(from));
        if (from > 0) places.push_back(Stretch::below(from));
        if (from > 0 && from + n < keys)
          places.push_back({.first = from, .last = from + n, .period = 1, .remainder = 0});
      }
    for (const std::size_t n : {2u, 4u})
      for (std::size_t r = 0; r < n && 2 * n <= keys; ++r) places.push_back(Stretch::every(n, r));
    std::vector<Stretch> each_once;
    for (const Stretch& place : places)
      if (std::find(each_once.begin(), each_once.end(), place) == each_once.end())
        each_once.push_back(place);
    if (evidence_.failing == 0) return;
    for (const Fault& fault : faults()) {
      if (!is_of_keys(fault.family)) continue;
      std::size_t settings = 0;
      for (const FaultCase& one : cases_of(fault, evidence_.problem())) {
        if (++settings > 2) break;
        for (const Stretch& place : each_once) {
          if (!may_go_on(0.75)) return;
          Hypothesis hypothesis{{one}, {}};
          hypothesis.place.keys = place;
          std::optional<Fit> fit = compare_all(hypothesis, evidence_.claim(), nullptr);
          if (!fit || !whole_fits(hypothesis, *fit)) continue;
          Finding finding;
          finding.faults = hypothesis.faults;
          finding.place = hypothesis.place;
          keep(confined_, finding, *fit);
          break;  // the simplest place of each
        }
      }
    }
  }

  static bool may_be_one_of_two(const Fault& fault) {
    return fault.family != FaultFamily::rows && fault.family != FaultFamily::gradient &&
           fault.family != FaultFamily::log_sum_exp && fault.family != FaultFamily::arithmetic;
  }

  void try_pairs() {
    // few numbers are too easily given by some pair
    if (evidence_.failing == 0 || failing_ < 4) return;
    const EvidenceRow& first = evidence_.rows.front();
    std::vector<FaultCase> active;  // those that change the first failing row
    for (const Fault& fault : faults()) {
      if (!may_be_one_of_two(fault)) continue;
      std::size_t settings = 0;
      for (const FaultCase& one : cases_of(fault, evidence_.problem())) {
        if (++settings > 2) break;
        active.push_back(one);
      }
    }
    for (std::size_t a = 0; a < active.size(); ++a)
      for (std::size_t b = a + 1; b < active.size(); ++b) {
        if (active[a].fault == active[b].fault) continue;
        if (!may_go_on(0.95)) return;
        const Hypothesis hypothesis{{active[a], active[b]}, {}};
        if (!Evidence::Comparison(evidence_, hypothesis).of(first).fits) continue;
        std::optional<Fit> fit = compare_all(hypothesis, evidence_.claim(), nullptr);
        if (!fit || !whole_fits(hypothesis, *fit)) continue;
        Finding finding;
        finding.faults = hypothesis.faults;
        keep(everywhere_, finding, *fit);
      }
  }

  // Less accurate arithmetic than is claimed, the tightest that holds what was got.
  void try_as_inaccurate() {
    if (evidence_.failing == 0) return;
    double least_allowed = std::numeric_limits<double>::infinity();
    std::vector<std::pair<double, Finding>> found;
    for (const Fault& fault : faults()) {
      if (!fault.loosen) continue;
      for (const FaultCase& one : cases_of(fault, evidence_.problem())) {
        Precision claim = evidence_.claim();
        fault.loosen(claim, one.setting);
        const std::optional<Fit> fit = compare_all({}, claim, nullptr);
        if (!fit) continue;
        const double allowed = mean_allowed(claim);
        Finding finding;
        finding.faults = {one};
        finding.as_inaccurate = true;
        finding.closeness =
            fit->elements > 0 ? std::sqrt(fit->squares / static_cast<double>(fit->elements)) : 0;
        found.emplace_back(allowed, finding);
        least_allowed = std::min(least_allowed, allowed);
        break;
      }
    }
    found = ordered(std::move(found), [](const auto& one) { return one.first; });
    for (auto& [allowed, finding] : found)
      if (allowed <= 8 * least_allowed) everywhere_.push_back(std::move(finding));
  }
  double mean_allowed(const Precision& claim) {
    RowEvaluator rows(evidence_.right(), claim, evidence_.rounds_of(evidence_.right()),
                      evidence_.shared());
    rows.compute(evidence_.rows.front().at);
    double sum = 0;
    for (const double x : rows.allowed) sum += x;
    return sum;
  }

  // By how near they come, where that differs much; where scores are such as ordinary inputs do not
  // have, faults of range first, since any other would have been seen before; then in the order of
  // the catalogue. Numbers of one fault are put together.
  std::vector<Finding> ranked(std::vector<Finding> findings) const {
    double nearest = std::numeric_limits<double>::infinity();
    for (const Finding& one : findings) nearest = std::min(nearest, one.closeness);
    const auto rank = [&](const Finding& one) {
      int value = one.closeness > 8 * std::max(nearest, 0.02) ? 4 : 0;
      value += one.irregular ? 2 : 0;
      value += extreme_ && !evidence_.implement({one.faults, {}}).in_claimed_formats;
      // where masks are added by definition, they are added by subjects too
      const bool replaces =
          evidence_.problem().rule.masked_non_finite == MaskedNonFinite::propagate &&
          one.fault().name == "a finite number for −∞" && one.faults.front().setting < 0;
      return 2 * value + replaces;
    };
    findings = ordered(std::move(findings), rank);
    std::vector<Finding> result;
    for (Finding& one : findings) {
      const auto same = std::find_if(result.begin(), result.end(), [&](const Finding& other) {
        return one.faults.size() == 1 && other.faults.size() == 1 &&
               one.faults[0].fault == other.faults[0].fault && one.place == other.place;
      });
      if (same == result.end())
        result.push_back(std::move(one));
      else
        same->also.push_back(one.faults[0].setting);
    }
    return result;
  }

  DiagnosisOptions options_;
  const Report& report_;
  Evidence evidence_;
  std::optional<WholeEvidence> whole_;
  std::size_t failing_ = 0;  // elements
  bool extreme_ = false, complete_ = true;
  std::vector<Hypothesis> forward_;  // that give all rows, but not the gradients
  std::vector<Finding> everywhere_, confined_;
};

}  // namespace detail

ATTEST_ORACLE_INLINE Diagnosis diagnose(const Problem& problem, const Precision& claim,
                                        const Report& report, const DiagnosisOptions& options) {
  if (report.verdict == Verdict::suspect) {
    // Each number is within what the claimed arithmetic may lose: what fits a fault fits that too.
    Diagnosis suspect;
    suspect.of_suspect = true;
    suspect.hints = {
        "every number is one that the claimed arithmetic can return, so no fault is told from "
        "roundings that all go one way",
        "usually: sums in a coarser format than claimed, numbers cut off instead of rounded, or an "
        "exponential of fewer digits; claim what it does (--precision, attest precisions) and "
        "see whether that passes"};
    return suspect;
  }
  if (report.verdict != Verdict::fail) return {};
  Diagnosis first = detail::Diagnostician(problem, claim, report, options).run();
  if (!first.findings.empty()) return first;
  for (const AlternativeRule& alternative : problem.alternatives) {
    Problem other = problem;
    other.rule = alternative.rule;
    Diagnosis diagnosis = detail::Diagnostician(other, claim, report, options).run();
    if (diagnosis.findings.empty()) continue;
    diagnosis.reading = alternative.reading;
    return diagnosis;
  }
  return first;
}

}  // namespace attest::oracle
