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

struct Cache {
  Key<float, context_length, width> key;
  Value<float, context_length, width> value;
};

// What is known before the device is powered: bytes of cache and scratch, operations of the longest
// step.
constexpr Cost step = attention_cost(Query<float, 1, width>{}, Key<float, context_length, width>{},
                                     Value<float, context_length, width>{});
static_assert(sizeof(Cache) == 2 * context_length * width * sizeof(float));
static_assert(step.scratch_bytes == 32 && step.exponentials == 8 && step.multiplications == 72);

Matrix<float, 1, width> decode(Cache& cache, const Matrix<float, 1, width>& token,
                               size_t position) {
  const auto key = token * w_k, value = token * w_v;
  for (size_t j = 0; j < width; ++j) {
    cache.key.matrix[position][j] = key[0][j];
    cache.value.matrix[position][j] = value[0][j];
  }
  return attention(Query{token * w_q}, cache.key, cache.value, causal_after(position));
}

int main() {
  Matrix<float, context_length, width> text;
  for (size_t i = 0; i < context_length; ++i) text[i][i % width] = 1.f + static_cast<float>(i);
  const auto whole = attention(Query{text * w_q}, Key{text * w_k}, Value{text * w_v}, causal);

  static Cache cache;
  bool same = true;
  for (size_t i = 0; i < context_length; ++i) {
    Matrix<float, 1, width> token;
    for (size_t j = 0; j < width; ++j) token[0][j] = text[i][j];
    const auto output = decode(cache, token, i);
    for (size_t j = 0; j < width; ++j) same = same && output[0][j] == whole[i][j];
  }
  std::puts(same ? "token by token = all at once, to the bit" : "the cache changed the result");
  return same ? 0 : 1;
}
