// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// How far attention as computed may be from attention in exact arithmetic, entry by entry, for the
// numbers it was given.
#pragma once
#include <attest/attention.hpp>
#include <attest/exp.hpp>
#include <attest/heads.hpp>
#include <attest/roundoff.hpp>

namespace attest {

// e^x − 1 for 0 <= x, rounded up by at most a thousandth.
constexpr double expm1_above(double x) {
  return x < 0x1p-10 ? x * (1 + x) : exp(x) * (1 + 0x1p-50) - 1;
}

// How far a computed bias may be from the exact one: given numbers are exact; a distance, a slope
// and their product are rounded, the slope before it is multiplied with the distance, and so is a
// sum.
template <class T, class Bias>
constexpr double bias_error(const Bias&, size_t, size_t) {
  return 0;
}
template <class T>
constexpr double bias_error(const Alibi<T>& alibi, size_t i, size_t j) {
  const double b = static_cast<double>(alibi(i, j));
  const long ahead = static_cast<long>(j) - static_cast<long>(i) - alibi.earlier_keys;
  return 3.1 * unit_roundoff<T> * (b < 0 ? -b : b) +
         (1 + static_cast<double>(ahead < 0 ? -ahead : ahead)) *
             (smallest_number<T> + half_unit<T>);
}
template <class T, class A, class B>
constexpr double bias_error(const BiasSum<A, B>& sum, size_t i, size_t j) {
  const double b = static_cast<double>(sum(i, j));
  return unit_roundoff<T> * (b < 0 ? -b : b) + bias_error<T>(sum.first, i, j) +
         bias_error<T>(sum.second, i, j);
}

// What an operation may lose (roundoff.hpp).
struct Losses {
  double u = 0;
  double smallest = 0;
  double half = 0;
};
template <class T>
inline constexpr Losses losses_of{unit_roundoff<T>, smallest_number<T>, half_unit<T>};

// q·k of two rows as computed in double, Σ |q k|, and Σ |q| + Σ |k|.
struct DotProduct {
  double value = 0;
  double size = 0;
  double sizes_of_entries = 0;
};
template <class T, size_t D>
constexpr DotProduct dot_in_double(const T (&q)[D], const T (&k)[D]) {
  const auto size_of = [](double x) { return x < 0 ? -x : x; };
  DotProduct dot;
  for (size_t t = 0; t < D; ++t) {
    const double x = static_cast<double>(q[t]), y = static_cast<double>(k[t]);
    dot.value = dot.value + x * y;
    dot.size = dot.size + size_of(x * y);
    dot.sizes_of_entries = dot.sizes_of_entries + size_of(x) + size_of(y);
  }
  return dot;
}

// How far the scaled dot product may be from the exact one, and a score after the softcap where the
// score before it may be off by `error`.
template <Rule rule, size_t D>
constexpr double error_of_scaled_dot(const Losses& lost, const DotProduct& dot) {
  constexpr double d = D, c = scale_of<rule, double, D>, scale = c < 0 ? -c : c;
  constexpr int roundings = rule.scale_by_square_roots ? 7 : 4;
  const double u = lost.u, unit = lost.smallest + lost.half;
  const double value = dot.value < 0 ? -dot.value : dot.value;
  double growth = 1;
  for (int n = 0; n < roundings; ++n) growth = growth * (1 + u);
  const double relative = (d + roundings) * u * growth * scale * dot.size;
  if constexpr (rule.scale_by_square_roots) {
    if (c < 0) return bits::infinity<double>;
    constexpr double root = sqrt(scale);
    const double of_root = unit > 0 ? unit / root + unit : 0;
    return relative + (2 * root + of_root) * of_root * dot.size +
           (root + of_root) * unit * dot.sizes_of_entries + d * (1 + unit) * unit;
  } else {
    const double multiplied =
        lost.half > 0 ? value + d * 0x1p-53 * dot.size : (1 + d * u) * dot.size;
    return relative + unit * (1 + d * (scale + unit) + multiplied);
  }
}
template <Rule rule>
constexpr double error_after_cap(const Losses& lost, double score, double error) {
  const double size = score < 0 ? -score : score;
  return error + 4 * lost.u * (size + error + rule.softcap) + (1 + rule.softcap) * lost.smallest +
         (1 + 2 * rule.softcap) * lost.half;
}

// The errors of attention<rule> in a number type with unit roundoff u and smallest number η, with
// all orders of u: it holds for eight-bit numbers as for double, and is infinite where there is no
// bound. p_j are the exact weights, o the exact output, A_j = |c| Σ|q k|, a_j = max s − s_j, n the
// number of visible keys and the sink, N of all keys, h = min(n, ⌈N/32⌉ + 5), d the width.
//
// Score. ε_j = (d + 4)·u·(1 + u)^4·A_j + η·(1 + d·(|c| + η) + (1 + d·u)·Σ|q k|): the dot product
// (Jeannerod & Rump 2013), its scaling, the roundings of the scale. With the scale's roots, r =
// √|c| and ρ = η/r + η what r may lose, (d + 7)·u·(1 + u)^7·A_j + ρ·(2·r + ρ)·Σ|q k| + η·((r +
// ρ)·Σ(|q| + |k|) + d·(1 + η)). A softcap contracts and adds 4·u·(|s| + ε + softcap) + η·(1 +
// softcap); a bias adds its own error and u·(|s| + ε). Weight. The computed maximum is an exact
// shift, whatever its own error; with the subtraction and exp the relative error of e_j is φ_j =
// e^{ε_j + u·(a_j + 2·max ε)}·(1 + u) − 1. With o′ the blend under those weights, |o′ − o| <= Σ p_j
// φ_j |v_j − o| / (1 − Σ p φ). The sum of weights and the division change each weight by ω = (1 +
// u)/(1 − h·u) − 1 = (h + 1)·u/(1 − h·u), the weighted sum by n·u of what it adds:
//   |ô − o′| <= (ω + n·u·(1 + ω))·Σ p_j (1 + φ_j) |v_j| / (1 − Σ p φ).
// Underflow of exponentials, quotients and products adds n·η·(3·max|v| + 1)/2, here twice that.
//
// Fixed point. Sums and differences are exact, every other operation is off by half a unit ε at
// most: ε_j = ε·(1 + d·(|c| + ε) + |q·k|), with roots that above with ε for η and u = 0; a softcap,
// representable, adds (1 + 2·softcap)·ε. An exponential is off by φ_j = e^{ε_j} − 1 relatively and
// by ε, their sum is 1 or more, each weight and each of its products off by ε once more:
//   |ô − o| <= Σ p_j φ_j |v_j − o|·(1 + n·ε) / (1 − max φ) + ε·(Σ |v_j − o| + Σ |v_j| + n),
// as long as nothing saturates, the sum of n exponentials included.
//
// What p, o and a stand for is known in double only, w = 2^-53; a number type of double's precision
// errs as much as that, so it is not neglected. The scores as evaluated, s′, are off by δ_j, which
// is ε_j with w for u and the bias as it was computed. Their weights p′, those below 2^-900 raised
// to it, would sum to 1 + (N + 3)·w at most; with 624·w for the rounded difference of which e is
// the power, ψ_j = e^{δ_j + (N + 1300)·2w} − 1 and Ψ = Σ p′ ψ,
//   p_j <= p′_j·(1 + ψ_j)/(1 − Ψ),   |p_j − p′_j| <= p′_j·(ψ_j + Ψ)/(1 − Ψ), and p′_j more if
//   raised, |o − o′| <= Δ = Σ |p_j − p′_j|·|v_j − o′| + (N + 4)·2w·Σ p′ |v|   for o′ = Σ p′ v as
//   evaluated,
// and |v_j − o| <= |v_j − o′| + Δ, a_j <= a′_j + δ_j + max δ. With these the bounds above are sums
// of terms that are not negative, of no more than N + d + 64 roundings each: the factor at the end,
// and that of ε_j, φ_j and Σ p φ, is 1 + (N + d + 64)·2w. What underflows is less than the smallest
// double for each key, added once.
template <Rule rule = Rule{}, class Q, class K, class V, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires can_attend<Q, K, V, Visible, Bias, Sink>
constexpr auto attention_error_bound(const Q& query, const K& key, const V& value,
                                     const Visible& mask = {}, const Bias& given_bias = {},
                                     const Sink& sink = {}) {
  using T = typename Q::value_type;
  constexpr size_t N = K::rows, D = Q::columns;
  constexpr Losses lost = losses_of<T>, lost_in_double = losses_of<double>;
  constexpr double u = lost.u, half = lost.half;
  Matrix<double, Q::rows, V::columns> bound;
  if constexpr (is_exact<T>) {
    return bound;
  } else {
    constexpr double count = N + 1, rounded_up = 1 + (count + D + 64) * 0x1p-52;
    constexpr double lowest_weight = 0x1p-900;
    const auto& bias = bias_of_head<rule, T>(given_bias, 0, 1);
    const auto& visible = visible_to_rule<rule>(mask, bias);
    const auto size_of = [](double x) { return x < 0 ? -x : x; };

    for (size_t i = 0; i < Q::rows; ++i) {
      double s[N + 1]{}, error[N + 1]{}, evaluation[N + 1]{};
      bool counts[N + 1]{};
      for (size_t j = 0; j < N; ++j) {
        const bool seen = sees(visible, i, j);
        counts[j] = seen || hidden_keys_have_scores<rule>;
        if (!seen) {
          s[j] = -rule.softcap;
          error[j] = size_of(static_cast<double>(T(rule.softcap)) - rule.softcap);
          continue;
        }
        const DotProduct dot = dot_in_double(query.matrix.entries[i], key.matrix.entries[j]);
        s[j] = scale_of<rule, double, D> * dot.value;
        error[j] = error_of_scaled_dot<rule, D>(lost, dot);
        evaluation[j] = error_of_scaled_dot<rule, D>(lost_in_double, dot);
        const auto cap = [&] {
          error[j] = error_after_cap<rule>(lost, s[j], error[j]);
          evaluation[j] = error_after_cap<rule>(lost_in_double, s[j], evaluation[j]);
          s[j] = rule.softcap * tanh(s[j] / rule.softcap);
        };
        constexpr bool has_cap = rule.softcap != 0;
        if (has_cap && rule.softcap_place == SoftcapPlace::before_mask) cap();
        if constexpr (!is_same_type<Bias, NoBias> || rule.alibi) {
          s[j] = s[j] + static_cast<double>(bias_at(bias, i, j));
          const double of_bias = bias_error<T>(bias, i, j);
          error[j] = error[j] + of_bias + u * (size_of(s[j]) + error[j] + of_bias);
          evaluation[j] =
              evaluation[j] + of_bias + 0x1p-53 * (size_of(s[j]) + evaluation[j] + of_bias);
        }
        if (has_cap && rule.softcap_place == SoftcapPlace::after_mask) cap();
        error[j] = error[j] * rounded_up;
        evaluation[j] = evaluation[j] * rounded_up;
      }
      if constexpr (has_score<Sink>) {
        s[N] = static_cast<double>(sink.score);
        counts[N] = true;
      }

      double n = 0, largest = 0, worst = 0, worst_evaluation = 0, total = 0;
      for (size_t j = 0; j <= N; ++j)
        if (counts[j]) {
          largest = n == 0 || s[j] > largest ? s[j] : largest;
          worst = error[j] > worst ? error[j] : worst;
          worst_evaluation = evaluation[j] > worst_evaluation ? evaluation[j] : worst_evaluation;
          n = n + 1;
        }
      if (n == 0 && rule.empty_row == EmptyRow::mean)
        for (size_t j = 0; j < N; ++j)
          s[j] = error[j] = evaluation[j] = 0, counts[j] = true, n = n + 1;
      if (n == 0) continue;

      double p[N + 1]{}, phi[N + 1]{}, psi[N + 1]{}, mean_psi = 0, mean_phi = 0, largest_phi = 0;
      for (size_t j = 0; j <= N; ++j)
        if (counts[j]) {
          p[j] = exp(s[j] - largest);
          p[j] = p[j] < lowest_weight ? lowest_weight : p[j];
          total = total + p[j];
        }
      for (size_t j = 0; j <= N; ++j)
        if (counts[j]) {
          const double a = largest - s[j] + evaluation[j] + worst_evaluation;
          const double e = expm1_above((error[j] + u * (a + 2 * worst)) * rounded_up);
          phi[j] = (e + u * (1 + e)) * rounded_up;
          psi[j] = expm1_above(evaluation[j] + (count + 1300) * 0x1p-52);
          p[j] = p[j] / total;
          mean_psi = mean_psi + p[j] * psi[j];
        }
      mean_psi = mean_psi * rounded_up;
      double highest[N + 1]{}, change[N + 1]{};  // of p[j], and how far it may be off
      for (size_t j = 0; j <= N; ++j)
        if (counts[j]) {
          highest[j] = p[j] * (1 + psi[j]) / (1 - mean_psi);
          change[j] = p[j] * (psi[j] + mean_psi) / (1 - mean_psi);
          if (largest - s[j] > 623) change[j] = change[j] + p[j];
          mean_phi = mean_phi + highest[j] * phi[j];
          largest_phi = phi[j] > largest_phi ? phi[j] : largest_phi;
        }
      const double shrinking = (half > 0 ? largest_phi : mean_phi) * rounded_up;
      const double additions = n < N / 32 + 6 ? n : N / 32 + 6;
      const double omega = (additions + 1) * u / (1 - additions * u);
      const bool exists = additions * u < 1 && n * u < 1 && mean_psi < 1 && shrinking < 1;

      for (size_t t = 0; t < V::columns; ++t) {
        const auto v = [&](size_t j) {
          return j < N ? static_cast<double>(value.matrix.entries[j][t]) : 0;
        };
        double o = 0, size_of_o = 0, off = 0, centred = 0, weighed = 0, largest_value = 0;
        double apart = 0, sizes = 0;
        for (size_t j = 0; j <= N; ++j)
          if (counts[j]) {
            o = o + p[j] * v(j);
            size_of_o = size_of_o + p[j] * size_of(v(j));
          }
        for (size_t j = 0; j <= N; ++j)
          if (counts[j]) off = off + change[j] * size_of(v(j) - o);
        off = off + (count + 4) * 0x1p-52 * size_of_o;
        for (size_t j = 0; j <= N; ++j)
          if (counts[j]) {
            centred = centred + highest[j] * phi[j] * (size_of(v(j) - o) + off);
            weighed = weighed + highest[j] * (1 + phi[j]) * size_of(v(j));
            largest_value = size_of(v(j)) > largest_value ? size_of(v(j)) : largest_value;
            apart = apart + size_of(v(j) - o) + off;
            sizes = sizes + size_of(v(j));
          }
        const double relative =
            (centred * (1 + n * half) + (omega + n * u * (1 + omega)) * weighed + n * 0x1p-1074) /
            (1 - shrinking);
        const double absolute =
            n * lost.smallest * (3 * largest_value + 1) + half * (apart + sizes + n);
        bound.entries[i][t] = exists ? rounded_up * (relative + absolute) : bits::infinity<double>;
      }
    }
    return bound;
  }
}

// In heads and in a batch, as attention is (heads.hpp).
template <Rule rule = Rule{}, class Q, size_t Hq, class K, size_t Hk, class V, size_t Hv,
          class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
requires can_attend_in_heads<Heads<Q, Hq>, Heads<K, Hk>, Heads<V, Hv>, Visible, Bias, Sink>
constexpr auto attention_error_bound(const Heads<Q, Hq>& query, const Heads<K, Hk>& key,
                                     const Heads<V, Hv>& value, const Visible& mask = {},
                                     const Bias& bias = {}, const Sink& sink = {}) {
  return for_each_head<rule>(query, key, value, mask, bias, sink, [](const auto&... parts) {
    return attention_error_bound<without_alibi(rule)>(parts...);
  });
}
template <Rule rule = Rule{}, class Q, size_t N, class K, class V, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires can_attend_in_batch<Batch<Q, N>, K, V, Visible, Bias, Sink>
constexpr auto attention_error_bound(const Batch<Q, N>& query, const K& key, const V& value,
                                     const Visible& mask = {}, const Bias& bias = {},
                                     const Sink& sink = {}) {
  return for_each_element(
      [](const auto&... parts) { return attention_error_bound<rule>(parts...); }, query, key, value,
      mask, bias, sink);
}

}  // namespace attest
