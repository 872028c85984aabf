// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The transpose of a matrix; of floats in the registers of a processor with vectors.
#pragma once
#include <stddef.h>

#include <attest/ieee.hpp>
#include <attest/matrix.hpp>
#include <attest/vectors.hpp>

namespace attest {

// a₀ b₀ a₁ b₁ and a₂ b₂ a₃ b₃, of each four.
template <class Vector>
inline Vector low_interleaved(const Vector& a, const Vector& b) {
  if constexpr (sizeof(Vector) == 16)
    return __builtin_shufflevector(a, b, 0, 4, 1, 5);
  else
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
}
template <class Vector>
inline Vector high_interleaved(const Vector& a, const Vector& b) {
  if constexpr (sizeof(Vector) == 16)
    return __builtin_shufflevector(a, b, 2, 6, 3, 7);
  else
    return __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
}

// Four neighbours of row i; and of row i + 4 as well, where a vector holds eight.
template <size_t Width>
inline typename VectorOf<float, Width>::type four_of_row(const float* from, size_t from_width,
                                                         size_t i) {
  using Four = VectorOf<float, 4>;
  if constexpr (Width == 4)
    return Four::read(from + i * from_width);
  else
    return __builtin_shufflevector(Four::read(from + i * from_width),
                                   Four::read(from + (i + 4) * from_width), 0, 1, 2, 3, 4, 5, 6, 7);
}

// Width rows of four floats become four columns: neighbours in vectors, twice interleaved.
template <size_t Width>
inline void transpose_four_columns(const float* from, size_t from_width, float* to,
                                   size_t to_width) {
  using Of = VectorOf<float, Width>;
  const auto a = four_of_row<Width>(from, from_width, 0),
             b = four_of_row<Width>(from, from_width, 1),
             c = four_of_row<Width>(from, from_width, 2),
             d = four_of_row<Width>(from, from_width, 3);
  const auto ac_low = low_interleaved(a, c), ac_high = high_interleaved(a, c),
             bd_low = low_interleaved(b, d), bd_high = high_interleaved(b, d);
  Of::write(low_interleaved(ac_low, bd_low), to);
  Of::write(high_interleaved(ac_low, bd_low), to + to_width);
  Of::write(low_interleaved(ac_high, bd_high), to + 2 * to_width);
  Of::write(high_interleaved(ac_high, bd_high), to + 3 * to_width);
}

template <class T, size_t R, size_t C>
constexpr Matrix<T, C, R> transpose(const Matrix<T, R, C>& a) {
  Matrix<T, C, R> result;
  if constexpr (is_same_type<T, float> && has_vectors<T> && R % 4 == 0 && C % 4 == 0)
    if (!__builtin_is_constant_evaluated()) {
      constexpr size_t width = vector_bytes >= 32 && R % 8 == 0 ? 8 : 4;
      for (size_t j = 0; j < C; j += 4)
        for (size_t i = 0; i < R; i += width)
          transpose_four_columns<width>(&a.entries[i][j], C, &result.entries[j][i], R);
      return result;
    }
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < C; ++j) result.entries[j][i] = a.entries[i][j];
  return result;
}

}  // namespace attest
