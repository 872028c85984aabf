// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Coverage: which faults a call shows — everywhere, and in which of its rows where a fault is
// confined to a row.
//
// A row shows a fault if what the fault returns differs from what is right by more than the claimed
// arithmetic may lose of both together: then no rounding can hide it.
#pragma once
#include <attest/oracle/fault.hpp>
#include <attest/oracle/fault/row_evaluator.hpp>
#include <attest/oracle/verdict.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace attest::oracle {

// A call, what is right for it, and what each fault would make of it. `call` is kept by reference.
class CallCoverage {
 public:
  explicit CallCoverage(const Call& call)
      : call_(call), problem_(read_problem(call)), claim_(claimed_precision(call, problem_)) {
    const std::shared_ptr<SharedRows> shared = shared_ = std::make_shared<SharedRows>(problem_);
    const Implementation right = implementation(problem_);
    RowEvaluator evaluator(right, claim_, RowEvaluator::Rounds::scores, shared);
    for (const RowIndex& at : all_rows()) {
      evaluator.compute(at);
      rows_.push_back({evaluator.output, evaluator.allowed, evaluator.log_sum_exp,
                       evaluator.log_sum_exp_allowed, evaluator.open});
    }
  }
  CallCoverage(const CallCoverage&) = delete;

  const Problem& problem() const { return problem_; }
  const Precision& claim() const { return claim_; }

  std::vector<RowIndex> all_rows() const {
    std::vector<RowIndex> rows;
    for (std::size_t b = 0; b < problem_.batches(); ++b)
      for (std::size_t h = 0; h < problem_.query_heads(); ++h)
        for (std::size_t i = 0; i < problem_.queries(); ++i) rows.push_back({b, h, i});
    return rows;
  }

  // Of each row whether its output or log-sum-exp shows the fault; in the order of all_rows.
  std::vector<char> rows_that_show(const FaultCase& fault) const {
    std::vector<char> shows;
    each_row(fault, [&](bool shown) {
      shows.push_back(shown);
      return true;
    });
    return shows;
  }
  bool shows(const FaultCase& fault) const {
    bool any = false;
    each_row(fault, [&](bool shown) {
      any = any || shown;
      return !any;
    });
    return any || (has_more_than_rows() && judged_to_fail(fault, Place::everywhere()));
  }
  // By the judge itself, of what an implementation with the fault returns that computes as claimed.
  bool judged_to_fail(const FaultCase& fault, const Place& place) const {
    const Example filled = with_outputs(call_, evaluate(problem_, fault, place, claim_));
    return judge_by_rule(read_problem(filled.call), claim_).verdict == Verdict::fail;
  }

 private:
  struct Row {
    std::vector<double> output, allowed;
    double log_sum_exp, log_sum_exp_allowed;
    bool open;
  };
  bool has_more_than_rows() const {
    return problem_.has_gradients() || problem_.present_key || problem_.scores;
  }

  template <class Tell>
  void each_row(const FaultCase& fault, const Tell& tell) const {
    const Implementation wrong = implementation(problem_, fault);
    using Rounds = RowEvaluator::Rounds;
    const Rounds rounds = wrong.in_claimed_formats ? Rounds::everything : Rounds::scores;
    RowEvaluator evaluator(wrong, claim_, rounds, shared_);
    std::size_t n = 0;
    for (const RowIndex& at : all_rows()) {
      evaluator.compute(at);
      if (!tell(differs(rows_[n++], evaluator))) return;
    }
  }
  bool differs(const Row& right, const RowEvaluator& wrong) const {
    if (right.open || problem_.padded(wrong.row.place.batch, wrong.row.place.row)) return false;
    if (problem_.output)
      for (std::size_t t = 0; t < right.output.size(); ++t)
        if (apart(right.output[t], wrong.output[t], right.allowed[t] + wrong.allowed[t]))
          return true;
    return problem_.log_sum_exp && apart(right.log_sum_exp, wrong.log_sum_exp,
                                         right.log_sum_exp_allowed + wrong.log_sum_exp_allowed);
  }
  static bool apart(double right, double wrong, double allowed) {
    if (std::isnan(right) || std::isnan(wrong)) return std::isnan(right) != std::isnan(wrong);
    if (std::isinf(right) || std::isinf(wrong)) return right != wrong;
    return std::fabs(right - wrong) > allowed * (1 + 0x1p-20);  // no if that is ∞ or NaN
  }

  const Call& call_;
  Problem problem_;
  Precision claim_;
  std::shared_ptr<SharedRows> shared_;
  std::vector<Row> rows_;
};

}  // namespace attest::oracle
