// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What the claimed arithmetic may lose of a score, and which scores it can be foreseen to hold.
//
// Notation as in enclosure.hpp; u_a, u_S, u_s are the roundoffs of accumulation, score storage and
// softmax, u the coarser of u_a and u_S.
//
// The product and the scale: |ŝ_j − s_j| <= |c| (d u_a + 6 u) Σ|q k| + u_S |s_j|, compounded. The
//   scale may be applied to q, to k, to the product, or by its root to both; at worst √(1/√d) is
//   taken on both sides, each with two roundoffs of its own and one of its product. What is exact
//   loses nothing: a sum of products that are all multiples of one power of two and small enough,
//   and a scale that is a power of four, if operands fit the format and do not underflow. Inputs
//   rounded to a coarser format first add their roundoff once each.
// A cap adds five roundings (the cap itself, a quotient by reciprocal, product, storing) and tanh's
//   error, and multiplies the error so far by the derivative of tanh, at most
//   4 exp(−2(|s| − error)/cap).
// A bias other than 0 adds one rounding of the sum and one of storing it; a softmax in a narrower
//   format than the scores' rounds them once more.
//
// A step may also leave the range of its format. That excuses infinities and NaNs only where the
// definition's own steps do: operands scaled, partial sums of q·k, scores. A sum of weighted values
// that overflows although the output is finite is the implementation's fault.
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

struct ScoreTolerance {
  std::vector<double> scaled, capped, biased;  // of each key, in order of the steps
  // Of `biased`, what roundings of different keys may have in common: of the scale and of the query
  // it multiplies, of inputs, of a function's own error, of sums that are cut off.
  std::vector<double> systematic;
  std::vector<bool> overflows;  // of each key: some step may leave its format's range
  bool may_overflow = false;    // a visible key's may
};

namespace detail {

// The exponent of the lowest set bit of x; INT_MAX for 0.
inline int lowest_bit(double x) {
  if (x == 0) return INT_MAX;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(x), &exponent);
  return exponent - 53 + std::countr_zero(static_cast<std::uint64_t>(std::ldexp(fraction, 53)));
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

}  // namespace detail

// How large the numbers are that a score is made of.
struct ScoreSizes {
  double product, scaled, capped, biased;  // Σ|q k| and the score after each step
  double bias;
};
struct ScoreLoss {
  double scaled = 0, capped = 0, biased = 0, systematic = 0;
  bool overflows = false;
};

// What the claimed arithmetic loses of one score.
class ScoreLosses {
 public:
  ScoreLosses(const Rule& rule, const Precision& claim, std::size_t width)
      : rule_(rule), claim_(claim), width_(static_cast<double>(width)) {
    scale_ = std::fabs(scale_value<double>(rule.scale, width));
    root_ = std::sqrt(scale_);
    stored_ = claim.scores.precision < claim.accumulate.precision;
    operand_format_ = stored_ ? claim.scores : claim.accumulate;
  }

  // At most this of any visible score of a query and a key whose Σ|x| and max |x| are at most
  // these.
  ScoreLoss at_most(double query_size, double query_largest, double key_size, double key_largest,
                    const ScoreSizes& sizes) const {
    constexpr int far_below = INT_MIN / 4;  // so that nothing counts as exact
    return losses({far_below, query_size, query_largest, false, false},
                  {far_below, key_size, key_largest, false, false}, sizes, true, true);
  }

  // What exactness and range need to know of a query or key.
  struct Operand {
    int lowest_bit = INT_MAX;
    double size = 0, largest = 0;  // Σ|x|, max |x|
    bool held = true;              // by the format that scaled operands are held in
    bool taken_exactly = true;     // the input format holds it
  };
  Operand operand(const double* x, std::size_t count) const {
    Operand result;
    for (std::size_t t = 0; t < count; ++t) {
      result.lowest_bit = std::min(result.lowest_bit, detail::lowest_bit(x[t]));
      result.size += std::fabs(x[t]);
      result.largest = std::max(result.largest, std::fabs(x[t]));
      result.held = result.held && operand_format_.holds(x[t]);
      result.taken_exactly = result.taken_exactly && claim_.input_holds(x[t]);
    }
    return result;
  }

  // At least this of the score of a visible key whose Σ|q k| and |q·k| are at least these, by a
  // rule without softcap. What may be exact counts as exact, and a bias is left out.
  ScoreLoss at_least(const Operand& query, const Operand& key, double product_size,
                     double product) const {
    if (product_and_scale(query, key, product_size).error == 0) return {};
    const double scaled = scale_ * product;
    return losses(query, key, {product_size, scaled, scaled, 0, 0}, true, false);
  }

 protected:
  static constexpr double slightly_more = 1 + 0x1p-20;  // for the rounding of these bounds
  // of the scale and its application, in roundoffs of |c| Σ|q k|; see above
  static constexpr double scale_roundings = 6;

  static double smallest(const NumberFormat& format) { return format.smallest_subnormal(); }
  static int smallest_exponent(const NumberFormat& format) {
    return format.min_exponent - format.precision + 1;
  }
  static bool leaves(const NumberFormat& format, double size) {
    return !std::isfinite(format.round(size));
  }
  template <class Real>
  static double size_of(const Real& score) {
    return std::fabs(static_cast<double>(score));
  }
  // `any`: of whatever numbers up to these sizes, else of numbers of these sizes.
  ScoreLoss losses(const Operand& query, const Operand& key, const ScoreSizes& sizes, bool visible,
                   bool any) const {
    ScoreLoss result;
    const ProductLoss of_product = product_and_scale(query, key, sizes.product);
    double error = of_product.error;
    result.systematic = of_product.systematic;
    bool overflows = product_overflows(query, key, sizes.product, sizes.scaled + error);
    if (error != 0 || any || !claim_.scores.holds(sizes.scaled))
      error += store(sizes.scaled + error) + smallest(claim_.scores);
    result.scaled = error;

    if (rule_.softcap != 0) {
      const double flatness = any ? 1 : 4 * std::exp(-2 * (sizes.scaled - error) / rule_.softcap);
      const double u = std::max(claim_.softmax.unit_roundoff(), claim_.scores.unit_roundoff());
      error = error * std::min(1.0, flatness) +
              (5 * u + claim_.tanh_error * claim_.softmax.unit_roundoff()) * sizes.capped +
              (rule_.softcap + 1) * std::max(smallest(claim_.scores), smallest(claim_.softmax));
      error *= slightly_more;
      result.systematic += claim_.tanh_error * claim_.softmax.unit_roundoff() * sizes.capped;
    }
    result.capped = error;

    if (visible && sizes.bias != 0) {
      overflows = overflows || leaves(claim_.scores, sizes.biased + error);
      error += (claim_.softmax.unit_roundoff() + claim_.scores.unit_roundoff()) *
                   (sizes.biased + error) +
               smallest(claim_.scores);
      if (any || !claim_.scores.holds(sizes.bias))
        error += claim_.scores.unit_roundoff() * std::fabs(sizes.bias);
    }
    if (cast_to_softmax() && visible &&
        (error != 0 || any || !claim_.softmax.holds(sizes.biased))) {
      overflows = overflows || leaves(claim_.softmax, sizes.biased + error);
      error += claim_.softmax.unit_roundoff() * (sizes.biased + error) + smallest(claim_.softmax);
    }
    result.biased = error;
    // `!(error < ∞)`: the bound itself may have left double
    result.overflows = overflows || !(error < std::numeric_limits<double>::infinity());
    return result;
  }
  double store(double size) const { return stored_ ? claim_.scores.unit_roundoff() * size : 0; }
  bool cast_to_softmax() const {
    return claim_.softmax.precision < claim_.scores.precision ||
           claim_.softmax.max_exponent < claim_.scores.max_exponent;
  }

  // Every sum of some of the products q_t k_t is a number of the accumulator's format: all are
  // multiples of 2^lowest, the product of the lowest bits of the two rows, and none exceeds Σ|q k|.
  bool product_is_exact(const Operand& query, const Operand& key, double product_size) const {
    if (query.lowest_bit == INT_MAX || key.lowest_bit == INT_MAX)
      return true;  // all products are 0
    const NumberFormat& format = claim_.accumulate;
    const int lowest = query.lowest_bit + key.lowest_bit;
    const double most = product_size * (1 + 0x1p-40);  // as computed in double
    return query.taken_exactly && key.taken_exactly && lowest >= smallest_exponent(format) &&
           most <= format.largest && most <= std::ldexp(1.0, lowest + format.precision);
  }

  // The scale is a power of four, and both operands fit their format before and after it or its
  // root is applied.
  bool scale_is_exact(const Operand& query, const Operand& key) const {
    if (scale_ == 0) return true;
    if (!detail::power_of_four(scale_) || !query.held || !key.held) return false;
    const int shrink = std::min(0, std::ilogb(scale_));
    const auto survives = [&](const Operand& x) {
      return x.lowest_bit == INT_MAX || x.lowest_bit + shrink >= smallest_exponent(operand_format_);
    };
    return survives(query) && survives(key);
  }

  // The error of c q·k before it is stored, and what of it keys may share.
  struct ProductLoss {
    double error, systematic;
  };
  ProductLoss product_and_scale(const Operand& query, const Operand& key,
                                double product_size) const {
    const double u = std::max(claim_.accumulate_roundoff(), claim_.scores.unit_roundoff());
    double sums = 0, shared = 0, underflow = 0;
    if (!product_is_exact(query, key, product_size)) {
      sums = width_ * claim_.accumulate_roundoff();
      underflow += width_ * (scale_ + 1) * smallest(claim_.accumulate);
    }
    if (!scale_is_exact(query, key)) {
      shared += scale_roundings * u;
      underflow +=
          smallest(operand_format_) * (1 + 0.5 * std::max(1.0, root_) * (query.size + key.size));
    }
    for (const Operand* x : {&query, &key})
      if (!x->taken_exactly) shared += claim_.input_roundoff();
    if (!query.taken_exactly || !key.taken_exactly)
      underflow += claim_.input_underflow() * std::max({1.0, scale_, root_}) *
                   (query.size + key.size + width_ * claim_.input_underflow());
    if (claim_.truncating) shared += sums;
    const double error =
        (std::expm1(claim_.truncating ? shared : sums + shared) * scale_ * product_size +
         underflow) *
        slightly_more;
    return {error, std::min(error, (std::expm1(shared) * scale_ * product_size + underflow) *
                                       slightly_more)};
  }

  bool product_overflows(const Operand& query, const Operand& key, double product_size,
                         double scaled) const {
    const double factor = rule_.scale_by_square_roots ? root_ : scale_;
    const double reach =
        rule_.scale_by_square_roots ? scale_ * product_size : std::max(scale_, 1.0) * product_size;
    const double unscaled = rule_.scale_by_square_roots || scale_ == 0 ? 0 : scaled / scale_;
    if (claim_.input && (leaves(*claim_.input, std::max(1.0, factor) * query.largest) ||
                         leaves(*claim_.input, std::max(1.0, factor) * key.largest)))
      return true;
    return reach > claim_.accumulate.largest || leaves(claim_.scores, scaled) ||
           leaves(claim_.scores, unscaled) || leaves(operand_format_, factor * query.largest) ||
           leaves(operand_format_, factor * key.largest);
  }

  Rule rule_;
  Precision claim_;
  double width_, scale_, root_;
  bool stored_;
  NumberFormat operand_format_{};
};

// The claimed arithmetic of scores over the keys of one head.
class ScoreArithmetic : ScoreLosses {
 public:
  // `head`: its keys are read once, here; its query and bias are not.
  ScoreArithmetic(const Rule& rule, const Precision& claim, const RowData& head)
      : ScoreLosses(rule, claim, head.width) {
    keys_.reserve(head.key_count);
    for (std::size_t j = 0; j < head.key_count; ++j)
      keys_.push_back(operand(head.key(j), head.width));
  }

  // The tolerance of each score of the row that `exact` encloses.
  template <class Real>
  void tolerate(const RowData& row, const RowEnclosure<Real>& exact, ScoreTolerance& result) const {
    const Operand query = operand(row.query, row.width);
    result.scaled.assign(row.key_count, 0);
    result.capped.assign(row.key_count, 0);
    result.biased.assign(row.key_count, 0);
    result.systematic.assign(row.key_count, 0);
    result.overflows.assign(row.key_count, false);
    result.may_overflow = false;
    for (std::size_t j = 0; j < row.key_count; ++j) {
      const ScoreEnclosure<Real>& score = exact.scores[j];
      if (score.product_size == 0 && !row.visible(j)) continue;
      const double scaled = size_of(score.scaled);
      const ScoreSizes sizes{score.product_size, scaled, size_of(score.capped),
                             size_of(score.biased), row.visible(j) ? row.bias[j] : 0};
      const ScoreLoss loss = losses(query, keys_[j], sizes, row.visible(j), false);
      result.scaled[j] = loss.scaled;
      result.capped[j] = loss.capped;
      result.biased[j] = loss.biased;
      result.systematic[j] = std::min(loss.systematic, loss.biased);
      result.overflows[j] = loss.overflows;
      if (row.visible(j) && loss.overflows) result.may_overflow = true;
    }
  }

  // The scores as the claimed format itself holds them, where its roundings can be foreseen: the
  // definition evaluated in tensors of that format. `held`: of each visible key the number the
  // format holds, possibly ±∞; `error`: how far from it another admissible rounding could lie.
  template <class Real>
  void hold(const RowData& row, const RowEnclosure<Real>& exact, const ScoreTolerance& tolerance,
            std::vector<double>& held, std::vector<double>& error) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const Operand query = operand(row.query, row.width);
    held.assign(row.key_count, -infinity);
    error.assign(row.key_count, 0);
    for (std::size_t j = 0; j < row.key_count; ++j) {
      if (!row.visible(j)) continue;
      const ScoreEnclosure<Real>& score = exact.scores[j];
      const auto scaled = static_cast<double>(score.scaled);
      // [low, high]: what the subject may hold before the rounding under way
      double low, high;
      std::size_t products = 0;
      for (std::size_t t = 0; t < row.width; ++t) products += row.query[t] * row.key(j)[t] != 0;
      if (scale_is_exact(query, keys_[j]) &&
          (products <= 1 || product_is_exact(query, keys_[j], score.product_size))) {
        low = high = claim_.accumulate.round(scaled);  // one rounding at most: of the only product
      } else {
        const double before = product_and_scale(query, keys_[j], score.product_size).error;
        low = scaled - before;
        high = scaled + before;
      }
      low = claim_.scores.round(low);
      high = claim_.scores.round(high);
      if (rule_.softcap != 0) {
        const auto capped = static_cast<double>(score.capped);
        low = claim_.scores.round(capped - tolerance.capped[j]);
        high = claim_.scores.round(capped + tolerance.capped[j]);
      }
      low = detail::rounded_sum(low, row.bias[j], claim_.scores);
      high = detail::rounded_sum(high, row.bias[j], claim_.scores);
      double centre = claim_.scores.round(static_cast<double>(score.biased));
      if (cast_to_softmax()) {
        low = claim_.softmax.round(low);
        high = claim_.softmax.round(high);
        centre = claim_.softmax.round(centre);
      }
      held[j] = std::min(high, std::max(low, centre));
      error[j] = low == high ? 0 : std::max(high - held[j], held[j] - low);
    }
  }

 private:
  std::vector<Operand> keys_;
};

}  // namespace attest::oracle
