// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Evidence: some rows of what a subject returned, beside what is right, to compare with what
// faults would give.
#pragma once
#include <attest/oracle/diagnosis/ordered.hpp>
#include <attest/oracle/fault.hpp>
#include <attest/oracle/fault/row_outputs.hpp>
#include <attest/oracle/report.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace attest::oracle::detail {

// What is expected of a row's numbers: output, log-sum-exp and scores, as far as the call has them.
struct ExpectedRow {
  std::vector<double> values, allowed;

  void clear() {
    values.clear();
    allowed.clear();
  }
  void take(const Problem& problem, const RowEvaluator& row) {
    clear();
    const auto add = [&](double value, double error, const NumberFormat& format) {
      values.push_back(format.round(value));  // beyond the range it is ∞
      allowed.push_back(std::isfinite(value) || row.open ? error : 0);
    };
    if (problem.output)
      for (std::size_t t = 0; t < row.output.size(); ++t)
        add(row.output[t], row.allowed[t], *problem.output->got.format());
    if (problem.log_sum_exp)
      add(row.log_sum_exp,
          row.open ? std::numeric_limits<double>::infinity() : row.log_sum_exp_allowed,
          *problem.log_sum_exp->got.format());
    if (problem.scores) {
      const NumberFormat& format = *problem.scores->got.format();
      for (std::size_t j = 0; j < problem.keys(); ++j) {
        const double score = score_output(problem, row, j);
        double error = problem.score_stage == ScoreStage::weights
                           ? std::fabs(score) * std::expm1(std::min(600.0, row.row.errors[j]))
                           : row.row.errors[j];
        if (std::isfinite(score)) error = 3 * error + 8 * format.half_ulp(score);
        add(score, error, format);
      }
    }
  }
};

// Whether what was got is what was expected, an overflow for any other.
inline bool fits(double got, double expected, double allowed) {
  if (!(allowed < std::numeric_limits<double>::infinity())) return true;
  if (std::isinf(expected) && std::isinf(got)) return expected == got;
  if (!std::isfinite(expected) || !std::isfinite(got))
    return !std::isfinite(expected) && !std::isfinite(got);
  return std::fabs(got - expected) <= allowed * (1 + 0x1p-20) + 0x1p-1074;
}

struct EvidenceRow {
  RowIndex at;
  std::vector<double> got;
  ExpectedRow right;
  std::vector<char> fits_right;
  bool fails = false;
};

// How well something fits a row.
struct Fit {
  bool fits = true;
  std::size_t explained = 0;  // elements that fail, and that it gives and not by any number fitting
  double squares = 0;         // of the differences in units of what is allowed
  std::size_t elements = 0;

  void add(const Fit& other) {
    fits = fits && other.fits;
    explained += other.explained;
    squares += other.squares;
    elements += other.elements;
  }
};

inline void compare(double got, double right, double right_allowed, bool fits_right, double value,
                    double allowed, Fit& fit) {
  if (!fits(got, value, allowed)) {
    fit.fits = false;
    return;
  }
  if (fits_right || !(allowed < std::numeric_limits<double>::infinity())) return;
  const double off = std::fabs(got - right);
  if (std::isfinite(off) && !(2 * allowed < off) && !(allowed <= 4 * right_allowed)) return;
  // what is nearly right by itself explains nothing
  if (std::isfinite(off) && !(std::fabs(value - right) > right_allowed / 2)) return;
  ++fit.explained;
  if (!std::isfinite(value) || !std::isfinite(got)) return;
  const double units = allowed > 0 ? (got - value) / allowed : 0;
  fit.squares += units * units;
  ++fit.elements;
}

// A fault, or several together, and where.
struct Hypothesis {
  std::vector<FaultCase> faults;
  Place place;
};

class Evidence {
 public:
  // `work`: about how many multiplications may be done to choose rows.
  Evidence(const Problem& problem, const Precision& claim, const Report& report, double work)
      : problem_(problem),
        claim_(claim),
        shared_(std::make_shared<SharedRows>(problem)),
        right_(implementation(problem)),
        rounds_(scores_round_away(report) ? RowEvaluator::Rounds::scores
                                          : RowEvaluator::Rounds::nothing),
        right_rows_(right_, claim, rounds_, shared_) {
    std::vector<RowIndex> chosen = choose(report, work);
    for (const RowIndex& at : chosen) add(at);
    right_rows_.release();
    // failing rows first, in order
    rows = ordered(std::move(rows), [](const EvidenceRow& row) { return !row.fails; });
    failing = static_cast<std::size_t>(
        std::count_if(rows.begin(), rows.end(), [](const EvidenceRow& row) { return row.fails; }));
  }
  Evidence(const Evidence&) = delete;

  std::vector<EvidenceRow> rows;
  std::size_t failing = 0;
  bool sampled = false;
  double spent = 0;          // multiplications done
  double largest_score = 0;  // that a query of these rows sees

  const Problem& problem() const { return problem_; }
  const Precision& claim() const { return claim_; }
  const Implementation& right() const { return right_; }
  const std::shared_ptr<SharedRows>& shared() const { return shared_; }
  double row_work() const {
    return static_cast<double>(problem_.keys() + 4) *
           static_cast<double>(problem_.width() + problem_.value_width() + 16);
  }
  std::size_t all_rows() const {
    return problem_.batches() * problem_.query_heads() * problem_.queries();
  }

  RowEvaluator::Rounds rounds_of(const Implementation& by) const {
    return by.in_claimed_formats ? RowEvaluator::Rounds::everything : rounds_;
  }
  Implementation implement(const Hypothesis& hypothesis) const {
    Implementation by = right_;
    for (const FaultCase& one : hypothesis.faults) one.fault->inject(by, one.setting);
    return by;
  }

  // Compares rows with what an implementation returns.
  class Comparison {
   public:
    Comparison(Evidence& evidence, const Hypothesis& hypothesis)
        : Comparison(evidence, hypothesis, evidence.claim_) {}
    Comparison(Evidence& evidence, const Hypothesis& hypothesis, const Precision& claim)
        : evidence_(evidence),
          place_(hypothesis.place),
          by_(evidence.implement(hypothesis)),
          rows_(by_, claim, evidence.rounds_of(by_), evidence.shared_) {}
    Comparison(const Comparison&) = delete;

    Fit of(const EvidenceRow& row) {
      evidence_.spent += evidence_.row_work() * (place_.keys.all() ? 1 : 2);
      if (!place_.holds(row.at)) return by(row, row.right);
      if (place_.keys.all()) {
        rows_.compute(row.at);
      } else {
        evidence_.right_rows_.compute(row.at);
        rows_.compute(row.at, evidence_.right_rows_, place_.keys);
        evidence_.right_rows_.release();
      }
      expected_.take(evidence_.problem_, rows_);
      return by(row, expected_);
    }
    RowEvaluator& evaluator() { return rows_; }

   private:
    static Fit by(const EvidenceRow& row, const ExpectedRow& expected) {
      Fit fit;
      for (std::size_t n = 0; n < row.got.size() && fit.fits; ++n)
        compare(row.got[n], row.right.values[n], row.right.allowed[n], row.fits_right[n] != 0,
                expected.values[n], expected.allowed[n], fit);
      return fit;
    }

    Evidence& evidence_;
    Place place_;
    Implementation by_;
    RowEvaluator rows_;
    ExpectedRow expected_;
  };

 private:
  friend class Comparison;

  void add(const RowIndex& at) {
    EvidenceRow row;
    row.at = at;
    right_rows_.compute(at);
    spent += row_work();
    row.right.take(problem_, right_rows_);
    for (std::size_t j = 0; j < right_rows_.row.size(); ++j)
      if (!right_rows_.row.hidden[j] && !std::isnan(right_rows_.capped[j]))
        largest_score = std::max(largest_score, std::fabs(right_rows_.capped[j]));
    const auto [b, h, i] = std::tuple(at.batch, at.head, at.row);
    if (problem_.output)
      for (std::size_t t = 0; t < problem_.value_width(); ++t)
        row.got.push_back(problem_.output->got.number(b, h, i, t));
    if (problem_.log_sum_exp) row.got.push_back(problem_.log_sum_exp->got.number(b, h, i, 0));
    if (problem_.scores)
      for (std::size_t j = 0; j < problem_.keys(); ++j)
        row.got.push_back(problem_.scores->got.number(b, h, i, j));
    for (std::size_t n = 0; n < row.got.size(); ++n) {
      row.fits_right.push_back(fits(row.got[n], row.right.values[n], row.right.allowed[n]));
      row.fails = row.fails || !row.fits_right.back();
    }
    rows.push_back(std::move(row));
  }

  // Whether scores of the worst row are so large that their format decides what it returns.
  bool scores_round_away(const Report& report) {
    RowEvaluator evaluator(right_, claim_, RowEvaluator::Rounds::nothing, shared_);
    for (const OutputReport& output : report.outputs) {
      if (!output.worst || output.name != "out") continue;
      const auto& index = output.worst->index;
      evaluator.compute({index[0], index[1], index[2]});
      for (std::size_t j = 0; j < evaluator.row.size(); ++j)
        if (!evaluator.row.hidden[j] && evaluator.row.errors[j] > 0.1) return true;
    }
    return false;
  }

  // All rows, or the worst of each output with those around it and others spread over the call.
  std::vector<RowIndex> choose(const Report& report, double work) {
    const std::size_t heads = problem_.query_heads(), queries = problem_.queries();
    const std::size_t all = all_rows();
    const auto at = [&](std::size_t n) {
      return RowIndex{n / queries / heads, n / queries % heads, n % queries};
    };
    const auto most = static_cast<std::size_t>(std::max(24.0, work / row_work()));
    std::vector<std::size_t> numbers;
    std::set<std::size_t> taken;
    const auto take = [&](std::size_t n) {
      if (n < all && taken.insert(n).second) numbers.push_back(n);
    };
    if (all <= most) {
      for (std::size_t n = 0; n < all; ++n) take(n);
    } else {
      sampled = true;
      for (const OutputReport& output : report.outputs) {
        if (!output.worst || (output.name != "out" && output.name != "lse" &&
                              output.name != "qk_matmul_output" && output.name != "dq"))
          continue;
        const auto& index = output.worst->index;
        const std::size_t n = (index[0] * heads + index[1]) * queries + index[2];
        for (std::size_t around = 0; around < most / 4; ++around) {
          take(n + around);
          if (n >= around) take(n - around);
        }
      }
      // of a few heads, so that their keys and values take a few megabytes
      const auto per_head = static_cast<double>(problem_.keys()) *
                            static_cast<double>(problem_.width() + problem_.value_width());
      const std::size_t all_heads = problem_.batches() * heads;
      const std::size_t rest = most > numbers.size() ? most - numbers.size() : 8;
      const std::size_t few = std::max<std::size_t>(rest / 3, 1);
      const auto held = static_cast<std::size_t>(0x1p21 / std::max(per_head, 1.0));
      const std::size_t of_heads =
          std::clamp<std::size_t>(held, 1, std::min<std::size_t>({all_heads, 8, few}));
      const std::size_t of_each = std::max<std::size_t>(rest / of_heads, 3);
      const auto spread = [](std::size_t n, std::size_t count, std::size_t extent) {
        return count < 2 ? extent - 1 : n * (extent - 1) / (count - 1);  // the last among them
      };
      for (std::size_t n = 0; n < of_heads; ++n)
        for (std::size_t r = 0; r < of_each; ++r)
          take(spread(n, of_heads, all_heads) * queries + spread(r, of_each, queries));
    }
    std::sort(numbers.begin(), numbers.end());
    std::vector<RowIndex> chosen;
    for (const std::size_t n : numbers) chosen.push_back(at(n));
    return chosen;
  }

  const Problem& problem_;
  Precision claim_;
  std::shared_ptr<SharedRows> shared_;
  Implementation right_;
  RowEvaluator::Rounds rounds_;
  RowEvaluator right_rows_;
};

}  // namespace attest::oracle::detail
