// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// −∞ and NaN of whatever number type has them.
#pragma once
#include <attest/bits.hpp>
#include <attest/concepts.hpp>

namespace attest {

template <class T>
inline constexpr bool is_float_or_double = is_same_type<T, float> || is_same_type<T, double>;

template <class T>
concept has_infinity = is_float_or_double<T> || requires {
  T::infinity();
};
template <class T>
concept has_nan = is_float_or_double<T> || requires {
  T::quiet_nan();
};

template <has_infinity T>
constexpr T minus_infinity() {
  if constexpr (is_float_or_double<T>)
    return -bits::infinity<T>;
  else
    return -T::infinity();
}

template <has_nan T>
constexpr T quiet_nan() {
  if constexpr (is_float_or_double<T>)
    return bits::quiet_nan<T>;
  else
    return T::quiet_nan();
}

template <class T>
constexpr bool is_minus_infinity(const T& x) {
  if constexpr (has_infinity<T>)
    return x == minus_infinity<T>();
  else
    return false;
}

}  // namespace attest
