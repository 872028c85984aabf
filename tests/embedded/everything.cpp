// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Every header of the device side, used: the object file shows what it asks of its surroundings.
#include <attest/attest.hpp>
#include <attest/exp.hpp>
#include <attest/fixed.hpp>
#include <attest/formats.hpp>
#include <attest/log.hpp>
#include <attest/rule.hpp>
#include <attest/sincos.hpp>
#include <attest/sqrt.hpp>
#include <attest/tanh.hpp>

using namespace attest;

template <class T>
struct Work {
  Query<T, 6, 11> query;
  Key<T, 9, 11> key;
  Value<T, 9, 4> value;
  Matrix<bool, 6, 9> mask;
  Matrix<T, 6, 9> weights, copy;
  Matrix<T, 6, 4> output[3];
  Heads<Query<T, 6, 11>, 2> queries;
  Heads<Key<T, 9, 11>, 1> keys;
  Heads<Value<T, 9, 4>, 1> values;
  KeyValueCache<T, 9, 11, 4> cache;
  Heads<RollingKeyValueCache<T, 9, 11, 4>, 1> rings;
  Heads<OutputAndLogSumExp<T, 6, 4>, 2> in_heads;
  Batch<Heads<Query<T, 6, 11>, 2>, 2> batch;
  Batch<Heads<Matrix<T, 6, 4>, 2>, 2> d_batch;
  MultiHeadAttention<T, 6, 2, 1> layer;
  Matrix<T, 5, 6> tokens, d_output;
  bool same = false;

  void run(size_t earlier_keys) {
    output[0] = attention(query, key, value);
    output[1] = attention(query, key, value, causal_after(earlier_keys));
    output[2] = attention<Rule{.scale = Scale::of(0.75)}>(query, key, value, mask);
    output[2] = output[2] + hard_attention(query, key, value, mask);
    output[2] = output[2] + streaming_attention<4>(query, key, value, mask, no_bias, Sink{T(1)});
    in_heads = attention_with_log_sum_exp<Rule{.alibi = true}>(queries, keys, values, mask);
    if (cache.append(key, value)) output[1] = output[1] + attention(query, cache);
    append(rings, keys, values);
    output[1] = output[1] + attention<Rule{.window_left = 3}>(queries, rings)[1];
    tokens = tokens + sinusoidal_positions<T, 5, 6>(earlier_keys);
    queries = rotated(queries, angles<T, 4>(), earlier_keys);
    layer = self_attention_gradient(layer, tokens, d_output, causal).layer;
    d_output = d_output - self_attention(layer, tokens, causal);
    weights = attention_weights(query, key, mask) + attention_scores(batch, keys)[1][0];
    keys[0].matrix = attention_gradient(batch, keys, values, d_batch, mask).key[0];
    d_batch = finish(partial_attention(batch, keys, values, 0, mask), Sink{T(1)});
    output[0] = output[0] + weights * value.matrix - T(2) * transpose(transpose(output[2]));
    copy = weights;
    same = copy == weights && query == Query{query};
    for (auto& row : weights.entries)
      for (T& x : row)
        x = exp(x) + exp2(x) + log(x) + log2(x) + sqrt(x) + rsqrt(x) + tanh(x) + sin(x) + cos(x) +
            T(float16(x) * float16(x)) + T(bfloat16(x)) + T(float8_e4m3fn(x)) + T(float8_e5m2(x)) +
            T(fixed<int16_t, 12>(x) * fixed<int16_t, 12>(x));
  }
};

extern "C" {

constinit Work<float> floats;
constinit Work<double> doubles;

void run(size_t earlier_keys) {
  floats.run(earlier_keys);
  doubles.run(earlier_keys);
}
}
