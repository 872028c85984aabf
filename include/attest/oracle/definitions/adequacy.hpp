// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Adequacy: each fault tried on the input, and why some do not show.
#pragma once
#include <attest/oracle/adequacy.hpp>
#include <attest/oracle/diagnosis/evidence.hpp>
#include <attest/oracle/diagnosis/finding.hpp>
#include <attest/oracle/diagnosis/whole.hpp>
#include <attest/oracle/fault.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace attest::oracle {

namespace detail {

// What makes inputs blind, found by looking at them.
struct InputFacts {
  double largest_score = 0;       // before a softcap and a bias
  double largest_difference = 0;  // between visible scores of one row
  bool hides = false;             // some key is hidden from some query
  bool mask_hides = false;
  bool equal_lengths = false;
  bool empty_rows = false;
  std::size_t seen_keys = 0;  // none is seen from there on

  InputFacts(Evidence& evidence) {
    const Problem& p = evidence.problem();
    equal_lengths = p.queries() == p.given_keys();
    RowEvaluator rows(evidence.right(), evidence.claim(), RowEvaluator::Rounds::nothing,
                      evidence.shared());
    for (const EvidenceRow& row : evidence.rows) {
      rows.compute_scores(row.at);
      double least = HUGE_VAL, most = -HUGE_VAL;
      bool any = false;
      for (std::size_t j = 0; j < p.given_keys(); ++j) {
        if (rows.row.hidden[j]) {
          hides = true;
          continue;
        }
        any = true;
        seen_keys = std::max(seen_keys, j + 1);
        least = std::min(least, rows.row.scores[j]);
        most = std::max(most, rows.row.scores[j]);
        largest_score = std::max(largest_score, std::fabs(rows.scaled[j]));
      }
      if (any && std::isfinite(most - least))
        largest_difference = std::max(largest_difference, most - least);
      empty_rows = empty_rows || !any;
      if (p.mask)
        for (std::size_t j = 0; j < p.given_keys() && !mask_hides; ++j) {
          if (j >= p.mask->shape[3]) {
            mask_hides = true;
            continue;
          }
          const auto [b, h, i] = std::tuple(row.at.batch, row.at.head, row.at.row);
          mask_hides = p.mask->type == ElementType::boolean
                           ? !p.mask->integer_at(p.mask->at(b, h, i, j))
                           : p.mask->number(b, h, i, j) != 0;
        }
    }
  }
};

inline std::string two_digits(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", x);
  return text;
}

// In words a person can act on.
inline std::string why_blind(const Problem& p, const InputFacts& facts, const FaultCase& one,
                             double moved, std::size_t looked_at, std::size_t all_rows) {
  const Fault& fault = *one.fault;
  const auto family = fault.family;
  const bool of_mask = fault.name.find("mask") != std::string_view::npos;
  if (family == FaultFamily::mask && p.mask && of_mask && !facts.mask_hides)
    return p.mask->type == ElementType::boolean ? "the mask is true everywhere: it hides nothing"
                                                : "the mask is zero everywhere: it changes nothing";
  if (fault.name.find("rows without keys") != std::string_view::npos && !facts.empty_rows)
    return "every row sees some key";
  if (family == FaultFamily::mask && !facts.hides) return "no key is hidden from any query";
  if (family == FaultFamily::causality && facts.equal_lengths &&
      (fault.name.find("aligned") != std::string_view::npos ||
       fault.name.find("offset of") != std::string_view::npos))
    return "there are as many queries as keys: both alignments are one";
  if ((family == FaultFamily::causality || family == FaultFamily::window) && !facts.hides)
    return "no key is hidden from any query";
  if (family == FaultFamily::window &&
      static_cast<long>(p.given_keys()) <= std::max(p.rule.window_left, p.rule.window_right))
    return "the window is as wide as all keys";
  if (family == FaultFamily::softcap && p.rule.softcap != 0)
    return "scores reach " + two_digits(facts.largest_score) + ", the softcap is " +
           two_digits(p.rule.softcap) + ": it bends them too little";
  if (fault.name == "another softcap")
    return "scores reach " + two_digits(facts.largest_score) + " only";
  if (family == FaultFamily::sinks)
    return "the sinks weigh too little beside the scores, or are alike in all heads";
  if (fault.name == "values accumulated before the division")
    return "values are far from the largest number of the format";
  if ((family == FaultFamily::softmax || family == FaultFamily::mask) &&
      (fault.name.find("maximum") != std::string_view::npos ||
       fault.name.find("finite") != std::string_view::npos ||
       fault.name.find("underflow") != std::string_view::npos ||
       fault.name.find("fixed") != std::string_view::npos))
    return "scores reach " + two_digits(facts.largest_score) + ": the exponentials stay in range";
  if (fault.name.find("overflows") != std::string_view::npos) return "q·k stays below 65504";
  if (facts.seen_keys < p.given_keys() &&
      (fault.name.starts_with("last ") || fault.name.starts_with("tail of keys")))
    return "no query sees a key from " + std::to_string(facts.seen_keys) + " on";
  if (family == FaultFamily::tiles && one.setting >= static_cast<double>(facts.seen_keys))
    return "all keys that are seen lie in one tile of " + two_digits(one.setting);
  if (fault.name == "given scale ignored") return "the given scale is 1/√D";
  if (fault.name.starts_with("NaN of a hidden key")) return "nothing hidden is NaN or infinite";
  if (facts.largest_difference == 0 &&
      (family == FaultFamily::scale || family == FaultFamily::softmax ||
       family == FaultFamily::tiles))
    return "all scores of a row are alike";
  if (p.width() == 1 && family == FaultFamily::scale) return "the width is 1: its root is too";
  if (moved == 0)
    return looked_at == all_rows ? "on this input it changes nothing"
                                 : "it changes nothing in the rows looked at";
  return "it moves no output by more than " + two_digits(moved) + " of what is allowed";
}

}  // namespace detail

ATTEST_ORACLE_INLINE Adequacy adequacy(const Problem& problem, const Precision& claim,
                                       const Report& report, const AdequacyOptions& options) {
  detail::Evidence evidence(problem, claim, report, options.work / 64);
  std::optional<detail::WholeEvidence> whole;
  if (detail::WholeEvidence::work(evidence) * 64 <= options.work) whole.emplace(evidence);
  if (whole && !whole->any()) whole.reset();
  const detail::InputFacts facts(evidence);

  Adequacy result;
  result.rows = evidence.rows.size();
  result.all_rows = evidence.all_rows();
  // how far each number is from the right one, in units of what is allowed
  const auto moved = [&](const detail::ExpectedRow& right, const detail::ExpectedRow& wrong) {
    double most = 0;
    for (std::size_t n = 0; n < right.values.size(); ++n) {
      const double a = right.values[n], b = wrong.values[n];
      if (!(right.allowed[n] < HUGE_VAL)) continue;
      if (!std::isfinite(a) || !std::isfinite(b)) {
        const bool same = a == b || (std::isnan(a) && std::isnan(b));
        if (!same) return HUGE_VAL;
        continue;
      }
      const double allowed =
          options.tolerance
              ? options.tolerance->absolute + options.tolerance->relative * std::fabs(a)
              : right.allowed[n] + std::min(wrong.allowed[n], right.allowed[n]);
      const double off = std::fabs(a - b);
      most = std::max(most, off == 0 ? 0 : off / allowed);
    }
    return most;
  };
  // What is left of the work is for the cases that are left: each is tried on rows spread over
  // those of the evidence. The last comes first: where rows see different keys it sees many.
  std::size_t cases_left = 0;
  for (const Fault& fault : faults())
    cases_left += std::min<std::size_t>(cases_of(fault, problem).size(), 2);
  const auto rows_for_one = [&] {
    constexpr double fewest = 3;
    const double each =
        std::max(0.0, options.work - evidence.spent) / static_cast<double>(cases_left);
    return static_cast<std::size_t>(std::min(static_cast<double>(evidence.rows.size()),
                                             std::max(fewest, each / evidence.row_work())));
  };
  const auto row_of = [&](std::size_t n, std::size_t count) -> const detail::EvidenceRow& {
    const std::size_t last = evidence.rows.size() - 1;
    return evidence.rows[last - (count < 2 ? 0 : n * last / (count - 1))];
  };
  for (const Fault& fault : faults()) {
    const std::vector<FaultCase> cases = cases_of(fault, problem);
    if (cases.empty()) continue;
    // a fault with numbers counts once: shown if each of the first few is, blind by the least
    const std::size_t tried = std::min<std::size_t>(cases.size(), 2);
    std::optional<BlindSpot> blind;
    std::size_t looked_at = 0;
    for (std::size_t n = 0; n < tried && !blind; ++n) {
      const detail::Hypothesis hypothesis{{cases[n]}, {}};
      const Implementation by = evidence.implement(hypothesis);
      RowEvaluator rows(by, claim, evidence.rounds_of(by), evidence.shared());
      detail::ExpectedRow wrong;
      double most = 0;
      looked_at = rows_for_one();
      for (std::size_t r = 0; r < looked_at; ++r) {
        const detail::EvidenceRow& row = row_of(r, looked_at);
        evidence.spent += evidence.row_work();
        rows.compute(row.at);
        wrong.take(problem, rows);
        most = std::max(most, moved(row.right, wrong));
        if (most > 1) break;
      }
      if (!(most > 1) && whole)
        most = std::max(most, moved(whole->right(), whole->expected(hypothesis)));
      if (!(most > 1)) blind = BlindSpot{cases[n], most, {}};
    }
    cases_left -= tried;
    ++result.applicable;
    if (!blind) {
      ++result.shown;
      continue;
    }
    blind->why = detail::why_blind(problem, facts, blind->fault, blind->moved, looked_at,
                                   evidence.all_rows());
    blind->needs_extremes = evidence.implement({{blind->fault}, {}}).in_claimed_formats;
    result.blind.push_back(std::move(*blind));
  }
  return result;
}

}  // namespace attest::oracle
