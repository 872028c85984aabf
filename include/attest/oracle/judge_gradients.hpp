// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The gradients of a call judged, over several threads, and its log-sum-exp. Heads that double does
// not decide are computed again in double-double, and at last in Wide.
#pragma once
#include <attest/oracle/gradient_judge.hpp>
#include <attest/oracle/log_sum_exp_judge.hpp>
#include <attest/oracle/parallel.hpp>
#include <attest/oracle/report.hpp>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace attest::oracle::detail {

// Judges heads first to last in one arithmetic; returns whether a wider one could decide no more.
template <class Real>
bool judge_gradients_of(const Problem& problem, const Precision& claim, std::size_t first,
                        std::size_t last, bool shared, GradientReports& reports) {
  GradientJudge<Real> judge(problem, claim);
  const std::size_t heads = problem.key_value_heads();
  for (std::size_t n = first; n < last; ++n) judge.judge_head(n / heads, n % heads);
  if (shared) judge.judge_shared();
  reports = std::move(judge.reports);
  return judge.decided;
}

inline GradientReports judge_gradients_in_tiers(const Problem& problem, const Precision& claim,
                                                std::size_t first, std::size_t last, bool shared) {
  bool coarser = true;
  for (const auto* claimed :
       {&problem.d_query, &problem.d_key, &problem.d_value, &problem.d_sinks, &problem.d_bias})
    if (*claimed)
      coarser = coarser && (*claimed)->got.format()->precision < formats::float64.precision;
  GradientReports reports;
  if (coarser && judge_gradients_of<double>(problem, claim, first, last, shared, reports))
    return reports;
  if (!judge_gradients_of<DoubleDouble>(problem, claim, first, last, shared, reports))
    judge_gradients_of<Wide>(problem, claim, first, last, shared, reports);
  return reports;
}

// Adds the gradients' reports.
inline void judge_gradients(const Problem& problem, const Precision& claim, std::size_t threads,
                            std::vector<OutputReport>& outputs) {
  const std::size_t heads = problem.batches() * problem.key_value_heads();
  GradientReports all;
  if (problem.d_sinks || problem.d_bias) {  // sums over all heads
    all = judge_gradients_in_tiers(problem, claim, 0, heads, true);
  } else {
    std::vector<GradientReports> found(heads);
    in_parallel(threads, heads, [&](std::size_t, std::size_t n) {
      found[n] = judge_gradients_in_tiers(problem, claim, n, n + 1, false);
    });
    for (const GradientReports& of_head : found) all.add(of_head);
  }
  const auto put = [&](const std::optional<Claim>& claimed, OutputReport& report) {
    if (!claimed) return;
    report.name = claimed->name;
    report.shape = claimed->got.shape;
    outputs.push_back(std::move(report));
  };
  put(problem.d_query, all.query);
  put(problem.d_key, all.key);
  put(problem.d_value, all.value);
  put(problem.d_sinks, all.sinks);
  put(problem.d_bias, all.bias);
}

// Adds the reports of the log-sum-exp and of the gradients, as far as the call has them.
inline void judge_log_sum_exp_and_gradients(const Problem& problem, const Precision& claim,
                                            std::size_t threads,
                                            std::vector<OutputReport>& outputs) {
  if (problem.log_sum_exp) outputs.push_back(judge_log_sum_exp(problem, claim, threads));
  if (problem.has_gradients()) judge_gradients(problem, claim, threads, outputs);
}

}  // namespace attest::oracle::detail
