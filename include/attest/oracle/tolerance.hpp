// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Tolerance: what arithmetic of a claimed precision may lose on this very row. An implementation
// that meets the claim cannot be further from the exact result, whatever order it sums in; so what
// is further certainly does not meet it.
//
// Notation as in enclosure.hpp; u_a, u_s, u_p the roundoffs of accumulation, softmax and weights; N
// the number of visible keys; B_j the error of score j (score_tolerance.hpp); T the number of
// rescales of an online softmax over tiles in key order. A rescale by exp(0) loses nothing, so T is
// at most the number of keys at which the running maximum may rise, from either end.
//
// Weights. ê_j = e_j (1 + θ_j), |log(1 + θ_j)| <= Δ_j + log of exp's own error, Δ_j = B_j + 2 u_s
// y_j,
//   y_j the distance below the subject's maximum. (Rescale factors: a common factor cancels between
//   numerator and denominator; the arguments of the others telescope to y_j.) As in enclosure.hpp,
//   |Σ ê v/Σ ê − o| <= Σ |ê_j − e_j| |v_j − o| / Σ ê_j.
//   An implementation that folds the scale into exp2, or subtracts a log-sum-exp, rounds scores of
//   the size of x and not of y: Δ_j grows by 2 u_s (|x_j| + |bias_j| + max |x|). What is within the
//   first bound passes; what is beyond the second fails; between them nothing is proved.
//   Whatever the weights, a blend of the visible values stays in their hull: where that is the
//   smaller bound the scores decide nothing, and a result within tolerance proves nothing.
// Sums. Rounding the weights: u_p Σ p|v|, or u_p Σ p|v − o| where rounded weights are summed too.
//   The output: (N + 2T) u_a Σ p|v|, and u_i Σ p|v| where values are rounded to an input format
//   first. The denominator and the division: (N + 1 + 2T) u_s |o|.
//   n roundings compound to at most n u/(1 − n u); where n u reaches 0.9 the bound is void.
//   Rounding the result: half a unit in its last place.
#pragma once
#include <attest/oracle/enclosure.hpp>
#include <attest/oracle/precision.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace attest::oracle {

// What weights and outputs may be off by, before a result is rounded to its own format. ∞: void.
struct RowTolerance {
  std::vector<double> weights;
  std::vector<double> outputs;  // of an implementation that subtracts the maximum from scores
  std::vector<double> folded_outputs;   // of one that folds scale or sum into the exponent
  std::vector<bool> vacuous;            // any blend of the visible values is within `outputs`
  std::vector<double> lowest, highest;  // of the values that each output's query may see
  std::vector<double> beyond_hull;      // how far beyond these the sums' roundings carry a blend
  // What independent roundings reach, beyond which they go hardly ever (likely_tolerance.hpp); at
  // most `folded_outputs`. ∞: nothing is known of them either.
  std::vector<double> likely;
  // What sums below their format's range may add, part of `outputs`.
  std::vector<double> underflow;
};

namespace detail {

// How often an online softmax may rescale: a key rises above all before it if its score, up to its
// error, may exceed theirs.
inline double rescales(const Precision& claim, const RowData& row,
                       const std::vector<double>& below_maximum, const std::vector<double>& error) {
  if (claim.tile && *claim.tile == 0) return 0;
  const auto rises = [&](std::size_t first, std::size_t step) {
    std::size_t count = 0;
    double maximum = -std::numeric_limits<double>::infinity();
    for (std::size_t n = 0, j = first; n < row.key_count; ++n, j += step) {
      if (!row.visible(j)) continue;
      count += -below_maximum[j] + error[j] > maximum;
      maximum = std::max(maximum, -below_maximum[j] - error[j]);
    }
    return count == 0 ? 0 : count - 1;  // the first key rescales nothing
  };
  std::size_t most = std::max(rises(0, 1), rises(row.key_count - 1, static_cast<std::size_t>(-1)));
  if (claim.tile) most = std::min(most, (row.key_count - 1) / *claim.tile);
  return static_cast<double>(most);
}

// Whether the input format holds every value that the row may see.
inline bool values_held(const Precision& claim, const RowData& row) {
  if (!claim.input) return true;
  for (std::size_t j = 0; j < row.key_count; ++j)
    for (std::size_t t = 0; row.visible(j) && t < row.value_width; ++t)
      if (!claim.input_holds(row.value(j)[t])) return false;
  return true;
}

// The relative error of n roundings of roundoff u together.
inline double compounded(double n_u) {
  return n_u < 0.9 ? n_u / (1 - n_u) : std::numeric_limits<double>::infinity();
}

// e_j = exp(−y_j) of each key, |ê_j − e_j| of the subject's, and a lower bound of Σ ê.
struct WeightDeviations {
  std::vector<double> e, deviation;
  double smallest_sum = 0;
};

// `argument_error`: of each key, before the subtraction of the maximum.
inline WeightDeviations weight_deviations(const Precision& claim, const RowData& row,
                                          const std::vector<double>& below_maximum,
                                          const std::vector<double>& argument_error,
                                          double rescale_count) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double u_s = claim.softmax.unit_roundoff();
  const double exp_error =
      std::expm1((claim.exp_error * (1 + rescale_count) + rescale_count) * u_s);
  // how far the subject's maximum may lie above the exact one
  double shift = 0;
  for (std::size_t j = 0; j < row.key_count; ++j)
    if (row.visible(j)) shift = std::max(shift, argument_error[j] - below_maximum[j]);
  // exp may flush to 0 below the normal numbers, which counts relative to the subject's maximum
  const double flushed = std::ldexp(1.0, claim.softmax.min_exponent) * std::exp(shift);

  WeightDeviations result;
  result.e.assign(row.key_count, 0);
  result.deviation.assign(row.key_count, 0);
  for (std::size_t j = 0; j < row.key_count; ++j) {
    if (!row.visible(j)) continue;
    const double y = below_maximum[j];
    const double argument =
        argument_error[j] + (2 + claim.exp_argument_error) * u_s * (y + argument_error[j] + shift);
    const double e = std::exp(-y);
    double deviation = argument < 0.5 ? e * (std::expm1(argument) * (1 + exp_error) + exp_error)
                       : argument == infinity ? infinity
                                              : std::exp(argument - y) * (1 + exp_error);
    const double lowest = std::max(0.0, std::exp(-argument - y) * (1 - exp_error));
    result.smallest_sum += lowest < flushed ? 0 : lowest;
    if (lowest < flushed) deviation += std::min(e + deviation, flushed);
    result.e[j] = e;
    result.deviation[j] = deviation;
  }
  return result;
}

}  // namespace detail

// Tolerances of the row that `exact` encloses, from the errors of its biased scores.
template <class Real>
void tolerate_outputs(const Precision& claim, const RowData& row, const RowEnclosure<Real>& exact,
                      const std::vector<double>& score_error, RowTolerance& result) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::size_t keys = row.key_count, columns = row.value_width;
  const double u_s = claim.softmax.unit_roundoff();
  const bool weights_rounded = claim.weights.precision < claim.softmax.precision;
  const double u_p = weights_rounded ? claim.weights.unit_roundoff() : 0;
  double visible = 0, largest_score = 0;
  for (std::size_t j = 0; j < keys; ++j)
    if (row.visible(j)) {
      ++visible;
      if (exact.below_maximum[j] == 0)
        largest_score = std::fabs(static_cast<double>(exact.scores[j].biased));
    }
  std::vector<double> folded_error = score_error;
  for (std::size_t j = 0; j < keys; ++j)
    if (row.visible(j))
      folded_error[j] += 2 * u_s *
                         (std::fabs(static_cast<double>(exact.scores[j].biased)) +
                          std::fabs(row.bias[j]) + largest_score);
  const double rescale_count = detail::rescales(claim, row, exact.below_maximum, score_error);
  const detail::WeightDeviations direct =
      detail::weight_deviations(claim, row, exact.below_maximum, score_error, rescale_count);
  const detail::WeightDeviations folded =
      detail::weight_deviations(claim, row, exact.below_maximum, folded_error, rescale_count);
  // the subject's weights may be larger than exact ones, and so what is lost beside the largest
  const double weight_underflow =
      std::min(claim.weight_underflow(1),
               claim.weight_underflow(folded.smallest_sum > 0 ? 1 / folded.smallest_sum : 1));
  const double sums = detail::compounded((visible + 1 + 2 * rescale_count) * u_s);
  const double products =
      detail::compounded((visible + 2 * rescale_count) * claim.output_roundoff() +
                         (detail::values_held(claim, row) ? 0 : claim.input_roundoff()));
  const double smallest =
      std::max(claim.output_accumulator().smallest_subnormal(), claim.softmax.smallest_subnormal());

  // Σ |ê_j − e_j| / Σ ê for a key; 0/0 is no bound
  const auto share = [](double deviation, double sum) {
    return deviation == 0 ? 0 : sum > 0 ? deviation / sum : infinity;
  };

  result.weights.assign(keys, 0);
  double mean_deviation = 0;
  for (std::size_t j = 0; j < keys; ++j)
    mean_deviation += share(folded.deviation[j], folded.smallest_sum);
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.visible(j)) continue;
    const double p = exact.weights[j];
    const double raw = std::min(
        1.0, share(folded.deviation[j], folded.smallest_sum) + (p > 0 ? p * mean_deviation : 0));
    result.weights[j] = (raw + (sums + u_p) * std::min(1.0, p + raw) * (1 + sums)) * (1 + 0x1p-20) +
                        weight_underflow + claim.softmax.smallest_subnormal();
  }

  std::vector<double> blend(columns, 0), folded_blend(columns, 0), weighted(columns, 0);
  std::vector<double> centred_weights(columns, 0), underflow(columns, 0), largest(columns, 0);
  result.lowest.assign(columns, infinity);
  result.highest.assign(columns, -infinity);
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.visible(j)) continue;
    const double* v = row.value(j);
    const double direct_share = share(direct.deviation[j], direct.smallest_sum);
    const double folded_share = share(folded.deviation[j], folded.smallest_sum);
    const double p = std::min(1.0, folded.smallest_sum > 0
                                       ? (folded.e[j] + folded.deviation[j]) / folded.smallest_sum
                                       : 1);
    const double lost = std::min(p, weight_underflow);
    for (std::size_t t = 0; t < columns; ++t) {
      const double v_size = std::fabs(v[t]);
      const double centred = std::fabs(v[t] - exact.outputs[t].high);
      blend[t] += centred == 0 ? 0 : direct_share * centred;
      folded_blend[t] += centred == 0 ? 0 : folded_share * centred;
      weighted[t] += p * v_size;
      centred_weights[t] += p * centred;
      underflow[t] += lost * v_size;
      largest[t] = std::max(largest[t], v_size);
      result.lowest[t] = std::min(result.lowest[t], v[t]);
      result.highest[t] = std::max(result.highest[t], v[t]);
    }
  }

  result.outputs.assign(columns, 0);
  result.folded_outputs.assign(columns, 0);
  result.beyond_hull.assign(columns, 0);
  result.vacuous.assign(columns, false);
  result.underflow.assign(columns, 0);
  for (std::size_t t = 0; t < columns; ++t) {
    const double o = exact.outputs[t].high;
    const double hull = std::max({result.highest[t] - o, o - result.lowest[t], 0.0});
    const double size = std::min(weighted[t], largest[t]);
    const double rounded_weights = u_p * std::max(size, std::min(centred_weights[t], hull));
    result.underflow[t] = (((visible + 1) * smallest + claim.input_underflow()) * (1 + sums) +
                           claim.output.smallest_subnormal()) *
                          (1 + 0x1p-20);
    double of_sums = ((rounded_weights + products * (1 + u_p) * size + underflow[t]) * (1 + sums) +
                      sums * (std::fabs(o) + std::min(folded_blend[t], hull))) *
                         (1 + 0x1p-20) +
                     result.underflow[t];
    // a value beyond the input format's range becomes infinite there
    if (claim.input && !std::isfinite(claim.input->round(largest[t]))) of_sums = infinity;
    result.outputs[t] = std::min(blend[t], hull) * (1 + 0x1p-20) + of_sums;
    result.folded_outputs[t] = std::min(folded_blend[t], hull) * (1 + 0x1p-20) + of_sums;
    result.beyond_hull[t] = of_sums;
    result.vacuous[t] = hull > 0 && blend[t] >= hull;
  }
}

// Whether `format` is coarser than what the result was computed in, so that storing it rounds once
// more.
inline double output_rounding(const Precision& claim, const NumberFormat& format, double size) {
  const bool coarser = format.precision < claim.softmax.precision ||
                       format.precision < claim.output_accumulator().precision;
  return coarser && std::isfinite(size) ? format.half_ulp(size) : 0;
}

}  // namespace attest::oracle
