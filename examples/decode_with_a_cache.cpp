// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// One token at a time, as on a device: weights in flash, keys and values of the past in a buffer of
// fixed size, no heap.
#include <attest/attest.hpp>
#include <cstdio>

using namespace attest;

constexpr size_t context_length = 8, width = 4;
using Projection = Matrix<float, width, width>;

constexpr Projection w_q = matrix({{0.8f, 0.1f, 0.f, 0.f},
                                   {0.f, 0.9f, 0.2f, 0.f},
                                   {0.f, 0.f, 0.7f, 0.1f},
                                   {0.3f, 0.f, 0.f, 0.6f}});
constexpr Projection w_k = transpose(w_q);
constexpr Projection w_v = identity<float, width>();

constexpr Rule rule{.causal = true};
using Cache = KeyValueCache<float, context_length, width, width>;

// What is known before the device is powered: bytes of cache and scratch, operations of the longest
// step.
constexpr Cost step = cost_of<rule, Query<float, 1, width>, Cache>;
static_assert(step.state_bytes == 2 * context_length * width * sizeof(float) + sizeof(size_t));
static_assert(step.scratch_bytes == 32 && step.exponentials == 8 && step.multiplications == 72);

bool decode(Cache& cache, const Matrix<float, 1, width>& token, Matrix<float, 1, width>& output) {
  if (!cache.append(Key{token * w_k}, Value{token * w_v})) return false;  // the context is full
  output = attention<rule>(Query{token * w_q}, cache);
  return true;
}

int main() {
  Matrix<float, context_length, width> text;
  for (size_t i = 0; i < context_length; ++i) text[i][i % width] = 1.f + static_cast<float>(i);
  const auto whole = attention<rule>(Query{text * w_q}, Key{text * w_k}, Value{text * w_v});

  static Cache cache;
  bool same = true;
  Matrix<float, 1, width> token, output;
  for (size_t i = 0; i < context_length; ++i) {
    for (size_t j = 0; j < width; ++j) token[0][j] = text[i][j];
    same = decode(cache, token, output) && same;
    for (size_t j = 0; j < width; ++j) same = same && output[0][j] == whole[i][j];
  }
  const bool full = !decode(cache, token, output);
  std::puts(same ? "token by token = all at once, to the bit" : "the cache changed the result");
  std::puts(full ? "a ninth token is refused" : "a ninth token was taken");
  return same && full ? 0 : 1;
}
