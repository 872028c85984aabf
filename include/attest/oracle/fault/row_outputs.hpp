// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What of a row's evaluation is an output, and which rows a faulty cache holds.
#pragma once
#include <attest/oracle/fault/row_evaluator.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace attest::oracle {
namespace detail {

// The score output of a row, at the stage the call asks for.
inline double score_output(const Problem& problem, const RowEvaluator& row, std::size_t j) {
  switch (problem.score_stage) {
    case ScoreStage::scaled:
      return row.scaled[j];
    case ScoreStage::capped:
      return row.capped[j];
    case ScoreStage::biased:
      return row.row.scores[j];
    case ScoreStage::weights:
      return row.row.hidden[j] ? 0 : row.row.weights[j];
  }
  return 0;
}

inline std::vector<double> present_rows(const Implementation& of, const Claim& claim,
                                        const std::optional<Tensor>& past, const Tensor& current) {
  const Shape& shape = claim.got.shape;
  const std::size_t before = past ? past->shape[2] : 0;
  std::vector<double> rows(element_count(shape), 0);
  std::size_t n = 0;
  for (std::size_t b = 0; b < shape[0]; ++b)
    for (std::size_t h = 0; h < shape[1]; ++h)
      for (std::size_t j = 0; j < shape[2]; ++j) {
        const std::size_t from = of.steps.present_row ? of.steps.present_row(of.problem, j) : j;
        for (std::size_t t = 0; t < shape[3]; ++t, ++n)
          if (from < before)
            rows[n] = past->number(b, h, from, t);
          else if (from - before < current.shape[2])
            rows[n] = current.number(b, h, from - before, t);
      }
  return rows;
}

}  // namespace detail

}  // namespace attest::oracle
