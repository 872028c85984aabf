// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// PreciseRow: the enclosure of one row in any number of bits, its radii included, so that neither
// underflows. It serves where results are rounded to the last bit; verdicts need less.
//
// Notation as in enclosure.hpp; u = 2^(1 − Bits), which leaves Boost a factor of two.
//
// Scores. |ŝ − s| <= (d + 8) u |c| Σ|q k|. The cap adds the error of tanh, of quotient and product,
//   and the bias one rounding.
// Quotients Σ e_j C_j / Σ e_j n_j. The terms of either sign are added apart, P − M = Σ e_j C_j, so
//   that no sum cancels: each of P, M and L has the relative error δ = ρ + (N + 32) u at most,
//   where ρ bounds the relative errors of all e_j as in enclosure.hpp, and C_j may bring 16 u of
//   its own. |ô − o| <= (P + M)/L (2.2 δ + 4 u) while δ <= 2^-10. An e_j below 2^-140000000 is left
//   out: it adds N 2^-140000000 to δ and, times the largest |C|, to P and M.
#pragma once
#include <attest/oracle/enclosure.hpp>
#include <attest/oracle/problem.hpp>
#include <attest/oracle/rounding.hpp>
#include <attest/rule.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

namespace attest::oracle {

// exp and tanh of Float<Bits>, with bounds that tests/oracle/rounding.cpp checks against more bits.
template <unsigned Bits>
struct Precise {
  using Real = Float<Bits>;
  static Real power_of_two(int exponent) { return ldexp(Real(1), exponent); }
  static Real roundoff() { return power_of_two(1 - static_cast<int>(Bits)); }
  // exp: relative error for lowest <= y <= 0; the multiple of ln 2 that is taken off y costs up to
  // 28 bits.
  static constexpr double lowest = -97100000;  // e^lowest < 2^-140000000
  static Real exp_error() { return power_of_two(40 - static_cast<int>(Bits)); }
  static Real below_lowest() { return power_of_two(-140000000); }
  static Real tanh_error() { return power_of_two(50 - static_cast<int>(Bits)); }

  static Real tanh(const Real& z) {
    const Real size = abs(z);
    if (size > Bits) return z < 0 ? Real(-1) : Real(1);  // 1 − tanh < 2 e^(−2·Bits)
    if (size > 0.0009765625) {                           // 1 − w loses ten bits at most
      const Real w = boost::multiprecision::exp(Real(-2 * size));
      const Real quotient = (1 - w) / (1 + w);
      return z < 0 ? Real(-quotient) : quotient;
    }
    // sinh z / cosh z by their series; each term is less than 2^-20 of the one before
    const Real s = z * z;
    Real sinh_sum = 0, cosh_sum = 0, term = 1;
    for (unsigned n = 0; n < Bits / 20 + 2; ++n) {
      cosh_sum += term;
      sinh_sum += term / (2 * n + 1);
      term *= s / ((2 * n + 1) * (2 * n + 2));
    }
    return z * sinh_sum / cosh_sum;
  }
};

template <unsigned Bits>
class PreciseRow {
 public:
  using Real = Float<Bits>;
  struct Interval {
    Real low{}, high{};
  };

  // `row` is finite; `of_masked_keys`: scores of masked keys as well.
  PreciseRow(const Rule& rule, const RowData& row, bool of_masked_keys) : scores_(row.key_count) {
    const Real u = P::roundoff();
    const Real c = rule.scale.by_width ? Real(1 / sqrt(Real(row.width))) : Real(rule.scale.given);
    for (std::size_t j = 0; j < row.key_count; ++j) {
      if (!row.visible(j) && !of_masked_keys) continue;
      Real plus = 0, minus = 0;
      for (std::size_t t = 0; t < row.width; ++t) {
        const Real product = Real(row.query[t]) * Real(row.key(j)[t]);
        if (product > 0)
          plus += product;
        else
          minus -= product;
      }
      Score& score = scores_[j];
      score.scaled = c * (plus - minus);
      score.scaled_radius = (row.width + 8) * u * abs(c) * (plus + minus);
      score.capped = score.scaled;
      score.capped_radius = score.scaled_radius;
      if (rule.softcap != 0) {
        score.capped = rule.softcap * P::tanh(Real(score.scaled / rule.softcap));
        score.capped_radius += (P::tanh_error() + 4 * u) * abs(score.capped);
      }
      score.biased = score.capped;
      score.biased_radius = score.capped_radius;
      if (row.visible(j) && row.bias[j] != 0) {
        score.biased += row.bias[j];
        score.biased_radius += 2 * u * abs(score.biased);
      }
    }
  }

  Interval score(ScoreStage stage, std::size_t j) const {
    const Score& s = scores_[j];
    if (stage == ScoreStage::scaled) return around(s.scaled, s.scaled_radius);
    if (stage == ScoreStage::capped) return around(s.capped, s.capped_radius);
    return around(s.biased, s.biased_radius);
  }

  // The exponentials of some keys, each standing for `counts` keys of the same score, relative to
  // the largest of them.
  class Exponentials {
   public:
    Exponentials(const PreciseRow& row, std::vector<std::size_t> keys,
                 const std::vector<std::size_t>& counts)
        : e_(keys.size()) {
      if (keys.empty()) return;
      const Real u = P::roundoff();
      std::size_t top = 0;
      for (std::size_t i = 1; i < keys.size(); ++i)
        if (row.scores_[keys[i]].biased > row.scores_[keys[top]].biased) top = i;
      const Real maximum = row.scores_[keys[top]].biased;
      Real argument_error = 0;
      for (std::size_t i = 0; i < keys.size(); ++i) {
        const Score& score = row.scores_[keys[i]];
        const Real y = score.biased - maximum;
        const Real error = score.biased_radius - u * y;
        if (y + error < P::lowest) {
          ++left_out_;
          continue;
        }
        argument_error = std::max(argument_error, error);
        e_[i] = boost::multiprecision::exp(y);
        sum_ += e_[i] * counts[i];
      }
      const auto n = static_cast<double>(keys.size());
      delta_ = 1.01 * argument_error + P::exp_error() * 1.001 + (n + 32) * u +
               n * P::below_lowest() * *std::max_element(counts.begin(), counts.end());
      bounded_ = argument_error <= 0.0005 && delta_ <= 0.0009765625;
    }

    // Σ e C / Σ e n of coefficients with at most 16 u of relative error, or nothing.
    std::optional<Interval> quotient(const std::vector<Real>& coefficients) const {
      if (!bounded_) return std::nullopt;
      const Parts parts = add(coefficients);
      const Real centre = (parts.plus - parts.minus) / sum_;
      const Real radius = (2.2 * delta_ + 4 * P::roundoff()) * (parts.plus + parts.minus) / sum_ +
                          2 * parts.left_out;
      return around(centre, radius);
    }

    // e / Σ e n of one of the keys, or nothing.
    std::optional<Interval> share(std::size_t i) const {
      if (!bounded_) return std::nullopt;
      if (e_[i] == 0) return Interval{0, 2 * P::below_lowest()};
      const Real centre = e_[i] / sum_;
      return around(centre, (2.2 * delta_ + 4 * P::roundoff()) * centre);
    }

    // The sign of Σ e C, or 0 where it stays unknown.
    int sign(const std::vector<Real>& coefficients) const {
      if (!bounded_) return 0;
      const Parts parts = add(coefficients);
      const Real error = 1.1 * delta_ * (parts.plus + parts.minus) + 2 * parts.left_out;
      const Real difference = parts.plus - parts.minus;
      return difference > error ? 1 : difference < -error ? -1 : 0;
    }

   private:
    struct Parts {
      Real plus = 0, minus = 0, left_out = 0;
    };
    Parts add(const std::vector<Real>& coefficients) const {
      Parts parts;
      for (std::size_t i = 0; i < e_.size(); ++i) {
        const Real term = e_[i] * coefficients[i];
        if (term > 0)
          parts.plus += term;
        else
          parts.minus -= term;
        if (e_[i] == 0) parts.left_out = std::max(parts.left_out, Real(abs(coefficients[i])));
      }
      parts.left_out *= left_out_ * P::below_lowest();
      return parts;
    }

    std::vector<Real> e_;
    Real sum_ = 0, delta_ = 0;
    std::size_t left_out_ = 0;
    bool bounded_ = false;
  };

 private:
  using P = Precise<Bits>;
  struct Score {
    Real scaled = 0, capped = 0, biased = 0;
    Real scaled_radius = 0, capped_radius = 0, biased_radius = 0;
  };
  // A little wider than the radius, which itself was rounded.
  static Interval around(const Real& centre, const Real& radius) {
    const Real wider = radius * 1.001;
    return {Real(centre - wider), Real(centre + wider)};
  }

  std::vector<Score> scores_;
};

}  // namespace attest::oracle
