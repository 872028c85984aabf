// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// How much a query resembles a key under a rule, and which keys the rule lets it see.
#pragma once
#include <attest/algebra.hpp>
#include <attest/bias.hpp>
#include <attest/count.hpp>
#include <attest/fixed.hpp>
#include <attest/mask.hpp>
#include <attest/rule.hpp>
#include <attest/softmax.hpp>
#include <attest/sqrt.hpp>
#include <attest/tanh.hpp>

namespace attest {

// 1/√d, d the length of the vectors in the dot product: if their entries are independent with
// variance 1, q·k has variance d and this brings it back to 1. Two roundings, relative error at
// most 2·u to first order; exact where d is a power of four. A type that may not hold d
// (count.hpp) gets that of double, rounded.
template <class T, size_t D>
constexpr T inverse_root_of_width() {
  if constexpr (holds_counts<T>)
    return T(1) / sqrt(T(D));
  else
    return T(1 / sqrt(static_cast<double>(D)));
}
template <class T, size_t D>
inline constexpr T inverse_root = inverse_root_of_width<T, D>();

template <Rule rule, class T, size_t D>
constexpr T scale_of_width() {
  if constexpr (rule.scale.by_width)
    return inverse_root<T, D>;
  else
    return T(rule.scale.given);
}
template <Rule rule, class T, size_t D>
inline constexpr T scale_of = scale_of_width<rule, T, D>();
template <Rule rule, class T, size_t D>
inline constexpr T root_of_scale = sqrt(scale_of<rule, T, D>);

template <Rule rule, class T>
constexpr T capped(const T& score) {
  constexpr T softcap = T(rule.softcap);
  return softcap * tanh(score / softcap);
}

// What a rule makes of the dot product of query i and key j: its product with the scale, then
// softcap·tanh of its quotient by the softcap, and the bias, in the order the rule gives them.
template <Rule rule, class T, size_t D, class Bias>
constexpr T score_of_dot(const T& dot_product, const Bias& bias, size_t i, size_t j) {
  constexpr bool has_cap = rule.softcap != 0;
  T s = dot_product;
  if constexpr (!rule.scale_by_square_roots) s = scale_of<rule, T, D> * s;
  if constexpr (has_cap && rule.softcap_place == SoftcapPlace::before_mask) s = capped<rule>(s);
  if constexpr (!is_same_type<Bias, NoBias>) s = s + bias_at(bias, i, j);
  if constexpr (has_cap && rule.softcap_place == SoftcapPlace::after_mask) s = capped<rule>(s);
  return s;
}

// Whether a score is its dot product times the scale and no more.
template <Rule rule, class Bias>
inline constexpr bool is_scaled_dot_product =
    !rule.scale_by_square_roots && rule.softcap == 0 && is_same_type<Bias, NoBias>;

// The score of key j for query i: of scale·(q·k), the dot product rounded before it is scaled, or
// of (√scale·q)·(√scale·k) with each entry rounded, where the rule says so.
template <Rule rule, class T, size_t D, class Bias>
constexpr T score(const T (&q)[D], const T (&k)[D], const Bias& bias, size_t i, size_t j) {
  if constexpr (is_scaled_dot_product<rule, Bias>) {
    return scale_of<rule, T, D> * dot(q, k);  // a statement less to evaluate, for each pair
  } else if constexpr (rule.scale_by_square_roots) {
    T scaled_q[D], scaled_k[D];
    for (size_t t = 0; t < D; ++t) scaled_q[t] = root_of_scale<rule, T, D> * q[t];
    for (size_t t = 0; t < D; ++t) scaled_k[t] = root_of_scale<rule, T, D> * k[t];
    return score_of_dot<rule, T, D>(dot(scaled_q, scaled_k), bias, i, j);
  } else {
    return score_of_dot<rule, T, D>(dot(q, k), bias, i, j);
  }
}

// The bias of a call together with the rule's own, for query head h of H.
template <Rule rule, class T, class Bias>
constexpr decltype(auto) bias_of_head(const Bias& bias, size_t head, size_t heads,
                                      long earlier_keys = 0) {
  static_assert(softcap_is_positive_or_0_for_none<rule>);
  if constexpr (!rule.alibi) {
    return (bias);
  } else {
    const Alibi<T> alibi{alibi_slope<T>(head, heads), earlier_keys + rule.offset};
    if constexpr (is_same_type<Bias, NoBias>)
      return Alibi<T>(alibi);
    else
      return BiasSum<Bias, Alibi<T>>{bias, alibi};
  }
}

// Visible to a query is what the mask of the call, causality and window of the rule, and a bias of
// −∞ all leave so.
template <Rule rule, class Visible, class Bias>
struct VisibleToRule {
  const Visible& mask;
  const Bias& bias;
  long earlier_keys;

  constexpr bool operator()(size_t i, size_t j) const {
    if (!VisibleByPosition<rule>{earlier_keys}(i, j) || !sees(mask, i, j)) return false;
    if constexpr (!is_same_type<Bias, NoBias>) return !is_minus_infinity(bias_at(bias, i, j));
    return true;
  }
};
template <Rule rule, class Visible, class Bias>
constexpr decltype(auto) visible_to_rule(const Visible& mask, const Bias& bias,
                                         long earlier_keys = 0) {
  static_assert(window_ends_count_keys_or_are_minus_one_for_no_limit<rule>);
  constexpr bool by_position = rule.causal || rule.window_left >= 0 || rule.window_right >= 0;
  if constexpr (!by_position && is_same_type<Bias, NoBias>)
    return (mask);
  else
    return VisibleToRule<rule, Visible, Bias>{mask, bias, earlier_keys};
}

// Which keys softmax counts: the visible ones; all, where a softcap after the mask has made the
// score of a hidden key finite.
template <Rule rule>
inline constexpr bool hidden_keys_have_scores =
    rule.softcap != 0 && rule.softcap_place == SoftcapPlace::after_mask;
template <Rule rule, class Visible>
constexpr const auto& counted_by_softmax(const Visible& visible) {
  if constexpr (hidden_keys_have_scores<rule>)
    return everything;
  else
    return visible;
}

}  // namespace attest
