// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The gradient of attention in a hundred decimal digits, from its definition: weights by softmax,
// their derivatives by its whole Jacobian, the chain rule score by score. With the error that
// gradient.hpp claims. reference_number is what the gradient is of, for differences.
#pragma once
#include <attest/matrix.hpp>
#include <attest/rule.hpp>
#include <optional>
#include <vector>

#include "reference_attention.hpp"

namespace tests {

template <class T, std::size_t R, std::size_t C>
Reals reals(const attest::Matrix<T, R, C>& m) {
  Reals result(R, std::vector<Real>(C));
  for (std::size_t i = 0; i < R; ++i)
    for (std::size_t j = 0; j < C; ++j) result[i][j] = Real(m[i][j]);
  return result;
}

struct ReferenceCall {
  attest::Rule rule;
  Reals q, k, v, d_output;
  std::vector<Real> d_log_sum_exp;  // empty: the number does not depend on it
  std::vector<std::vector<bool>> visible;
  Reals bias;  // empty: none
  std::optional<Real> sink;
  Real u, smallest;

  std::size_t queries() const { return q.size(); }
  std::size_t keys() const { return k.size(); }
  bool capped() const { return rule.softcap != 0; }
  bool capped_last() const {
    return capped() && rule.softcap_place == attest::SoftcapPlace::after_mask;
  }
  Real scale() const {
    return rule.scale.by_width ? Real(1 / sqrt(Real(k[0].size()))) : Real(rule.scale.given);
  }
  Real in_base() const {
    return rule.log_sum_exp_base == attest::LogBase::e ? Real(1) : Real(1 / log(Real(2)));
  }
  bool sees(std::size_t i, std::size_t j) const {
    const long ahead = static_cast<long>(j) - static_cast<long>(i) - rule.offset;
    if (rule.causal && ahead > 0) return false;
    if (rule.window_left >= 0 && ahead < -rule.window_left) return false;
    if (rule.window_right >= 0 && ahead > rule.window_right) return false;
    return visible[i][j] && (bias.empty() || !isinf(bias[i][j]));
  }
};

// The scores of query i, its sink last, and what became of them on the way.
struct ReferenceRuledScores {
  std::vector<Real> score, error;        // error in absolute terms, first order
  std::vector<Real> slope, slope_error;  // of the score by scale·(q·k), the error relative
  std::vector<bool> counted;
};

inline ReferenceRuledScores reference_scores(const ReferenceCall& c, std::size_t i) {
  const std::size_t n = c.keys(), d = c.k[0].size();
  ReferenceRuledScores r{std::vector<Real>(n), std::vector<Real>(n), std::vector<Real>(n),
                         std::vector<Real>(n), std::vector<bool>(n)};
  const Real cap = c.rule.softcap;
  for (std::size_t j = 0; j < n; ++j) {
    if (!c.sees(i, j)) {
      r.counted[j] = c.capped_last();
      if (c.capped_last()) r.score[j] = -cap;
      continue;
    }
    r.counted[j] = true;
    Real product, magnitude;
    for (std::size_t t = 0; t < d; ++t) {
      product += c.q[i][t] * c.k[j][t];
      magnitude += abs(Real(c.q[i][t] * c.k[j][t]));
    }
    // The dot product and its scaling, 2·u where 1/√d is rounded, u where a given scale is; √scale
    // errs by 2·u at most and multiplies two entries, each rounded once more.
    Real s = c.scale() * product;
    Real error = c.u * (Real(d + 1) * abs(c.scale()) * magnitude + 2 * abs(s));
    if (c.rule.scale_by_square_roots) error = c.u * Real(d + 6) * abs(c.scale()) * magnitude;
    r.slope[j] = 1;
    // The quotient moves tanh by |x|·(1 − tanh² x)·u <= 0.45·u; tanh and the product round.
    const auto put_cap = [&] {
      const Real x = s / cap, t = tanh(x);
      r.slope[j] = 1 / (cosh(x) * cosh(x));
      r.slope_error[j] = c.u * (5 + 2 * abs(x)) + 2 * abs(t) * error / cap;
      s = cap * t;
      error += c.u * cap * Real(2.45);
    };
    if (c.capped() && !c.capped_last()) put_cap();
    Real bias;
    if (!c.bias.empty()) bias = c.bias[i][j];
    if (c.rule.alibi) {  // one head: slope 2^-8
      const Real distance =
          static_cast<double>(j) - static_cast<double>(i) - static_cast<double>(c.rule.offset);
      bias -= abs(distance) / 256;
      error += c.u * (abs(bias) + abs(distance) / 256);
    }
    if (!c.bias.empty() || c.rule.alibi) {
      s += bias;
      error += c.u * abs(s);
    }
    if (c.capped_last()) put_cap();
    r.score[j] = s;
    r.error[j] = error;
  }
  if (c.sink) {
    r.score.push_back(*c.sink);
    r.error.push_back(0);
    r.counted.push_back(true);
  }
  return r;
}

// Σ d_output·output + Σ d_log_sum_exp·log_sum_exp. Rows without a key and a sink: zeros or, if the
// rule says so, the mean.
inline Real reference_number(const ReferenceCall& c) {
  Real number;
  for (std::size_t i = 0; i < c.queries(); ++i) {
    const ReferenceRuledScores s = reference_scores(c, i);
    const ReferenceSoftmax p = reference_softmax(s.score, s.counted);
    if (p.seen == 0) {
      if (c.rule.empty_row == attest::EmptyRow::mean)
        for (std::size_t t = 0; t < c.v[0].size(); ++t)
          for (std::size_t j = 0; j < c.keys(); ++j)
            number += c.d_output[i][t] * c.v[j][t] / Real(c.keys());
      continue;
    }
    for (std::size_t t = 0; t < c.v[0].size(); ++t)
      for (std::size_t j = 0; j < c.keys(); ++j)
        number += c.d_output[i][t] * p.weight[j] * c.v[j][t];
    if (!c.d_log_sum_exp.empty()) {
      Real sum;
      for (std::size_t j = 0; j < s.score.size(); ++j)
        if (s.counted[j]) sum += exp(s.score[j]);
      number += c.d_log_sum_exp[i] * c.in_base() * log(sum);
    }
  }
  return number;
}

struct ReferenceGradient {
  Reals query, key, value, bias;
  Real sink;
  Reals query_bound, key_bound, value_bound, bias_bound;
  Real sink_bound;
  std::vector<bool> empty;
};

inline ReferenceGradient reference_gradient(const ReferenceCall& c) {
  const std::size_t m = c.queries(), n = c.keys(), d = c.k[0].size(), dv = c.v[0].size();
  const Real u = c.u, tiny = c.smallest, scale = c.scale();
  const auto zeros = [](std::size_t rows, std::size_t columns) {
    return Reals(rows, std::vector<Real>(columns));
  };
  ReferenceGradient r{zeros(m, d), zeros(n, d),  zeros(n, dv), zeros(m, n), 0, zeros(m, d),
                      zeros(n, d), zeros(n, dv), zeros(m, n),  0,           {}};
  for (std::size_t i = 0; i < m; ++i) {
    const ReferenceRuledScores s = reference_scores(c, i);
    const ReferenceSoftmax p = reference_softmax(s.score, s.counted);
    r.empty.push_back(p.seen == 0);
    if (p.seen == 0) {
      if (c.rule.empty_row == attest::EmptyRow::mean)
        for (std::size_t j = 0; j < n; ++j)
          for (std::size_t t = 0; t < dv; ++t) {
            const Real share = c.d_output[i][t] / Real(n);
            r.value[j][t] += share;
            r.value_bound[j][t] += Real(m + 2) * u * abs(share) + 2 * tiny;
          }
      continue;
    }
    const std::size_t all = s.score.size();
    const Real dl = c.d_log_sum_exp.empty() ? Real(0) : Real(c.d_log_sum_exp[i] * c.in_base());
    std::vector<Real> dp(all), e(all), phi(all), omega(all), ds(all);
    Real mean, phi_mean;
    for (std::size_t j = 0; j < all; ++j) {
      if (!s.counted[j]) continue;
      Real magnitude;
      for (std::size_t t = 0; t < dv && j < n; ++t) {
        dp[j] += c.d_output[i][t] * c.v[j][t];
        magnitude += abs(Real(c.d_output[i][t] * c.v[j][t]));
      }
      e[j] = Real(dv) * (u * magnitude + tiny);
      phi[j] = s.error[j] + u * (p.below[j] + 1);
      phi_mean += p.weight[j] * phi[j];
      mean += p.weight[j] * dp[j];
    }
    // The derivative of every weight by every score, and of the log-sum-exp.
    for (std::size_t j = 0; j < all; ++j)
      for (std::size_t k = 0; k < all; ++k)
        ds[j] += ((j == k ? p.weight[j] : Real(0)) - p.weight[j] * p.weight[k]) * dp[k];
    for (std::size_t j = 0; j < all; ++j) ds[j] += p.weight[j] * dl;

    Real level_error = u * (abs(Real(mean - dl)) + 2 * abs(dl));
    if (c.d_log_sum_exp.empty()) level_error = 0;
    for (std::size_t j = 0; j < all; ++j)
      if (s.counted[j]) {
        omega[j] = phi[j] + phi_mean + Real(p.seen) * u;
        level_error += p.weight[j] * (phi[j] * abs(Real(dp[j] - mean)) + e[j] +
                                      2 * Real(p.seen) * u * abs(dp[j])) +
                       tiny * (2 * abs(dp[j]) + 1);
      }
    for (std::size_t j = 0; j < n; ++j) {
      if (!s.counted[j]) continue;
      for (std::size_t t = 0; t < dv; ++t) {
        const Real g = abs(c.d_output[i][t]);
        r.value[j][t] += p.weight[j] * c.d_output[i][t];
        r.value_bound[j][t] += (omega[j] + Real(m) * u) * p.weight[j] * g + tiny * (2 * g + 1);
      }
      if (!c.sees(i, j)) continue;
      const Real y = abs(Real(dp[j] - mean + dl));
      const Real ds_error =
          p.weight[j] * (e[j] + level_error + (omega[j] + 2 * u) * y) + tiny * (2 * y + 1);
      Real dz = ds[j], dz_error = ds_error;
      if (c.capped()) {
        dz *= s.slope[j];
        dz_error =
            s.slope[j] * ds_error + abs(dz) * (s.slope_error[j] + u) + tiny * (4 * abs(ds[j]) + 1);
      }
      r.bias[i][j] = c.capped_last() ? dz : ds[j];
      r.bias_bound[i][j] = c.capped_last() ? dz_error : ds_error;
      const Real g = scale * dz;
      const Real g_error = abs(scale) * dz_error + 3 * u * abs(g) + tiny;
      for (std::size_t t = 0; t < d; ++t) {
        r.query[i][t] += g * c.k[j][t];
        r.query_bound[i][t] += (g_error + Real(p.seen) * u * abs(g)) * abs(c.k[j][t]) + tiny;
        r.key[j][t] += g * c.q[i][t];
        r.key_bound[j][t] += (g_error + Real(m) * u * abs(g)) * abs(c.q[i][t]) + tiny;
      }
    }
    if (c.sink) {
      const Real y = abs(Real(dl - mean));
      r.sink += ds[n];
      r.sink_bound +=
          p.weight[n] * (level_error + (omega[n] + Real(m + 1) * u) * y) + tiny * (2 * y + 1);
    }
  }
  for (Reals* bound : {&r.query_bound, &r.key_bound, &r.value_bound, &r.bias_bound})
    for (auto& row : *bound)
      for (Real& x : row) x *= higher_orders;
  r.sink_bound *= higher_orders;
  return r;
}

}  // namespace tests
