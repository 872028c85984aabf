// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Evidence of outputs that rows do not show by themselves: gradients, and present keys and values.
#pragma once
#include <attest/oracle/diagnosis/evidence.hpp>
#include <attest/oracle/fault/backward.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace attest::oracle::detail {

class WholeEvidence {
 public:
  explicit WholeEvidence(Evidence& evidence) : evidence_(evidence) {
    const Problem& problem = evidence.problem();
    // nothing is said of rows that an entry of a packed array does not have
    const auto always = [](std::size_t, std::size_t) { return true; };
    const auto read = [&](const std::optional<Claim>& claim, auto specifies) {
      if (!claim) return;
      const Tensor& got = claim->got;
      for (std::size_t b = 0; b < got.shape[0]; ++b)
        for (std::size_t h = 0; h < got.shape[1]; ++h)
          for (std::size_t i = 0; i < got.shape[2]; ++i)
            for (std::size_t t = 0; t < got.shape[3]; ++t) {
              row_.got.push_back(got.number(b, h, i, t));
              specified_.push_back(specifies(b, i));
            }
    };
    const auto key = [&](std::size_t b, std::size_t j) { return problem.specifies_key(b, j); };
    read(problem.d_query,
         [&](std::size_t b, std::size_t i) { return problem.specifies_query(b, i); });
    read(problem.d_key, key);
    read(problem.d_value, key);
    for (const auto& claim :
         {problem.d_sinks, problem.d_bias, problem.present_key, problem.present_value})
      read(claim, always);
    if (row_.got.empty()) return;
    row_.right = expected({});
    for (std::size_t n = 0; n < row_.got.size(); ++n) {
      row_.fits_right.push_back(!specified_[n] ||
                                fits(row_.got[n], row_.right.values[n], row_.right.allowed[n]));
      failing += !row_.fits_right.back();
    }
  }

  std::size_t failing = 0;  // elements
  bool any() const { return !row_.got.empty(); }
  static double work(const Evidence& evidence) {
    return static_cast<double>(evidence.all_rows()) * evidence.row_work() *
           (evidence.problem().has_gradients() ? 4 : 1);
  }

  Fit of(const Hypothesis& hypothesis) {
    const ExpectedRow by = expected(hypothesis);
    Fit fit;
    for (std::size_t n = 0; n < row_.got.size() && fit.fits; ++n)
      if (specified_[n])
        compare(row_.got[n], row_.right.values[n], row_.right.allowed[n], row_.fits_right[n] != 0,
                by.values[n], by.allowed[n], fit);
    return fit;
  }

  const ExpectedRow& right() const { return row_.right; }
  // What rows do not show of an implementation's outputs.
  ExpectedRow expected(const Hypothesis& hypothesis) {
    const Problem& problem = evidence_.problem();
    const Implementation by = evidence_.implement(hypothesis);
    ExpectedRow result;
    if (problem.has_gradients()) {
      RowEvaluator right(evidence_.right(), evidence_.claim(),
                         evidence_.rounds_of(evidence_.right()), evidence_.shared());
      RowEvaluator rows(by, evidence_.claim(), evidence_.rounds_of(by), evidence_.shared());
      BackwardSums sums(problem, evidence_.claim(), false);
      const Place& place = hypothesis.place;
      for (std::size_t b = 0; b < problem.batches(); ++b)
        for (std::size_t h = 0; h < problem.query_heads(); ++h)
          for (std::size_t i = 0; i < problem.queries(); ++i) {
            const bool inside = place.holds({b, h, i});
            if (!inside || !place.keys.all()) right.compute({b, h, i});
            if (inside) rows.compute({b, h, i}, right, place.keys);
            sums.add(inside ? rows : right);
          }
      sums.finish();
      evidence_.spent += work(evidence_);
      for (const GradientArray* array :
           {&sums.d_query, &sums.d_key, &sums.d_value, &sums.d_sinks, &sums.d_bias}) {
        result.values.insert(result.values.end(), array->sums.begin(), array->sums.end());
        result.allowed.insert(result.allowed.end(), array->allowed.begin(), array->allowed.end());
      }
    }
    const auto present = [&](const std::optional<Claim>& claim, const std::optional<Tensor>& past,
                             const Tensor& current) {
      if (!claim) return;
      const std::vector<double> rows = present_rows(by, *claim, past, current);
      result.values.insert(result.values.end(), rows.begin(), rows.end());
      result.allowed.resize(result.values.size(), 0);
    };
    present(problem.present_key, problem.past_key, problem.key);
    present(problem.present_value, problem.past_value, problem.value);
    return result;
  }

 private:
  Evidence& evidence_;
  EvidenceRow row_;
  std::vector<char> specified_;  // of each number
};

}  // namespace attest::oracle::detail
