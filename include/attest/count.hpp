// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// How many keys there are, and how far one is away, in products with numbers of a type that may be
// too small to hold them: eight bits end at 448, fixed point where it pleases.
#pragma once
#include <stddef.h>

#include <attest/special.hpp>

namespace attest {

// Whether T holds every such number, up to rounding: float, double and what is wider than they are.
template <class T>
inline constexpr bool holds_counts = true;
template <class T>
requires(!is_float_or_double<T> && requires(const T& x) {
  static_cast<double>(x);
}) inline constexpr bool holds_counts<T> = false;

// 1/n, and x·n, rounded once where T does not hold n.
template <class T>
constexpr T reciprocal_of_count(size_t n) {
  if constexpr (holds_counts<T>)
    return T(1) / T(static_cast<int>(n));
  else
    return T(1 / static_cast<double>(n));
}
template <class T>
constexpr T product_with_count(const T& x, size_t n) {
  if constexpr (holds_counts<T>)
    return x * T(static_cast<int>(n));
  else
    return T(static_cast<double>(x) * static_cast<double>(n));
}

}  // namespace attest
