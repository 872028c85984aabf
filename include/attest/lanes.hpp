// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A row of numbers in lanes, as processors with vectors have them: its sum and its largest entry.
#pragma once
#include <attest/bits.hpp>
#include <attest/ieee.hpp>
#include <attest/vectors.hpp>

namespace attest {

// Rows are worked on in 32 lanes: lane l takes x_l, x_{l+32}, x_{l+64}, … one after the other; then
// lane l takes lane l + 16, then l + 8, l + 4, l + 2, l + 1. Sums side by side are what the
// vectors of a processor add at once. A compiler may not make them of one sum, since the bits would
// not be those of constant evaluation; so this is the order everywhere, with vectors or without.
inline constexpr size_t lanes = 32;

// The lanes of a row of N, those that would stay empty left out.
template <size_t N>
inline constexpr size_t used_lanes = N < lanes ? N : lanes;

template <size_t half, class T, size_t width, class Operation>
constexpr T folded(T (&lane)[width], Operation operation) {
  for (size_t l = 0; l < half && l + half < width; ++l)
    lane[l] = operation(lane[l], lane[l + half]);
  if constexpr (half == 1)
    return lane[0];
  else
    return folded<half / 2>(lane, operation);
}

// The same lanes in vectors of Width, of which N is a multiple.
template <size_t Width, class T, class Operation>
inline T folded_vector(const typename VectorOf<T, Width>::type& lane, Operation operation) {
  static_assert(Width == 8 || Width == 4 || Width == 2);
  if constexpr (Width == 2)
    return operation(lane[0], lane[1]);
  else if constexpr (Width == 4)
    return folded_vector<2, T>(operation(__builtin_shufflevector(lane, lane, 0, 1),
                                         __builtin_shufflevector(lane, lane, 2, 3)),
                               operation);
  else
    return folded_vector<4, T>(operation(__builtin_shufflevector(lane, lane, 0, 1, 2, 3),
                                         __builtin_shufflevector(lane, lane, 4, 5, 6, 7)),
                               operation);
}
template <size_t Width, class T, size_t N, class Operation>
inline T folded_in_vectors(const T (&x)[N], Operation operation) {
  using Of = VectorOf<T, Width>;
  constexpr size_t vectors = N / Width, width = used_lanes<N> / Width, rest = vectors % width;
  typename Of::type lane[width];
#pragma GCC unroll 16
  for (size_t v = 0; v < width; ++v) lane[v] = Of::read(x + v * Width);
  for (size_t turn = width; turn + width <= vectors; turn += width)
#pragma GCC unroll 16
    for (size_t v = 0; v < width; ++v)
      lane[v] = operation(lane[v], Of::read(x + (turn + v) * Width));
#pragma GCC unroll 16
  for (size_t v = 0; v < rest; ++v)
    lane[v] = operation(lane[v], Of::read(x + (vectors - rest + v) * Width));
#pragma GCC unroll 4
  for (size_t half = lanes / 2 / Width; half > 0; half /= 2)
#pragma GCC unroll 16
    for (size_t v = 0; v < half; ++v)
      if (v + half < width) lane[v] = operation(lane[v], lane[v + half]);
  return folded_vector<Width, T>(lane[0], operation);
}

// The widest vector of which rows of N are made, or 1. Not of 64 bytes: GCC writes 32 at a time
// unless told otherwise, and what was written in two parts the processor is slow to read as one.
template <class T, size_t N>
constexpr size_t whole_vector() {
  size_t width = has_vectors<T> ? (vector_bytes < 32 ? vector_bytes : 32) / sizeof(T) : 1;
  while (N % width != 0) width /= 2;
  return width;
}

// x_0 + x_1 + … in n − 1 additions, of which no entry meets more than ⌈n/32⌉ + 4. Adding +0 changes
// no bit of a sum that is not negative, so zeros at the end may as well be missing.
template <class T, size_t N>
constexpr T sum_in_lanes(const T (&x)[N]) {
  if constexpr (whole_vector<T, N>() > 1)
    if (!__builtin_is_constant_evaluated())
      return folded_in_vectors<whole_vector<T, N>()>(
          x, [](const auto& a, const auto& b) { return a + b; });
  constexpr size_t width = used_lanes<N>, whole = N - N % width;
  T lane[width];
  if constexpr (whole > width)
    for (size_t l = 0; l < width; ++l) lane[l] = x[l] + x[width + l];
  else
    for (size_t l = 0; l < width; ++l) lane[l] = x[l];
  for (size_t turn = 2; turn < whole / width; ++turn)
    for (size_t l = 0; l < width; ++l) lane[l] = lane[l] + x[turn * width + l];
  for (size_t l = 0; l < N - whole; ++l) lane[l] = lane[l] + x[whole + l];
  return folded<lanes / 2>(lane, [](const T& a, const T& b) { return a + b; });
}

// The largest entry; any order finds it.
template <class T, size_t N>
constexpr T largest_in_lanes(const T (&x)[N]) {
  if constexpr (whole_vector<T, N>() > 1)
    if (!__builtin_is_constant_evaluated())
      return folded_in_vectors<whole_vector<T, N>()>(
          x, [](const auto& a, const auto& b) { return b > a ? b : a; });
  constexpr size_t width = used_lanes<N>, whole = N - N % width;
  T lane[width];
  if constexpr (whole > width)
    for (size_t l = 0; l < width; ++l) lane[l] = x[width + l] > x[l] ? x[width + l] : x[l];
  else
    for (size_t l = 0; l < width; ++l) lane[l] = x[l];
  for (size_t turn = 2; turn < whole / width; ++turn)
    for (size_t l = 0; l < width; ++l)
      lane[l] = x[turn * width + l] > lane[l] ? x[turn * width + l] : lane[l];
  for (size_t l = 0; l < N - whole; ++l) lane[l] = x[whole + l] > lane[l] ? x[whole + l] : lane[l];
  return folded<lanes / 2>(lane, [](const T& a, const T& b) { return b > a ? b : a; });
}

}  // namespace attest
