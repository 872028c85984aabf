// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Padded query rows: what the definition returns beyond a batch entry's length is no attention.
#pragma once
#include <attest/oracle/problem.hpp>
#include <attest/oracle/report.hpp>

#include <cstddef>
#include <vector>

namespace attest::oracle::detail {

// What a padded row may return, of every column.
inline Special padded_row_returns(const Problem& problem) {
  Special special;
  special.zero = problem.padded_row == PaddedRow::zero;
  special.anything = !special.zero;
  return special;
}

// Counts the elements of a padded row; none where the array has no such row.
inline void count_padded_row(const Problem& problem, std::size_t b, std::size_t h, std::size_t i,
                             OutputReport& report) {
  if (problem.padded_row == PaddedRow::absent || !problem.output) return;
  std::vector<Element> row(problem.value_width());
  for (std::size_t t = 0; t < row.size(); ++t) {
    row[t].got = problem.output->got.number(b, h, i, t);
    row[t].expected = padded_row_returns(problem);
    row[t].verdict = row[t].expected.accepts(row[t].got) ? Verdict::pass : Verdict::fail;
  }
  report.count_row(row, {b, h, i});
}

}  // namespace attest::oracle::detail
