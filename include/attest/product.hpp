// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Sums of products of several rows at once, in the registers of a processor with vectors. Every
// sum is taken from left to right: what stands side by side are different sums, so the bits are
// those of the loops that constant evaluation runs (algebra.hpp).
#pragma once
#include <stddef.h>

#include <attest/contraction.hpp>
#include <attest/ieee.hpp>
#include <attest/vectors.hpp>

namespace attest {

// y_r ← y_r + x_r,first·a_first + … + x_r,last−1·a_last−1 for Rows rows x_r and y_r, of
// Vectors·Width neighbouring columns. The sums stay in registers.
template <size_t Rows, size_t Vectors, size_t Width, class T, size_t X, size_t N>
inline void add_tile_of_products(const T (*x)[X], const T (*a)[N], T (*y)[N], size_t first,
                                 size_t last, size_t column) {
  ATTEST_NO_CONTRACTION
  using Of = VectorOf<T, Width>;
  using Vector = typename Of::type;
  Vector sum[Rows][Vectors];
#pragma GCC unroll 8
  for (size_t r = 0; r < Rows; ++r)
#pragma GCC unroll 8
    for (size_t v = 0; v < Vectors; ++v) sum[r][v] = Of::read(&y[r][column + v * Width]);
#pragma GCC unroll 4
  for (size_t t = first; t < last; ++t) {
    Vector row[Vectors];
#pragma GCC unroll 8
    for (size_t v = 0; v < Vectors; ++v) row[v] = Of::read(&a[t][column + v * Width]);
#pragma GCC unroll 8
    for (size_t r = 0; r < Rows; ++r)
#pragma GCC unroll 8
      for (size_t v = 0; v < Vectors; ++v) sum[r][v] = sum[r][v] + x[r][t] * row[v];
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < Rows; ++r)
#pragma GCC unroll 8
    for (size_t v = 0; v < Vectors; ++v) Of::write(sum[r][v], &y[r][column + v * Width]);
}

// Of a tile, sums that stay in registers beside what is multiplied: 16 of 32 registers with
// AVX-512, 12 of 16 with AVX, 8 of 16 without, where it takes two instructions to fill a vector
// with one number, which then should serve more columns.
#if defined(__AVX512F__)
inline constexpr size_t rows_of_tile = 8, vectors_of_tile = 2;
#elif defined(__AVX__)
inline constexpr size_t rows_of_tile = 4, vectors_of_tile = 3;
#else
inline constexpr size_t rows_of_tile = 2, vectors_of_tile = 4;
#endif

// How many of so many vectors side by side the next tile takes: all it can, but tiles of three and
// more leave none alone, whose few sums would wait for their own last addition.
constexpr size_t vectors_of_next_tile(size_t vectors) {
  if (vectors == vectors_of_tile + 1) return vectors - vectors / 2;
  return vectors < vectors_of_tile ? vectors : vectors_of_tile;
}
template <size_t Rows, size_t Vectors, size_t Width, class T, size_t X, size_t N>
inline void add_tiles_of_products(const T (*x)[X], const T (*a)[N], T (*y)[N], size_t first,
                                  size_t last, size_t column) {
  constexpr size_t rest = Rows % rows_of_tile, in_tiles = Rows - rest;
  for (size_t r = 0; r < in_tiles; r += rows_of_tile)
    add_tile_of_products<rows_of_tile, Vectors, Width>(x + r, a, y + r, first, last, column);
  if constexpr (rest != 0)
    add_tile_of_products<rest, Vectors, Width>(x + in_tiles, a, y + in_tiles, first, last, column);
}

// The same of all columns that have a part in begin … end − 1, and of neighbours that fill up a
// vector: those from `Done` on, in vectors of Width and, for the rest, of half the width. Tiles of
// one kind are a loop; what may be left for two of another is less than two tiles.
template <size_t Rows, size_t Width, size_t Done, class T, size_t X, size_t N>
inline void add_columns_of_products(const T (*x)[X], const T (*a)[N], T (*y)[N], size_t first,
                                    size_t last, size_t begin, size_t end) {
  constexpr size_t vectors = (N - Done) / Width, columns = vectors_of_tile * Width;
  constexpr size_t tiles = vectors < 2 ? 0 : (vectors - 2) / vectors_of_tile;
  constexpr size_t after_tiles = Done + tiles * columns;
  for (size_t column = Done; column < after_tiles; column += columns)
    if (column < end && begin < column + columns)
      add_tiles_of_products<Rows, vectors_of_tile, Width>(x, a, y, first, last, column);

  constexpr size_t left = vectors - tiles * vectors_of_tile;
  constexpr size_t next = vectors_of_next_tile(left), after_next = after_tiles + next * Width;
  constexpr size_t after_vectors = after_tiles + left * Width;
  if constexpr (next > 0)
    if (after_tiles < end && begin < after_next)
      add_tiles_of_products<Rows, next, Width>(x, a, y, first, last, after_tiles);
  if constexpr (left > next)
    if (after_next < end && begin < after_vectors)
      add_tiles_of_products<Rows, left - next, Width>(x, a, y, first, last, after_next);
  if constexpr (after_vectors < N)
    add_columns_of_products<Rows, Width / 2, after_vectors>(x, a, y, first, last, begin, end);
}
template <size_t Rows, class T, size_t X, size_t N>
inline void add_products(const T (*x)[X], const T (*a)[N], T (*y)[N], size_t first, size_t last,
                         size_t begin, size_t end) {
  add_columns_of_products<Rows, vector_bytes / sizeof(T), 0>(x, a, y, first, last, begin, end);
}

}  // namespace attest
