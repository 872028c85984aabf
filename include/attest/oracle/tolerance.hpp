// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Tolerance: what arithmetic of a claimed precision may lose on this very row. An implementation
// that meets the claim cannot be further from the exact result, whatever order it sums in; so what
// is further certainly does not meet it.
//
// Notation as in enclosure.hpp; u_a, u_S, u_s, u_p the roundoffs of accumulation, score storage,
// softmax and weights; N the number of visible keys; T the number of rescales of an online softmax
// over tiles in key order. A rescale by exp(0) loses nothing, so T is at most the number of keys at
// which the running maximum may rise, from either end.
//
// Scores. |ŝ_j − s_j| <= B_j = |c| (d u_a + 6 u) Σ|q k| + u_S |s_j|: the product, then the scale.
// It may be applied to q, to
//   k, to the product, or by its root to both; at worst √(1/√d) is taken on both sides, each with
//   two roundoffs of its own and one of its product. What is exact loses nothing: a sum of products
//   that are all multiples of one power of two and small enough, and a scale that is a power of
//   four. A cap adds five roundings (the cap itself, quotient by reciprocal, product, storing) and
//   tanh's error, and multiplies B_j by the derivative of tanh, at most 4 exp(−2(|s| − B)/cap). A
//   bias other than 0 adds one rounding of the sum and one of storing it.
// Weights. ê_j = e_j (1 + θ_j) with |log(1 + θ_j)| <= Δ_j + log of exp's own error, Δ_j = B_j + u_s
// y_j (1 + [T > 0]), y_j the
//   distance below the maximum. (Rescale factors: a common factor cancels between numerator and
//   denominator; the arguments of the others telescope to y_j.) As in enclosure.hpp, |Σ ê v/Σ ê −
//   o| <= Σ |ê_j − e_j| |v_j − o| / Σ ê_j, and some ê_j is 1. Whatever the weights, a blend of the
//   visible values stays in their hull: where that is the smaller bound the scores decide nothing,
//   and a result within tolerance proves nothing.
// Sums. Rounding the weights: u_p Σ p|v|. The output: (N + 2T) u_a Σ p|v|. The denominator and the
// division:
//   (N + 1 + 2T) u_s |o|. Rounding the result: half a unit in its last place.
#pragma once
#include <attest/oracle/enclosure.hpp>
#include <attest/oracle/precision.hpp>

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace attest::oracle {

// What a row's scores, weights and outputs may be off by, before the result is rounded to its own
// format.
struct RowTolerance {
  std::vector<double> scaled, capped, biased;  // of each key
  std::vector<double> weights;
  std::vector<double> outputs;
  // Of each output: whether any blend of the visible values is within tolerance, the least and the
  // greatest of them, and how far beyond these the sums' roundings may carry a blend.
  std::vector<bool> vacuous;
  std::vector<double> lowest, highest, beyond_hull;
  bool may_overflow = false;  // a visible key's score may leave the range of its format
};

namespace detail {

// Of the scale and its application, in roundoffs of Σ|q k|; see above.
inline constexpr double scale_roundings = 6;

// The exponent of the lowest set bit of x; INT_MAX for 0.
inline int lowest_bit(double x) {
  if (x == 0) return INT_MAX;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(x), &exponent);
  return exponent - 53 + std::countr_zero(static_cast<std::uint64_t>(std::ldexp(fraction, 53)));
}

inline int lowest_bit(const double* row, std::size_t count) {
  int lowest = INT_MAX;
  for (std::size_t t = 0; t < count; ++t) lowest = std::min(lowest, lowest_bit(row[t]));
  return lowest;
}

inline bool power_of_four(double x) {
  int exponent = 0;
  return std::frexp(x, &exponent) == 0.5 && exponent % 2 != 0;
}

// a + b rounded once to `format`. The sum in double is first rounded to odd: if inexact, its last
// bit is set, towards the exact sum. A format of at most 51 bits then rounds as if from the exact
// sum (Boldo and Melquiond, IEEE Trans. Comput. 57, 2008); for double itself the sum is already
// rounded.
inline double rounded_sum(double a, double b, const NumberFormat& format) {
  double sum = a + b;
  if (!std::isfinite(sum) || format.precision > 51) return format.round(sum);
  const double b_part = sum - a;
  const double error = (a - (sum - b_part)) + (b - b_part);
  const bool even = (std::bit_cast<std::uint64_t>(sum) & 1) == 0;
  if (error != 0 && even) sum = std::nextafter(sum, error > 0 ? HUGE_VAL : -HUGE_VAL);
  return format.round(sum);
}

// Whether every sum of some of the products q_t k_t is a number of `format`: all are multiples of
// 2^lowest, the product of the lowest bits of the two rows, and none exceeds `size` = Σ|q k|.
inline bool sums_are_exact(int query_lowest, int key_lowest, double size,
                           const NumberFormat& format) {
  if (query_lowest == INT_MAX || key_lowest == INT_MAX) return true;  // every product is 0
  const int lowest = query_lowest + key_lowest;
  return lowest >= format.min_exponent - format.precision + 1 &&
         size <= std::ldexp(1.0, lowest + format.precision) && size <= format.largest;
}

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

}  // namespace detail

// The scores' part: `scaled`, `capped`, `biased`, `may_overflow`.
template <class Real>
void tolerate_scores(const Rule& rule, const Precision& claim, const RowData& row,
                     const RowEnclosure<Real>& exact, RowTolerance& result) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double u = std::max(claim.accumulate.unit_roundoff(), claim.scores.unit_roundoff());
  const bool stored = claim.scores.precision < claim.accumulate.precision;
  const double u_store = stored ? claim.scores.unit_roundoff() : 0;
  const double u_cap = std::max(claim.softmax.unit_roundoff(), claim.scores.unit_roundoff());
  const double smallest =
      std::max(claim.accumulate.smallest_subnormal(), claim.scores.smallest_subnormal());
  const double c = std::fabs(static_cast<double>(scale_value<double>(rule.scale, row.width)));
  const bool scale_is_exact = c == 0 || detail::power_of_four(c);
  const int query_lowest = detail::lowest_bit(row.query, row.width);
  const auto d = static_cast<double>(row.width);

  result.scaled.assign(row.key_count, 0);
  result.capped.assign(row.key_count, 0);
  result.biased.assign(row.key_count, 0);
  result.may_overflow = false;
  for (std::size_t j = 0; j < row.key_count; ++j) {
    const ScoreEnclosure<Real>& score = exact.scores[j];
    const double size = score.magnitude;
    if (size == 0 && !row.visible(j)) continue;
    const auto scaled = static_cast<double>(score.scaled);
    const auto capped = static_cast<double>(score.capped);
    const auto biased = static_cast<double>(score.biased);

    const double product_size = c == 0 ? 0 : size / c;
    double error = 0;
    const bool product_is_exact =
        detail::sums_are_exact(query_lowest, detail::lowest_bit(row.key(j), row.width),
                               product_size * (1 - 0x1p-40), claim.accumulate);
    if (!product_is_exact)
      error += d * claim.accumulate.unit_roundoff() * size + d * (c + 1) * smallest;
    if (!scale_is_exact) error += detail::scale_roundings * u * size + smallest;
    if (error != 0 || !claim.scores.holds(scaled))
      error += u_store * (std::fabs(scaled) + error) + smallest;
    error *= 1 + 0x1p-20;
    const double reach = rule.scale_by_square_roots ? size : std::max(size, product_size);
    const auto overflow = [&](double size_before_rounding) {
      return !std::isfinite(claim.scores.round(size_before_rounding));
    };
    bool overflows = reach > claim.accumulate.largest || overflow(std::fabs(scaled) + error);
    result.scaled[j] = error;

    if (rule.softcap != 0) {
      const double flatness = 4 * std::exp(-2 * (std::fabs(scaled) - error) / rule.softcap);
      error = error * std::min(1.0, flatness) +
              (5 * u_cap + claim.tanh_error * claim.softmax.unit_roundoff()) * std::fabs(capped) *
                  (1 + 0x1p-20) +
              smallest;
    }
    result.capped[j] = error;

    if (row.visible(j) && row.bias[j] != 0) {
      overflows = overflows || overflow(std::fabs(biased) + error);
      error += (claim.softmax.unit_roundoff() + claim.scores.unit_roundoff()) *
                   (std::fabs(biased) + error) +
               smallest;
      if (!claim.scores.holds(row.bias[j]))
        error += claim.scores.unit_roundoff() * std::fabs(row.bias[j]);
    }
    result.biased[j] = error;
    // `!(error < ∞)`: the bound itself may have left double
    if (row.visible(j) && (overflows || !(error < infinity))) result.may_overflow = true;
  }
}

// The rest, from the scores' errors in `result.biased`.
template <class Real>
void tolerate_outputs(const Precision& claim, const RowData& row, const RowEnclosure<Real>& exact,
                      RowTolerance& result) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::size_t keys = row.key_count;
  const double u_s = claim.softmax.unit_roundoff();
  const bool weights_rounded = claim.weights.precision < claim.softmax.precision;
  const double u_p = weights_rounded ? claim.weights.unit_roundoff() : 0;
  const double weight_underflow = weights_rounded ? claim.weights.smallest_subnormal() / 2 : 0;
  const double u_v = claim.accumulate.unit_roundoff();
  const double smallest_e =
      std::ldexp(1.0, claim.softmax.min_exponent);  // exp may flush below normal numbers to 0

  double visible = 0, largest_score_error = 0;
  for (std::size_t j = 0; j < keys; ++j)
    if (row.visible(j)) {
      ++visible;
      largest_score_error = std::max(largest_score_error, result.biased[j]);
    }
  const double rescales = detail::rescales(claim, row, exact.below_maximum, result.biased);
  const double exp_error = (1.01 * claim.exp_error * (1 + rescales) + rescales) * u_s;

  // |ê_j − e_j| with e relative to the row's maximum, and a lower bound of Σ ê
  std::vector<double> deviation(keys, 0), e(keys, 0);
  double exact_sum = 0, smallest_sum = 0;
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.visible(j)) continue;
    const double y = exact.below_maximum[j];
    const double distance =
        y + result.biased[j] + largest_score_error;  // as the subject may see it
    const double argument = result.biased[j] + 2 * u_s * distance;
    e[j] = std::exp(-y);
    exact_sum += e[j];
    if (argument < 0.5)
      deviation[j] = e[j] * (std::expm1(argument) * (1 + exp_error) + exp_error);
    else
      deviation[j] = argument == infinity ? infinity : std::exp(argument - y) * (1 + exp_error);
    const double lowest = std::max(0.0, std::exp(-argument - y) * (1 - exp_error));
    smallest_sum += lowest;
    if (lowest < smallest_e) deviation[j] += std::min(e[j] + deviation[j], smallest_e);
  }
  smallest_sum =
      std::max(smallest_sum, 1 - exp_error);  // the subject's own maximum has weight exp(0)

  const double sums = (visible + 1 + 2 * rescales) * u_s;
  const double products = (visible + 2 * rescales) * u_v;
  result.weights.assign(keys, 0);
  double mean_deviation = 0;
  for (std::size_t j = 0; j < keys; ++j)
    mean_deviation += row.visible(j) ? deviation[j] / smallest_sum : 0;
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.visible(j)) continue;
    const double p = exact.weights[j];
    const double raw =
        std::min(1.0, deviation[j] / smallest_sum + p * std::min(1.0, mean_deviation));
    result.weights[j] = (raw + (sums + u_p) * std::min(1.0, p + raw)) * (1 + 0x1p-20) +
                        weight_underflow + claim.softmax.smallest_subnormal();
  }

  const std::size_t columns = row.value_width;
  std::vector<double> weight_error(columns, 0), size(columns, 0), underflow(columns, 0),
      largest(columns, 0);
  result.lowest.assign(columns, infinity);
  result.highest.assign(columns, -infinity);
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.visible(j)) continue;
    const double* v = row.value(j);
    const double d = deviation[j] / smallest_sum;
    const double p = std::min(1.0, (e[j] + deviation[j]) / smallest_sum);
    const double lost = std::min(p, weight_underflow);
    for (std::size_t t = 0; t < columns; ++t) {
      const double v_size = std::fabs(v[t]);
      const double centred = std::fabs(v[t] - exact.outputs[t].high);
      weight_error[t] += centred == 0 ? 0 : d * centred;
      size[t] += p * v_size;
      underflow[t] += lost * v_size;
      largest[t] = std::max(largest[t], v_size);
      result.lowest[t] = std::min(result.lowest[t], v[t]);
      result.highest[t] = std::max(result.highest[t], v[t]);
    }
  }
  result.outputs.assign(columns, 0);
  result.vacuous.assign(columns, false);
  result.beyond_hull.assign(columns, 0);
  for (std::size_t t = 0; t < columns; ++t) {
    const double o = exact.outputs[t].high;
    const double hull = std::max({result.highest[t] - o, o - result.lowest[t], 0.0});
    const double blend = std::min(weight_error[t], hull);
    result.vacuous[t] = result.may_overflow || (hull > 0 && weight_error[t] >= hull);
    const double weighted = std::min(size[t], largest[t]);
    const double of_sums =
        (u_p + products * (1 + u_p)) * weighted + underflow[t] + sums * (std::fabs(o) + blend) +
        visible * claim.accumulate.smallest_subnormal() + claim.output.smallest_subnormal();
    // second order: no sum loses more than a tenth, or the bound is void
    const double second_order = sums + products + u_p;
    const double growth = second_order < 0.1 ? 1 + 2 * second_order + 0x1p-20 : infinity;
    result.outputs[t] = (blend + of_sums) * growth;
    result.beyond_hull[t] = of_sums * growth;
  }
}

// Whether `format` is coarser than what the result was computed in, so that storing it rounds once
// more.
inline double output_rounding(const Precision& claim, const NumberFormat& format, double size) {
  const bool coarser =
      format.precision < claim.softmax.precision || format.precision < claim.accumulate.precision;
  return coarser && std::isfinite(size) ? format.half_ulp(size) : 0;
}

// The scores as the claimed format itself holds them, where its roundings can be foreseen: the
// definition evaluated in tensors of that format. Replaces each visible key's biased score in
// `held` by the number the format holds (possibly ±∞), and its error in `result.biased` by how far
// another rounding could lie.
template <class Real>
void hold_scores(const Rule& rule, const Precision& claim, const RowData& row,
                 const RowEnclosure<Real>& exact, const RowTolerance& tolerance,
                 std::vector<double>& held, std::vector<double>& error) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double c = scale_value<double>(rule.scale, row.width);
  const bool scale_is_exact = c == 0 || detail::power_of_four(std::fabs(c));
  const int query_lowest = detail::lowest_bit(row.query, row.width);
  held.assign(row.key_count, -infinity);
  error.assign(row.key_count, 0);

  for (std::size_t j = 0; j < row.key_count; ++j) {
    if (!row.visible(j)) continue;
    const ScoreEnclosure<Real>& score = exact.scores[j];
    // [low, high]: what the subject may hold before the rounding under way
    double low, high;
    int products = 0;
    for (std::size_t t = 0; t < row.width; ++t) products += row.query[t] * row.key(j)[t] != 0;
    const bool exact_sum = detail::sums_are_exact(
        query_lowest, detail::lowest_bit(row.key(j), row.width),
        c == 0 ? 0 : score.magnitude / std::fabs(c) * (1 - 0x1p-40), claim.accumulate);
    const auto scaled = static_cast<double>(score.scaled);
    if (scale_is_exact && (exact_sum || products <= 1)) {
      low = high = claim.accumulate.round(scaled);  // one rounding at most: of the only product
    } else {
      // the error without the storing format's rounding, which follows
      const double u = std::max(claim.accumulate.unit_roundoff(), claim.scores.unit_roundoff());
      const double before = (static_cast<double>(row.width) * claim.accumulate.unit_roundoff() +
                             detail::scale_roundings * u) *
                                score.magnitude * (1 + 0x1p-20) +
                            4 * claim.scores.smallest_subnormal();
      low = scaled - before;
      high = scaled + before;
    }
    low = claim.scores.round(low);
    high = claim.scores.round(high);
    if (rule.softcap != 0) {
      const auto capped = static_cast<double>(score.capped);
      low = claim.scores.round(capped - tolerance.capped[j]);
      high = claim.scores.round(capped + tolerance.capped[j]);
    }
    low = detail::rounded_sum(low, row.bias[j], claim.scores);
    high = detail::rounded_sum(high, row.bias[j], claim.scores);
    const double centre = claim.scores.round(static_cast<double>(score.biased));
    held[j] = std::min(high, std::max(low, centre));
    error[j] = low == high ? 0 : std::max(high - held[j], held[j] - low);
  }
}

}  // namespace attest::oracle
