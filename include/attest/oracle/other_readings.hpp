// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Other readings: where an output fails by its own dialect, the dialects by whose conventions it is
// right, and what they take differently.
//
// The same arrays are judged again by each convention that differs, and by all of a dialect's
// together. First only the row of the worst element; the whole call where that passes, and then a
// few times at most.
#pragma once
#include <attest/oracle/dialect.hpp>
#include <attest/oracle/judge_gradients.hpp>
#include <attest/oracle/judge_rows.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attest::oracle {
namespace detail {

// One convention changed: what is different in words, and the change.
struct Difference {
  std::string words;
  std::function<void(Problem&)> apply;
};

inline std::vector<long> offsets_of(const Problem& problem, Alignment alignment) {
  std::vector<long> offsets(problem.batches(), 0);
  for (std::size_t b = 0; b < offsets.size(); ++b) {
    if (alignment == Alignment::bottom_right)
      offsets[b] =
          static_cast<long>(problem.lengths[b]) - static_cast<long>(problem.query_length(b));
    else if (alignment == Alignment::after_past)
      offsets[b] = static_cast<long>(problem.past_lengths.empty() ? problem.past()
                                                                  : problem.past_lengths[b]);
  }
  return offsets;
}

// What the other dialect would take differently in this call.
inline std::vector<Difference> differences(const Problem& problem, const Conventions& own,
                                           const Conventions& other, bool scale_given) {
  std::vector<Difference> found;
  const Rule& rule = problem.rule;
  const bool windowed = rule.window_left >= 0 || rule.window_right >= 0;
  if ((rule.causal || windowed) && other.alignment && own.alignment != other.alignment) {
    // without a past these are one
    const Alignment alignment = *other.alignment == Alignment::after_past && problem.past() == 0
                                    ? Alignment::top_left
                                    : *other.alignment;
    std::vector<long> offsets = offsets_of(problem, alignment);
    if (offsets != problem.offsets)
      found.push_back({std::string(in_words(alignment)),
                       [offsets](Problem& changed) { changed.offsets = offsets; }});
  }
  if (other.empty_row != rule.empty_row && problem.sinks.empty())
    found.push_back({std::string(in_words(other.empty_row)),
                     [to = other.empty_row](Problem& changed) { changed.rule.empty_row = to; }});
  if (rule.window_left >= 0 && own.window && other.window && own.window != other.window) {
    const long change = *other.window == WindowCount::beside_own ? 1 : -1;
    if (rule.window_left + change >= 0)
      found.push_back({std::string(in_words(*other.window)),
                       [change](Problem& changed) { changed.rule.window_left += change; }});
  }
  if (!scale_given && own.default_scale != other.default_scale)
    found.push_back(
        {other.default_scale == 0 ? "without a scale it is 1/√D" : "without a scale it is 1",
         [to = other.default_scale](Problem& changed) {
           changed.rule.scale = to == 0 ? Scale::one_over_root_width() : Scale::of(to);
         }});
  if (rule.causal && problem.mask && other.causal_ignores_mask && !own.causal_ignores_mask)
    found.push_back({"a causal call ignores its mask", [](Problem& changed) {
                       changed.mask.reset();
                       changed.mask_slopes.clear();
                     }});
  return found;
}

// A row that fails, to try a reading on.
struct FailingRow {
  std::size_t batch, query_head, row;
};

// None where a copied key or value failed too: no convention mends that. A log-sum-exp or gradient
// that failed says no more than the output does which convention was followed.
inline std::optional<FailingRow> failing_row(const Report& report) {
  std::optional<FailingRow> place;
  for (const OutputReport& output : report.outputs) {
    if (output.verdict != Verdict::fail) continue;
    if (output.name == "present_key" || output.name == "present_value") return std::nullopt;
    if (!output.worst || (output.name != "out" && output.name != "qk_matmul_output")) continue;
    place = FailingRow{output.worst->index[0], output.worst->index[1], output.worst->index[2]};
  }
  return place;
}

inline bool row_passes(const Problem& problem, const Precision& claim, const FailingRow& place) {
  HeadArrays arrays(problem, place.batch, problem.key_value_head_of(place.query_head), false);
  const RangeFindings found = RangeJudge(problem, claim, best_kernels(), false)
                                  .judge({&arrays, place.query_head, place.row, 1});
  return found.output.verdict == Verdict::pass && found.scores.verdict == Verdict::pass;
}

// Whether the other reading passes all that the call's own judged. An element that the other says
// nothing about, as of a mean of no values, is not right by it.
inline bool all_right(const std::vector<OutputReport>& by_other, const Report& by_own) {
  return std::all_of(by_other.begin(), by_other.end(), [&](const OutputReport& output) {
    const auto own = std::find_if(by_own.outputs.begin(), by_own.outputs.end(),
                                  [&](const OutputReport& one) { return one.name == output.name; });
    return output.verdict == Verdict::pass && own != by_own.outputs.end() &&
           output.unspecified <= own->unspecified;
  });
}

// Some differences, the dialects that differ by just these, and those that differ by more.
struct Candidate {
  std::vector<std::string> dialects, as_in;
  std::vector<Difference> differences;

  std::string words() const {
    std::string text;
    for (const Difference& difference : differences)
      text += (text.empty() ? "" : "; ") + difference.words;
    return text;
  }
  // Whether this says what `other` says and more.
  bool includes(const Candidate& other) const {
    return std::all_of(
        other.differences.begin(), other.differences.end(), [&](const Difference& one) {
          return std::any_of(differences.begin(), differences.end(),
                             [&](const Difference& mine) { return mine.words == one.words; });
        });
  }
};

// Fewer differences first.
inline std::vector<Candidate> other_candidates(const Call& call, const Problem& problem) {
  const Dialect* dialect = find_dialect(call.dialect);
  const Conventions own =
      dialect && dialect->conventions
          ? *dialect->conventions
          : Conventions{.alignment = Alignment::top_left, .window = WindowCount::beside_own};
  const bool scale_given = call.attributes.count("scale") || call.attributes.count("attn_scale") ||
                           call.attributes.count("softmax_scale") ||
                           call.attributes.count("sm_scale") || call.attributes.count("scaling");
  std::vector<Candidate> candidates;
  const auto add = [&](const Dialect& of, std::vector<Difference> some, bool all) {
    Candidate candidate{{}, {}, std::move(some)};
    const std::string words = candidate.words();
    auto known = std::find_if(candidates.begin(), candidates.end(),
                              [&](const Candidate& one) { return one.words() == words; });
    if (known == candidates.end()) {
      candidates.push_back(std::move(candidate));
      known = candidates.end() - 1;
    }
    (all ? known->dialects : known->as_in).emplace_back(of.name);
  };
  for (const Dialect& other : dialects()) {
    if (!other.conventions || other.name == call.dialect) continue;
    const std::vector<Difference> all = differences(problem, own, *other.conventions, scale_given);
    for (const Difference& one : all) add(other, {one}, all.size() == 1);
    if (all.size() > 1) add(other, all, true);
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    const std::size_t x = a.differences.size(), y = b.differences.size();
    return x != y ? x < y : a.words() < b.words();
  });
  return candidates;
}

}  // namespace detail

// Under which other dialects' conventions a failed output is right.
inline std::vector<OtherReading> other_readings(const Call& call, const Problem& problem,
                                                const Precision& claim, const Report& failed,
                                                const JudgeOptions& options = {}) {
  constexpr std::size_t most_judged = 4;
  std::vector<OtherReading> result;
  const std::optional<detail::FailingRow> place = detail::failing_row(failed);
  if (failed.verdict != Verdict::fail || !place) return result;
  JudgeOptions whether_it_passes = options;
  whether_it_passes.only_whether_it_passes = true;
  std::vector<detail::Candidate> right;
  std::size_t judged = 0;
  for (detail::Candidate& candidate : detail::other_candidates(call, problem)) {
    const bool says_no_more =
        std::any_of(right.begin(), right.end(),
                    [&](const detail::Candidate& one) { return candidate.includes(one); });
    if (says_no_more || judged == most_judged) continue;
    Problem changed = problem;
    changed.alternatives.clear();
    for (const detail::Difference& difference : candidate.differences) difference.apply(changed);
    if (!detail::row_passes(changed, claim, *place)) continue;
    ++judged;
    Report report;
    detail::judge_rows(changed, claim, whether_it_passes, report);
    if (!detail::all_right(report.outputs, failed)) continue;
    detail::judge_log_sum_exp_and_gradients(changed, claim, options.threads, report.outputs);
    if (!detail::all_right(report.outputs, failed)) continue;
    result.push_back({candidate.dialects, candidate.as_in, candidate.words()});
    right.push_back(std::move(candidate));
  }
  return result;
}

}  // namespace attest::oracle
