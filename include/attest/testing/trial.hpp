// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Trial: a call, what a subject answers to it, and how far each number may be from the exact one;
// what laws compare.
#pragma once
#include <attest/oracle/fault.hpp>
#include <attest/oracle/fault/row_evaluator.hpp>
#include <attest/oracle/needle/scope.hpp>
#include <attest/oracle/verdict.hpp>
#include <attest/testing/editable_call.hpp>
#include <attest/testing/subject.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace attest::testing {

using oracle::Problem;
using oracle::RowIndex;

// A subject that gives no answer at all; laws end there.
struct NoAnswer : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A law would ask for a call that the subject is not for; it ends there, and holds.
struct BeyondScope {};

// Whether the subject is for calls of these extents.
inline bool holds(const oracle::Scope& scope, const EditableCall& call) {
  const std::size_t query_heads = call.extent(Axis::query_head);
  const std::size_t queries = call.extent(Axis::query), keys = call.all_keys();
  return scope.batches.holds(call.extent(Axis::batch)) && scope.query_heads.holds(query_heads) &&
         (scope.features.grouped_heads || call.extent(Axis::key_value_head) == query_heads) &&
         scope.queries.holds(queries) && scope.keys.holds(keys) &&
         scope.width.holds(call.extent(Axis::width)) &&
         (scope.one_width ? call.extent(Axis::value_width) == call.extent(Axis::width)
                          : scope.value_width.holds(call.extent(Axis::value_width))) &&
         (!scope.square || queries == keys) && call.extent(Axis::key) > 0;
}

// One answered call, with the allowance of each output and log-sum-exp.
class Answered {
 public:
  Answered(const Subject& subject, const EditableCall& of)
      : asked_(of.example()), problem_(oracle::read_problem(asked_.call)) {
    Answer answer = subject(asked_.call);
    if (!answer.call) throw NoAnswer(answer.failure);
    answer_ = std::move(*answer.call);
    got_ = oracle::read_problem(answer_.call);
    if (!got_.log_sum_exp) problem_.log_sum_exp.reset();  // what is not returned is not asked for
    const oracle::Precision claim = oracle::claimed_precision(asked_.call, problem_);
    const oracle::Implementation right = oracle::implementation(problem_);
    oracle::RowEvaluator row(right, claim, oracle::RowEvaluator::Rounds::nothing);
    for (std::size_t b = 0; b < problem_.batches(); ++b)
      for (std::size_t h = 0; h < problem_.query_heads(); ++h)
        for (std::size_t i = 0; i < problem_.queries(); ++i) {
          row.compute({b, h, i});
          rows_.push_back({row.allowed, row.log_sum_exp_allowed, row.open, row.empty});
        }
  }

  const Problem& problem() const { return problem_; }
  const oracle::Example& call() const { return answer_; }
  const oracle::Example& asked() const { return asked_; }

  double output(RowIndex at, std::size_t t) const {
    return got_.output->got.number(at.batch, at.head, at.row, t);
  }
  double log_sum_exp(RowIndex at) const {
    if (!got_.log_sum_exp) return std::numeric_limits<double>::quiet_NaN();
    return got_.log_sum_exp->got.number(at.batch, at.head, at.row, 0);
  }
  double allowed(RowIndex at, std::size_t t) const { return row(at).allowed[t]; }
  double log_sum_exp_allowed(RowIndex at) const { return row(at).log_sum_exp_allowed; }
  // The definition says what this row returns, and it is a blend of values that its query sees.
  bool is_blend(RowIndex at) const {
    return !row(at).open && !row(at).empty && !problem_.padded(at.batch, at.row);
  }
  // It says so, and there is an allowance: not for the mean of values that no query sees.
  bool is_defined(RowIndex at) const {
    const bool mean = row(at).empty && problem_.rule.empty_row == EmptyRow::mean;
    return !row(at).open && !mean && !problem_.padded(at.batch, at.row);
  }
  bool sees_nothing(RowIndex at) const { return row(at).empty; }
  const Problem& returned() const { return got_; }

  template <class F>
  void each_row(const F& f) const {
    for (std::size_t b = 0; b < problem_.batches(); ++b)
      for (std::size_t h = 0; h < problem_.query_heads(); ++h)
        for (std::size_t i = 0; i < problem_.queries(); ++i) f(RowIndex{b, h, i});
  }

 private:
  struct Row {
    std::vector<double> allowed;
    double log_sum_exp_allowed;
    bool open, empty;
  };
  const Row& row(RowIndex at) const {
    return rows_[(at.batch * problem_.query_heads() + at.head) * problem_.queries() + at.row];
  }

  oracle::Example asked_, answer_;
  Problem problem_, got_;
  std::vector<Row> rows_;
};

// What a law found: where two numbers that must agree do not.
struct Broken {
  std::string words;
};

class Trial {
 public:
  // Both are kept by reference. `answered`: of the same call, for all laws that look at it.
  Trial(const Subject& subject, const oracle::Scope& scope, const EditableCall& asked,
        std::shared_ptr<const Answered> answered)
      : call(asked), subject_(subject), scope_(scope), base_(std::move(answered)) {}

  const EditableCall& call;
  const Answered& base() const { return *base_; }
  const Problem& problem() const { return base_->problem(); }
  const oracle::Scope& scope() const { return scope_; }
  Answered ask(const EditableCall& other) const {
    if (!holds(scope_, other)) throw BeyondScope{};
    return Answered(subject_, other);
  }

  std::optional<Broken> broken;

  // Each of two numbers may be off by its allowance. Rows of ∞ allowance are not compared; of NaN,
  // both must be that.
  void compare(RowIndex at, const char* what, double got, double expected, double allowed) {
    if (broken) return;
    const bool agree = std::isnan(got) || std::isnan(expected)
                           ? std::isnan(got) && std::isnan(expected)
                       : std::isinf(got) || std::isinf(expected)
                           ? got == expected
                           : std::fabs(got - expected) <= allowed * (1 + 0x1p-20);
    if (agree || !(allowed < HUGE_VAL)) return;
    char text[256];
    std::snprintf(text, sizeof text,
                  "%s at batch %zu, head %zu, query %zu: got %.9g, by the law %.9g, allowed %.3g",
                  what, at.batch, at.head, at.row, got, expected, allowed);
    broken = Broken{text};
  }
  // Row `at` of `other` is what row `like` of the base is.
  void compare_rows(const Answered& other, RowIndex at, RowIndex like) {
    if (!base_->is_defined(like) || !other.is_defined(at)) return;
    for (std::size_t t = 0; t < problem().value_width(); ++t)
      compare(at, "out", other.output(at, t), base_->output(like, t),
              other.allowed(at, t) + base_->allowed(like, t));
    if (!problem().log_sum_exp || !other.problem().log_sum_exp) return;
    compare(at, "lse", other.log_sum_exp(at), base_->log_sum_exp(like),
            other.log_sum_exp_allowed(at) + base_->log_sum_exp_allowed(like));
  }

 private:
  const Subject& subject_;
  const oracle::Scope& scope_;
  std::shared_ptr<const Answered> base_;
};

}  // namespace attest::testing
