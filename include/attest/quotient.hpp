// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A row of numbers divided by one.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <attest/ieee.hpp>
#include <attest/special.hpp>
#include <attest/vectors.hpp>

namespace attest {

// x_j / divisor in place, begin ≤ j < end, for 0 ≤ x_j ≤ 1 ≤ divisor.
//
// Correctly rounded, as every quotient is; but where the processor fuses multiplication and
// addition without the divider, which takes one number after the other. With y the reciprocal,
// rounded to nearest, the quotient q₁ = q₀ + (x − q₀·divisor)·y, q₀ = x·y, is one of the two floats
// next to the exact one: it errs by half a unit and 4u² of itself. x − q₁·divisor is then exact,
// and q₁ + (x − q₁·divisor)·y, rounded once, is the quotient rounded to nearest: P. Markstein,
// "Computation of elementary functions on the IBM RISC System/6000 processor", IBM J. Res. Dev.
// 34(1), 1990. The remainder is a multiple of 2^{e−47}, e the exponent of x, which must not be
// below 2^{−149}, nor the quotient below 2^{−126}: so it is done where no x_j but 0 is below
// 2^{−100} and the divisor is below 2^{24}.
template <class T, size_t N>
constexpr void divide(T (&x)[N], const T& by, size_t begin, size_t end) {
  const T divisor = by;  // no entry of x
#ifdef __FP_FAST_FMAF
  if constexpr (is_same_type<T, float> && has_vectors<T>)
    if (!__builtin_is_constant_evaluated() && begin == 0 && end == N && divisor < 0x1p+24f) {
      constexpr uint32_t least = 0x0d800000;  // the bits of 2^-100
      uint32_t smallest = 0xffffffff;         // of the bits less 1, the largest for a zero
      for (size_t j = 0; j < N; ++j) {
        const uint32_t below = __builtin_bit_cast(uint32_t, x[j]) - 1;
        smallest = below < smallest ? below : smallest;
      }
      if (smallest >= least - 1) [[likely]] {
        const float reciprocal = 1 / divisor;
        for (size_t j = 0; j < N; ++j) {
          const float rough = x[j] * reciprocal;
          const float near =
              __builtin_fmaf(__builtin_fmaf(-rough, divisor, x[j]), reciprocal, rough);
          x[j] = __builtin_fmaf(__builtin_fmaf(-near, divisor, x[j]), reciprocal, near);
        }
        return;
      }
    }
#endif
  if (begin == 0 && end == N)
    for (size_t j = 0; j < N; ++j) x[j] = x[j] / divisor;
  else
    for (size_t j = begin; j < end; ++j) x[j] = x[j] / divisor;
}

}  // namespace attest
