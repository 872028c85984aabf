// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Verdict, output by output and reading by reading.
#pragma once
#include <attest/oracle/judge_gradients.hpp>
#include <attest/oracle/judge_rows.hpp>
#include <attest/oracle/other_readings.hpp>
#include <attest/oracle/scale_estimate.hpp>
#include <attest/oracle/verdict.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace attest::oracle {
namespace detail {

// A copied array: past followed by new, bit for bit, any NaN being as good as another.
inline OutputReport judge_copy(const Claim& claim, const Tensor* past, const Tensor& current) {
  OutputReport report;
  report.name = claim.name;
  report.shape = claim.got.shape;
  const std::size_t past_rows = past ? past->shape[2] : 0;
  const bool same_type = claim.got.type == current.type;
  Element element;
  auto& [b, h, j, t] = element.index;
  for (b = 0; b < report.shape[0]; ++b)
    for (h = 0; h < report.shape[1]; ++h)
      for (j = 0; j < report.shape[2]; ++j)
        for (t = 0; t < report.shape[3]; ++t) {
          const double given =
              j < past_rows ? past->number(b, h, j, t) : current.number(b, h, j - past_rows, t);
          element.got = claim.got.number(b, h, j, t);
          element.expected = Special::of(given);
          element.exact = enclosure(std::isfinite(given) ? given : 0, 0);
          const bool same =
              std::isnan(given)
                  ? std::isnan(element.got)
                  : given == element.got && std::signbit(given) == std::signbit(element.got);
          element.verdict = same && same_type ? Verdict::pass : Verdict::fail;
          report.count(element);
        }
  return report;
}

}  // namespace detail

ATTEST_ORACLE_INLINE Report judge_by_rule(const Problem& problem, const Precision& claim,
                                          const JudgeOptions& options) {
  Report report;
  report.claim = claim;
  report.not_judged = problem.not_judged;
  if (problem.output || problem.scores) detail::judge_rows(problem, claim, options, report);
  detail::judge_log_sum_exp_and_gradients(problem, claim, options.threads, report.outputs);
  if (problem.present_key)
    report.outputs.push_back(detail::judge_copy(
        *problem.present_key, problem.past_key ? &*problem.past_key : nullptr, problem.key));
  if (problem.present_value)
    report.outputs.push_back(detail::judge_copy(*problem.present_value,
                                                problem.past_value ? &*problem.past_value : nullptr,
                                                problem.value));
  for (OutputReport& output : report.outputs) {
    if (output.elements != 0 && output.unspecified == output.elements)
      output.verdict = Verdict::no_certificate;  // nothing judged, nothing certified
    report.verdict = std::max(report.verdict, output.verdict);
  }
  return report;
}

ATTEST_ORACLE_INLINE Report judge(const Problem& problem, const Precision& claim,
                                  const JudgeOptions& options) {
  Report best = judge_by_rule(problem, claim, options);
  const auto judge_also = [&](const std::string& reading, const Problem& as, const Precision& by) {
    if (best.verdict == Verdict::pass) return;
    Report report = judge_by_rule(as, by, options);
    report.reading = reading;
    if (report.verdict < best.verdict) best = std::move(report);
  };
  Precision asked = claim;
  const bool coarser_softmax =
      problem.softmax_format && problem.softmax_format->precision < claim.softmax.precision;
  if (coarser_softmax) {
    asked.softmax = *problem.softmax_format;
    judge_also("softmax in " + std::string(asked.softmax.name), problem, asked);
  }
  for (const AlternativeRule& alternative : problem.alternatives) {
    Problem other = problem;
    other.rule = alternative.rule;
    judge_also(alternative.reading, other, claim);
    if (coarser_softmax) judge_also(alternative.reading, other, asked);
  }
  return best;
}

ATTEST_ORACLE_INLINE Report judge(const Call& call, const JudgeOptions& options) {
  const Problem problem = read_problem(call);
  const Precision claim = claimed_precision(call, problem);
  Report report = judge(problem, claim, options);
  report.other_readings = other_readings(call, problem, claim, report, options);
  if (report.other_readings.empty())
    report.scale_estimate = estimate_scale(problem, claim, report, options);
  return report;
}

}  // namespace attest::oracle
