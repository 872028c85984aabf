// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What one operation of a number type may lose: a part of its result, or a part of a unit.
#pragma once
#include <attest/fixed.hpp>
#include <attest/formats.hpp>

namespace attest {

// u: an operation returns the exact result times 1 + δ, |δ| <= u, as long as nothing underflows.
// Exact number types lose nothing.
template <class T>
inline constexpr double unit_roundoff = 0;
template <>
inline constexpr double unit_roundoff<float> = 0x1p-24;
template <>
inline constexpr double unit_roundoff<double> = 0x1p-53;
template <int E, int F, bool Finite>
inline constexpr double unit_roundoff<small_float<E, F, Finite>> = 1.0 / (2 << F);

// η: the smallest number above 0; a product, a quotient or an exponential that underflows is off by
// half of it at most.
template <class T>
inline constexpr double smallest_number = 0;
template <>
inline constexpr double smallest_number<float> = 0x1p-149;
template <>
inline constexpr double smallest_number<double> = 0x1p-1074;
template <int E, int F, bool Finite>
inline constexpr double smallest_number<small_float<E, F, Finite>> =
    static_cast<double>(small_float<E, F, Finite>::smallest_subnormal());

// ε: an operation returns the exact result within ε, half a unit of a fixed-point number, as long
// as nothing saturates; sums are exact.
template <class T>
inline constexpr double half_unit = 0;
template <class Storage, int F>
inline constexpr double half_unit<fixed<Storage, F>> = 0.5 / static_cast<double>(int64_t{1} << F);

template <class T>
inline constexpr bool is_exact = unit_roundoff<T> == 0 && half_unit<T> == 0;

}  // namespace attest
