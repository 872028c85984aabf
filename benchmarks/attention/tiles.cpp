// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Attention in tiles of keys with a running maximum and a running sum, as llama.cpp's ggml and
// FlashAttention have it: no row of weights is kept, and an approximate exponential does. Vectors
// are written out, and products accumulate in registers.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "measured.hpp"

namespace {

#if defined(__AVX512F__)
constexpr std::size_t width = 16, together = 4;  // queries whose accumulators fit in the registers
#elif defined(__AVX__)
constexpr std::size_t width = 8, together = 2;
#else
constexpr std::size_t width = 4, together = 1;
#endif
typedef float Vector __attribute__((vector_size(width * 4), may_alias));
typedef std::int32_t Words __attribute__((vector_size(width * 4)));

constexpr std::size_t largest_tile = 32;  // keys
constexpr std::size_t block = 32;         // queries that share a transposed tile

Vector vector_of(float x) {
  return Vector{} + x;
}

// e^x within 2 units in the last place for x ≤ 0, and 0 below −87: Cody and Waite's reduction and
// Taylor's polynomial, as most vectorised libraries have it.
Vector fast_exp(Vector x) {
  const Vector lowest = vector_of(-87), magic = vector_of(0x1.8p+23f);
  const Vector clamped = x < lowest ? lowest : x;
  const Vector shifted = clamped * 0x1.715476p+0f + magic;
  const Vector k = shifted - magic;
  const Vector r = (clamped - k * 0x1.62e4p-1f) - k * 0x1.7f7d1cp-20f;
  const Vector e =
      1 +
      (r + r * r * (0.5f + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720))))));
  const Vector result = reinterpret_cast<Vector>(reinterpret_cast<Words>(e) +
                                                 (reinterpret_cast<Words>(shifted) << 23));
  return x < lowest ? Vector{} : result;
}

Vector& at(float* x) {
  return *reinterpret_cast<Vector*>(x);
}
const Vector& at(const float* x) {
  return *reinterpret_cast<const Vector*>(x);
}

[[gnu::noinline]] float most(const float* x, std::size_t n) {
  Vector lane = at(x);
  for (std::size_t j = width; j < n; j += width) lane = at(x + j) > lane ? at(x + j) : lane;
  float result = lane[0];
  for (std::size_t l = 1; l < width; ++l) result = lane[l] > result ? lane[l] : result;
  return result;
}
[[gnu::noinline]] float sum_of(Vector x) {
  alignas(64) float lane[width];
  at(lane) = x;
  for (std::size_t half = width / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) lane[l] += lane[l + half];
  return lane[0];
}

}  // namespace

template <std::size_t Tokens, std::size_t D>
void measured::tiles(Problem<Tokens, D>& problem) {
  constexpr std::size_t tile = Tokens > largest_tile ? largest_tile
                               : Tokens > width      ? Tokens
                                                     : width;
  constexpr std::size_t keys = tile / width, columns = D / width;  // in vectors
  constexpr std::size_t chunk = columns < 4 ? columns : 4;
  constexpr std::size_t queries = Tokens < block ? Tokens : block;
  const float scale = 1 / std::sqrt(static_cast<float>(D));
  alignas(64) float transposed[D][tile]{}, score[together][tile], mean[queries][D];
  float largest[queries], total[queries];
  for (std::size_t first_query = 0; first_query < Tokens; first_query += queries) {
    for (auto& row : mean)
      for (float& x : row) x = 0;
    for (float& x : largest) x = -INFINITY;
    for (float& x : total) x = 0;
    for (std::size_t first = 0; first < Tokens; first += tile) {
      for (std::size_t j = 0; j < tile && first + j < Tokens; ++j)
        for (std::size_t t = 0; t < D; ++t) transposed[t][j] = problem.key[first + j][t];
      for (std::size_t i = 0; i < queries; i += together) {
        Vector sum[together][keys]{};
        for (std::size_t t = 0; t < D; ++t)
#pragma GCC unroll 4
          for (std::size_t r = 0; r < together; ++r)
#pragma GCC unroll 8
            for (std::size_t j = 0; j < keys; ++j)
              sum[r][j] += problem.query[first_query + i + r][t] * at(&transposed[t][j * width]);
#pragma GCC unroll 4
        for (std::size_t r = 0; r < together; ++r)
#pragma GCC unroll 8
          for (std::size_t j = 0; j < keys; ++j) at(&score[r][j * width]) = sum[r][j] * scale;
        for (std::size_t r = 0; r < together; ++r) {
          for (std::size_t j = Tokens; j < tile; ++j) score[r][j] = -INFINITY;
          const float old = largest[i + r];
          const float now = std::max(old, most(score[r], tile));
          Vector of_tile{};
          for (std::size_t j = 0; j < tile; j += width)
            of_tile += at(&score[r][j]) = fast_exp(at(&score[r][j]) - now);
          const float kept = std::exp(old - now);
          total[i + r] = kept * total[i + r] + sum_of(of_tile);
          if (kept != 1)
            for (float& x : mean[i + r]) x *= kept;
          largest[i + r] = now;
        }
        for (std::size_t c = 0; c < D; c += chunk * width) {
          Vector weighted[together][chunk]{};
          for (std::size_t j = 0; j < tile && j < Tokens; ++j)
#pragma GCC unroll 4
            for (std::size_t r = 0; r < together; ++r)
#pragma GCC unroll 4
              for (std::size_t t = 0; t < chunk; ++t)
                weighted[r][t] += score[r][j] * at(&problem.value[first + j][c + t * width]);
#pragma GCC unroll 4
          for (std::size_t r = 0; r < together; ++r)
#pragma GCC unroll 4
            for (std::size_t t = 0; t < chunk; ++t)
              at(&mean[i + r][c + t * width]) += weighted[r][t];
        }
      }
    }
    for (std::size_t i = 0; i < queries; ++i)
      for (std::size_t t = 0; t < D; ++t)
        problem.output[first_query + i][t] = mean[i][t] / total[i];
  }
}

#define ATTEST_OF_SIZE(tokens, d) ATTEST_INSTANTIATE(tiles, tokens, d)
ATTEST_FOR_ALL_SIZES(ATTEST_OF_SIZE)
