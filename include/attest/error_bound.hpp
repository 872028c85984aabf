// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// How far attention as computed may be from attention in exact arithmetic, entry by entry, for the
// numbers it was given.
#pragma once
#include <attest/attention.hpp>
#include <attest/exp.hpp>
#include <attest/roundoff.hpp>

namespace attest {

// e^x − 1 for 0 <= x, rounded up by at most a thousandth.
constexpr double expm1_above(double x) {
  return x < 0x1p-10 ? x * (1 + x) : exp(x) * (1 + 0x1p-50) - 1;
}

// How far a computed bias may be from the exact one: given numbers are exact; a distance, a slope
// and their product are rounded, and so is a sum.
template <class T, class Bias>
constexpr double bias_error(const Bias&, size_t, size_t) {
  return 0;
}
template <class T>
constexpr double bias_error(const Alibi<T>& alibi, size_t i, size_t j) {
  const double b = static_cast<double>(alibi(i, j));
  return 3.1 * unit_roundoff<T> * (b < 0 ? -b : b) + smallest_number<T> + half_unit<T>;
}
template <class T, class A, class B>
constexpr double bias_error(const BiasSum<A, B>& sum, size_t i, size_t j) {
  const double b = static_cast<double>(sum(i, j));
  return unit_roundoff<T> * (b < 0 ? -b : b) + bias_error<T>(sum.first, i, j) +
         bias_error<T>(sum.second, i, j);
}

// The errors of attention<rule> in a number type with unit roundoff u and smallest number η, with
// all orders of u: it holds for eight-bit numbers as for double, and is infinite where there is no
// bound. p_j are the exact weights, o the exact output, A_j = |c| Σ|q k|, a_j = max s − s_j, n the
// number of visible keys and the sink, N of all keys, h = min(n, ⌈N/32⌉ + 5), d the width.
//
// Score. ε_j = (d + 4)·u·(1 + u)^4·A_j + (d |c| + 1)·η: the dot product (Jeannerod & Rump 2013),
// its scaling, the roundings of the scale; 3 more with the scale's roots. A softcap contracts and
// adds 4·u·(|s| + ε + softcap); a bias adds its own error and u·(|s| + ε). Weight. The computed
// maximum is an exact shift, whatever its own error; with the subtraction and exp the relative
// error of e_j is φ_j = e^{ε_j + u·(a_j + 2·max ε)}·(1 + u) − 1. With o′ the blend under those
// weights, |o′ − o| <= Σ p_j φ_j |v_j − o| / (1 − Σ p φ). The sum of weights and the division
// change each weight by ω = (1 + u)/(1 − h·u) − 1, the weighted sum by n·u of what it adds:
//   |ô − o′| <= (ω + n·u·(1 + ω))·Σ p_j (1 + φ_j) |v_j| / (1 − Σ p φ).
// Underflow of exponentials, quotients and products adds n·η·(3·max|v| + 1).
// All of it is evaluated in double; 1.001 covers that.
//
// Fixed point. Sums and differences are exact, every other operation is off by half a unit ε at
// most: ε_j = ε·(1 + d·(|c| + ε) + |q·k|), a softcap, representable, adds (1 + 2·softcap)·ε. An
// exponential is off by φ_j = e^{ε_j} − 1 relatively and by ε, their sum is 1 or more, each weight
// and each of its products off by ε once more:
//   |ô − o| <= Σ p_j φ_j |v_j − o|·(1 + n·ε) / (1 − max φ) + ε·(Σ |v_j − o| + Σ |v_j| + n),
// as long as nothing saturates, the sum of n exponentials included.
template <Rule rule = Rule{}, class Q, class K, class V, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires can_attend<Q, K, V, Visible, Bias, Sink>
constexpr auto attention_error_bound(const Q& query, const K& key, const V& value,
                                     const Visible& mask = {}, const Bias& given_bias = {},
                                     const Sink& sink = {}) {
  using T = typename Q::value_type;
  constexpr size_t N = K::rows, D = Q::columns;
  constexpr double u = unit_roundoff<T>, smallest = smallest_number<T>, half = half_unit<T>, d = D;
  Matrix<double, Q::rows, V::columns> bound;
  if constexpr (is_exact<T>) {
    return bound;
  } else {
    constexpr double scale = scale_of<rule, double, D>, scale_size = scale < 0 ? -scale : scale;
    constexpr double roundings = rule.scale_by_square_roots ? d + 7 : d + 4;
    const auto& bias = bias_of_head<rule, T>(given_bias, 0, 1);
    const auto& visible = visible_to_rule<rule>(mask, bias);
    const auto size_of = [](double x) { return x < 0 ? -x : x; };

    for (size_t i = 0; i < Q::rows; ++i) {
      double s[N + 1]{}, error[N + 1]{}, p[N + 1]{};
      bool counts[N + 1]{};
      for (size_t j = 0; j < N; ++j) {
        const bool seen = sees(visible, i, j);
        counts[j] = seen || hidden_keys_have_scores<rule>;
        if (!seen) {
          s[j] = -rule.softcap;
          continue;
        }
        double product = 0, product_size = 0;
        for (size_t t = 0; t < D; ++t) {
          const double term = static_cast<double>(query.matrix.entries[i][t]) *
                              static_cast<double>(key.matrix.entries[j][t]);
          product = product + term;
          product_size = product_size + size_of(term);
        }
        s[j] = scale * product;
        error[j] =
            roundings * u * (1 + u) * (1 + u) * (1 + u) * (1 + u) * scale_size * product_size +
            (d * scale_size + 1) * smallest +
            half * (1 + d * (scale_size + half) + size_of(product));
        const auto cap = [&] {
          error[j] = error[j] + 4 * u * (size_of(s[j]) + error[j]) + 4 * u * rule.softcap +
                     (1 + rule.softcap) * smallest + (1 + 2 * rule.softcap) * half;
          s[j] = rule.softcap * tanh(s[j] / rule.softcap);
        };
        constexpr bool has_cap = rule.softcap != 0;
        if (has_cap && rule.softcap_place == SoftcapPlace::before_mask) cap();
        if constexpr (!is_same_type<Bias, NoBias> || rule.alibi) {
          const double b = static_cast<double>(bias_at(bias, i, j));
          s[j] = s[j] + b;
          error[j] = error[j] + bias_error<T>(bias, i, j);
          error[j] = error[j] + u * (size_of(s[j]) + error[j]);
        }
        if (has_cap && rule.softcap_place == SoftcapPlace::after_mask) cap();
      }
      if constexpr (has_score<Sink>) {
        s[N] = static_cast<double>(sink.score);
        counts[N] = true;
      }

      double n = 0, largest = 0, worst = 0, total = 0;
      for (size_t j = 0; j <= N; ++j)
        if (counts[j]) {
          largest = n == 0 || s[j] > largest ? s[j] : largest;
          worst = error[j] > worst ? error[j] : worst;
          n = n + 1;
        }
      if (n == 0 && rule.empty_row == EmptyRow::mean)
        for (size_t j = 0; j < N; ++j) s[j] = error[j] = 0, counts[j] = true, n = n + 1;
      if (n == 0) continue;
      for (size_t j = 0; j <= N; ++j)
        if (counts[j]) total = total + (p[j] = exp(s[j] - largest));
      double phi[N + 1]{}, mean_phi = 0, largest_phi = 0;
      for (size_t j = 0; j <= N; ++j)
        if (counts[j]) {
          p[j] = p[j] / total;
          phi[j] = (expm1_above(error[j] + u * (largest - s[j] + 2 * worst)) + 1) * (1 + u) - 1;
          mean_phi = mean_phi + p[j] * phi[j];
          largest_phi = phi[j] > largest_phi ? phi[j] : largest_phi;
        }
      const double shrinking = half > 0 ? largest_phi : mean_phi;
      const double additions = n < N / 32 + 6 ? n : N / 32 + 6;
      const double omega = (1 + u) / (1 - additions * u) - 1;
      const bool exists = additions * u < 1 && n * u < 1 && shrinking < 1;

      for (size_t t = 0; t < V::columns; ++t) {
        const auto v = [&](size_t j) {
          return j < N ? static_cast<double>(value.matrix.entries[j][t]) : 0;
        };
        double o = 0, centred = 0, weighed = 0, largest_value = 0, apart = 0, sizes = 0;
        for (size_t j = 0; j <= N; ++j)
          if (counts[j]) o = o + p[j] * v(j);
        for (size_t j = 0; j <= N; ++j)
          if (counts[j]) {
            centred = centred + p[j] * phi[j] * size_of(v(j) - o);
            weighed = weighed + p[j] * (1 + phi[j]) * size_of(v(j));
            largest_value = size_of(v(j)) > largest_value ? size_of(v(j)) : largest_value;
            apart = apart + size_of(v(j) - o);
            sizes = sizes + size_of(v(j));
          }
        const double relative =
            (centred * (1 + n * half) + (omega + n * u * (1 + omega)) * weighed) / (1 - shrinking);
        const double absolute = n * smallest * (3 * largest_value + 1) + half * (apart + sizes + n);
        bound.entries[i][t] = exists ? 1.001 * (relative + absolute) : bits::infinity<double>;
      }
    }
    return bound;
  }
}

}  // namespace attest
