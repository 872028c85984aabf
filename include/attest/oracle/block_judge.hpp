// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Verdicts on blocks of rows where cheap bounds decide: below a lower bound of what tolerance.hpp
// allows an element certainly passes, above an upper bound it certainly fails. Rows with anything
// in between are left to RowJudge, so that verdicts are the same as its own.
//
// Notation as in tolerance.hpp.
// Lower bound. Σ p|v| over some of the keys is at most `weighted` there; products >= N u_a, and
//   u_i more where a visible value is rounded to an input format, sums >= (N + 1) u_s, and the
//   blend is at least ε Σ p|v − o| >= ε (Σ p|v| − |o|), ε exp's own error.
//   Of what independent roundings reach (likely_tolerance.hpp): Σ p² v² over some of the keys, and
//   as many roundings of sums as there are keys.
// Upper bound. With A at least every argument error, folded scale included, and f the flushed
//   weight, Σ |ê − e| / Σ ê <= ((e^A − 1)(1 + ε) + ε + N f/L) / (e^-A (1 − ε) − N f/L) = σ: a blend
//   is off by at most σ max|v − o|. If σ < 1 no output is vacuous.
#pragma once
#include <attest/oracle/block_enclosure.hpp>
#include <attest/oracle/largest_weights.hpp>
#include <attest/oracle/row_judge.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace attest::oracle::detail {

// Weights in a narrow format err so much that only close bounds decide, values rounded to one so
// much that only the closest do.
inline SumsWanted sums_wanted(const Precision& claim) {
  const bool weights_rounded = claim.weights.precision < claim.softmax.precision;
  return {weights_rounded, claim.input ? std::size_t{1} : weights_rounded ? std::size_t{4} : 16};
}

enum class Quick { pass, fail, fail_beyond_hull, open };

class BlockJudge {
 public:
  BlockJudge(const Problem& problem, const Precision& claim)
      : problem_(problem),
        claim_(claim),
        format_(*problem.output->got.format()),
        losses_(problem.rule, claim, problem.width()),
        largest_(claim, losses_),
        reach_(likely_reach(problem.output->got.size())),
        output_underflow_(claim.output.smallest_subnormal()) {}

  // Verdicts of the last row, in order of columns; `any_open`: they are not all known.
  std::vector<Quick> verdicts;
  bool any_open = false;
  bool any_failed = false;
  double excess = 0;  // about the largest error in units of what is allowed, of the gravest verdict

  void judge(const BlockHead& head, const BlockRows& block, std::size_t r, const double* got) {
    verdicts.assign(head.value_width, Quick::open);
    any_open = true;
    any_failed = false;
    excess = 0;
    const BlockRow& row = block.rows[r];
    if (!row.bounded || !prepare(head, row)) return;
    closer_ = false;
    judge_elements(head, block, r, got);
    if (!any_open || problem_.rule.softcap != 0) return;
    largest_.sum(head, block, r);
    closer_ = true;
    judge_elements(head, block, r, got);
  }

 private:
  void judge_elements(const BlockHead& head, const BlockRows& block, std::size_t r,
                      const double* got) {
    any_open = any_failed = false;
    excess = 0;
    double failed_excess = 0;
    for (std::size_t t = 0; t < head.value_width && !any_open; ++t) {
      double element_excess = 0;
      verdicts[t] = judge_element(head, block, r, t, got[t], element_excess);
      if (verdicts[t] == Quick::open) any_open = true;
      const bool fails = verdicts[t] != Quick::pass;
      any_failed = any_failed || fails;
      double& worst = fails ? failed_excess : excess;
      worst = std::max(worst, element_excess);
    }
    if (any_failed) excess = failed_excess;
  }

  // Bounds that hold for the whole row; false: none.
  bool prepare(const BlockHead& head, const BlockRow& row) {
    const auto n = static_cast<double>(row.visible);
    const RowSize& key = head.key_size;
    const ScoreLoss loss =
        losses_.at_most(row.query.size, row.query.largest, key.size, key.largest, row.scores);
    if (loss.overflows) return false;
    const double u_s = claim_.softmax.unit_roundoff(), u_a = claim_.output_roundoff();
    if (claim_.weight_rounding) return false;  // that is RowJudge's
    double rescales = n - 1;
    if (claim_.tile)
      rescales = *claim_.tile == 0
                     ? 0
                     : std::min(rescales, static_cast<double>((head.keys - 1) / *claim_.tile));
    const bool weights_rounded = claim_.weights.precision < claim_.softmax.precision;
    u_p_ = weights_rounded ? claim_.weights.unit_roundoff() : 0;
    weight_underflow_ = weights_rounded || claim_.weights.min_exponent > claim_.softmax.min_exponent
                            ? claim_.weights.smallest_subnormal()
                            : 0;
    sums_ = compounded((n + 1 + 2 * rescales) * u_s);
    products_ = compounded((n + 2 * rescales) * u_a + claim_.input_roundoff());
    if (!std::isfinite(sums_) || !std::isfinite(products_)) return false;
    visible_ = n;
    per_size_ = u_p_ + n * u_a + (all_values_held(head, row) ? 0 : claim_.input_roundoff());
    per_output_ = (n + 1) * u_s;
    // as far as it adds up, as in the worst case; and squares of what is independent
    likely_per_size_ = (claim_.truncating ? n * u_a : 0) + claim_.input_roundoff();
    likely_per_output_ = 2 * u_s;
    per_squared_partial_ = claim_.truncating ? 0 : (n + 4) * u_a * u_a;
    per_squared_output_ = (n + 2) * u_s * u_s;
    exp_error_ = std::expm1(claim_.exp_error * u_s);
    underflow_ = (n + 1) * std::max(claim_.output_accumulator().smallest_subnormal(),
                                    claim_.softmax.smallest_subnormal()) +
                 claim_.input_underflow();

    const double x = row.scores.biased;
    const double folded = loss.biased + 2 * u_s * (2 * x + row.scores.bias);
    const double argument = folded + (2 + claim_.exp_argument_error) * u_s * (2 * x + 2 * folded);
    const double exp_error = std::expm1((claim_.exp_error * (1 + rescales) + rescales) * u_s);
    if (!(argument < 0.4) || !(exp_error < 0.4)) return false;
    const double flushed =
        n * std::ldexp(1.0, claim_.softmax.min_exponent) * std::exp(folded) / row.sum;
    const double least = std::exp(-argument) * (1 - exp_error) - flushed;
    share_ = 1.001 * (std::expm1(argument) * (1 + exp_error) + exp_error + flushed) / least;
    return least > 0 && share_ < 0.99;
  }

  // Whether the input format may hold every value that the row sees.
  bool all_values_held(const BlockHead& head, const BlockRow& row) {
    if (!claim_.input) return true;
    if (counted_ != &head || rounded_before_.size() != head.keys + 1) {
      counted_ = &head;
      rounded_before_.assign(1, 0);
      for (std::size_t j = 0; j < head.keys; ++j) {
        const double* value = head.values.data() + j * head.columns;
        const bool held = std::all_of(value, value + head.value_width,
                                      [&](double v) { return claim_.input_holds(v); });
        rounded_before_.push_back(rounded_before_.back() + !held);
      }
    }
    if (problem_.mask && rounded_before_.back() != head.keys) return true;
    return rounded_before_[row.last] == rounded_before_[row.first];
  }

  Quick judge_element(const BlockHead& head, const BlockRows& block, std::size_t r, std::size_t t,
                      double got, double& element_excess) const {
    const Enclosure exact = block.output(r, t);
    if (!std::isfinite(exact.high) || !std::isfinite(exact.radius)) return Quick::open;
    const double size = std::fabs(exact.high);
    const double least_size = std::max(0.0, size - exact.radius);
    const double most_size = size + exact.radius;
    if (std::isfinite(got)) {
      const double weighted =
          std::max({block.size(r, t), least_size, closer_ ? largest_.sizes[t] : 0});
      const double exp_error = exp_error_ * std::max(0.0, weighted - most_size);
      const double worst =
          per_size_ * weighted + per_output_ * least_size + (closer_ ? largest_.worst[t] : 0);
      const double partial = 0.5 * (weighted + least_size);
      const double likely = likely_per_size_ * weighted + likely_per_output_ * least_size +
                            (closer_ ? largest_.systematic[t] : 0) +
                            reach_ * std::sqrt((closer_ ? largest_.squares[t] : 0) +
                                               u_p_ * u_p_ * block.squares(r, t) +
                                               per_squared_partial_ * partial * partial +
                                               per_squared_output_ * least_size * least_size);
      double lower = std::min(worst, likely) + exp_error + underflow_ + output_underflow_;
      lower *= 0.999;
      lower += output_rounding(claim_, format_, least_size + lower);
      const double error = exact.farthest(got);
      if (error <= lower) {
        element_excess = lower > 0 ? error / lower : 0;
        return Quick::pass;
      }
      // an 8-bit format may saturate there, which RowJudge knows about
      if (format_.precision <= 4 && std::fabs(got) == format_.largest) return Quick::open;
    }

    const double spread = block.farthest(t, exact.high), most = head.largest(t);
    if (claim_.input && !std::isfinite(claim_.input->round(most))) return Quick::open;
    const double of_sums =
        1.001 * ((u_p_ * std::max(most, spread) + products_ * (1 + u_p_) * most +
                  visible_ * weight_underflow_ * most) *
                     (1 + sums_) +
                 sums_ * (most_size + spread) + underflow_ * (1 + sums_) + output_underflow_);
    double upper = 1.001 * share_ * spread + of_sums;
    upper += output_rounding(claim_, format_, most_size + exact.radius + upper);
    upper *= 1 + 0x1p-20;
    if (!std::isfinite(upper)) return Quick::open;
    element_excess = std::numeric_limits<double>::infinity();
    if (std::isnan(got)) return format_.has_infinity ? Quick::fail : Quick::open;
    if (std::isinf(got)) {
      const double threshold =
          format_.largest + std::ldexp(1.0, format_.max_exponent - format_.precision);
      return most_size + exact.radius + upper < threshold ? Quick::fail : Quick::open;
    }
    const double error = exact.nearest(got);
    if (!(error > upper)) return Quick::open;
    element_excess = error / upper;

    double lowest = head.lowest[t], highest = head.highest[t];
    const BlockRow& row = block.rows[r];
    const bool all_visible = row.visible == head.keys;
    if (!all_visible) {
      if (problem_.mask) return Quick::open;
      lowest = std::numeric_limits<double>::infinity();
      highest = -lowest;
      for (std::size_t j = row.first; j < row.last; ++j) {
        lowest = std::min(lowest, head.values[j * head.columns + t]);
        highest = std::max(highest, head.values[j * head.columns + t]);
      }
    }
    if (lowest <= got && got <= highest) return Quick::fail;
    const auto slack = [&](double end) {
      return of_sums + output_rounding(claim_, format_, std::fabs(end) + of_sums);
    };
    const bool outside = got < lowest - slack(lowest) || got > highest + slack(highest);
    return outside ? Quick::fail_beyond_hull : Quick::open;
  }

  const Problem& problem_;
  const Precision& claim_;
  const NumberFormat& format_;
  ScoreLosses losses_;
  LargestWeights largest_;
  bool closer_ = false;  // with its sums
  double reach_;         // of independent roundings
  double output_underflow_;
  const BlockHead* counted_ = nullptr;
  std::vector<std::size_t> rounded_before_;  // rows of values that the input format does not hold
  // of the row
  double visible_ = 0, u_p_ = 0, weight_underflow_ = 0, sums_ = 0, products_ = 0;
  double likely_per_size_ = 0, likely_per_output_ = 0;
  double per_squared_partial_ = 0, per_squared_output_ = 0;
  double per_size_ = 0, per_output_ = 0, exp_error_ = 0, underflow_ = 0, share_ = 0;
};

}  // namespace attest::oracle::detail
