// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Attention under a rule in a hundred decimal digits, from the definition of each of its parts,
// with the error that attention.hpp and score.hpp claim.
#pragma once
#include <attest/matrix.hpp>
#include <attest/rule.hpp>
#include <limits>

#include "reference_attention.hpp"

namespace tests {

// What a call brings besides query, key and value. bias and sink: null for none.
template <class T, std::size_t Tq, std::size_t Tk>
struct CallParts {
  const attest::Matrix<bool, Tq, Tk>* mask = nullptr;
  const attest::Matrix<T, Tq, Tk>* bias = nullptr;
  const T* sink = nullptr;
};

struct ReferenceRuled {
  Reals output, bound;
  std::vector<Real> log_sum_exp, log_sum_exp_bound;
  std::vector<bool> empty;  // no key and no sink: the rule says what is returned
};

template <class T, std::size_t Tq, std::size_t Tk, std::size_t D, std::size_t Dv>
ReferenceRuled reference_attention(const attest::Rule& rule, const attest::Matrix<T, Tq, D>& q,
                                   const attest::Matrix<T, Tk, D>& k,
                                   const attest::Matrix<T, Tk, Dv>& v,
                                   const CallParts<T, Tq, Tk>& parts) {
  const Real u = unit_roundoff<T>;
  const Real scale = rule.scale.by_width ? Real(1 / sqrt(Real(D))) : Real(rule.scale.given);
  const Real scale_error = u * (rule.scale.by_width ? 2 : 1) * abs(scale);  // T(given) rounds, too
  const bool after = rule.softcap_place == attest::SoftcapPlace::after_mask && rule.softcap != 0;
  const bool before = !after && rule.softcap != 0;
  ReferenceRuled result;
  for (std::size_t i = 0; i < Tq; ++i) {
    const auto position = static_cast<long>(i) + rule.offset;
    ReferenceScores scores;
    for (std::size_t j = 0; j < Tk; ++j) {
      const long ahead = static_cast<long>(j) - position;
      const bool hidden =
          (rule.causal && ahead > 0) || (rule.window_left >= 0 && ahead < -rule.window_left) ||
          (rule.window_right >= 0 && ahead > rule.window_right) ||
          (parts.mask && !(*parts.mask)[i][j]) || (parts.bias && std::isinf((*parts.bias)[i][j]));
      const auto [product, magnitude] = reference_product(q[i], k[j]);
      Real s = scale * product;
      Real error = u * (D + 1) * abs(scale) * magnitude + scale_error * abs(product);
      // √scale errs by no more, relatively, than 3/2 u; each entry of q and k by one u besides.
      if (rule.scale_by_square_roots) error = u * (D + 7) * abs(scale) * magnitude;
      const auto cap = [&] {
        const Real c = rule.softcap;
        error += u * (abs(s) + 3 * c);
        s = c * tanh(Real(s / c));
      };
      if (before) cap();
      if (!hidden) {
        if (parts.bias) s += Real((*parts.bias)[i][j]), error += u * abs(s);
        if (rule.alibi) {  // one head: slope 2^-8; the sum of two biases rounds once more
          const Real given = parts.bias ? Real((*parts.bias)[i][j]) : Real(0);
          const Real alibi = -Real(ahead < 0 ? -ahead : ahead) / 256;
          s += alibi;
          error += u * (abs(s) + abs(Real(given + alibi)) + abs(alibi));
        }
      }
      if (after) {
        if (hidden)
          s = -Real(rule.softcap), error = 0;
        else
          cap();
      }
      const bool counts = !hidden || after;
      scores.score.push_back(counts ? s : Real(0));
      scores.error.push_back(counts ? error : Real(0));
      scores.seen.push_back(counts);
    }
    if (parts.sink) {
      scores.score.push_back(Real(*parts.sink));
      scores.error.push_back(0);
      scores.seen.push_back(true);
    }
    ReferenceRow row = reference_row(scores, v);
    Real sum, worst, largest;
    std::size_t n = 0;
    for (std::size_t j = 0; j < scores.seen.size(); ++j)
      if (scores.seen[j]) {
        if (n++ == 0 || scores.score[j] > largest) largest = scores.score[j];
        if (scores.error[j] > worst) worst = scores.error[j];
      }
    for (std::size_t j = 0; j < scores.seen.size(); ++j)
      if (scores.seen[j]) sum += exp(Real(scores.score[j] - largest));
    result.empty.push_back(n == 0);
    const Real in_base = rule.log_sum_exp_base == attest::LogBase::e ? Real(1) : 1 / log(Real(2));
    const Real lse = n == 0 ? Real(0) : Real(in_base * (largest + log(sum)));
    const Real log_total = n == 0 ? Real(0) : Real(in_base * log(sum));
    result.log_sum_exp.push_back(lse);
    result.log_sum_exp_bound.push_back(
        higher_orders * (in_base * worst + u * (in_base * Real(n + 2) + abs(log_total) + abs(lse) +
                                                2 * in_base * abs(largest))) +
        4 * smallest<T>);
    result.output.push_back(std::move(row.output));
    result.bound.push_back(std::move(row.bound));
  }
  return result;
}

}  // namespace tests
