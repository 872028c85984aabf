// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The exponentials of a row's scores below their maximum, and their sum, enclosed.
#pragma once
#include <attest/oracle/enclosure.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace attest::oracle {

// Notation and bounds as in enclosure.hpp. A masked key has e_j = 0.
template <class Real>
struct Exponentials {
  std::vector<Real> e;
  std::vector<double> rho;               // |e_j − exact| <= ρ_j e_j; of neglected ones nothing
  Real maximum{}, sum{};                 // the maximum is an exact shift
  double mean_rho = 0, largest_rho = 0;  // Σ p ρ, rounded up
  double visible = 0;
  double lost = 0;  // share of the row, at most, of the weights that were taken for 0
  bool bounded = false;

  // The relative error of e_j / sum, rounded.
  double weight_error(std::size_t j) const {
    return 1.03 * (rho[j] + mean_rho + (visible + 3) * Arithmetic<Real>::roundoff + lost);
  }
};

// From the enclosed scores (their `biased` stage); unbounded where no key is visible.
template <class Real>
Exponentials<Real> enclose_exponentials(const RowData& row,
                                        const std::vector<ScoreEnclosure<Real>>& scores) {
  using A = Arithmetic<Real>;
  Exponentials<Real> result;
  result.e.assign(row.key_count, Real(0));
  result.rho.assign(row.key_count, 0);
  const Real* maximum = nullptr;
  for (std::size_t j = 0; j < row.key_count; ++j)
    if (row.visible(j) && (!maximum || scores[j].biased > *maximum)) maximum = &scores[j].biased;
  if (!maximum) return result;
  result.maximum = *maximum;
  result.bounded = true;
  for (std::size_t j = 0; j < row.key_count; ++j) {
    if (!row.visible(j)) continue;
    ++result.visible;
    const Real y = scores[j].biased - result.maximum;
    const auto distance = -static_cast<double>(y);
    const double argument_error = (scores[j].biased_radius + A::roundoff * distance) * 1.001;
    if (-distance + argument_error < A::smallest_exponent ||
        (-distance < A::smallest_exponent && argument_error <= 0.01)) {
      result.lost += A::neglected;
      continue;
    }
    if (!(argument_error <= 0.01)) result.bounded = false;
    result.e[j] = A::exp(y);
    result.rho[j] = 1.01 * argument_error + 1.0001 * A::exp_error;
    result.largest_rho = std::max(result.largest_rho, result.rho[j]);
    result.sum += result.e[j];
  }
  for (std::size_t j = 0; j < row.key_count; ++j)
    result.mean_rho += 1.001 * static_cast<double>(Real(result.e[j] / result.sum)) * result.rho[j];
  return result;
}

}  // namespace attest::oracle
