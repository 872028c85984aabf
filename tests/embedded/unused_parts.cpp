// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Attention under the empty rule, the same without any rule, written out of the same rows, and
// attention with one part of a rule each: what is not used leaves no code (unused_parts.cmake).
#include <attest/attention.hpp>

using namespace attest;
using Q = Query<float, 16, 16>;
using K = Key<float, 16, 16>;
using V = Value<float, 16, 16>;
using Output = Matrix<float, 16, 16>;

extern "C" void by_hand(const Q& query, const K& key, const V& value, Output& output) {
  Output rows;
  for (size_t i = 0; i < 16; ++i) {
    float weight[16]{};
    for (size_t j = 0; j < 16; ++j)
      weight[j] = 0.25f * dot(query.matrix.entries[i], key.matrix.entries[j]);
    softmax_row(weight, everything, i);
    for (size_t j = 0; j < 16; ++j) axpy(weight[j], value.matrix.entries[j], rows.entries[i]);
  }
  output = rows;
}
extern "C" void empty_rule(const Q& query, const K& key, const V& value, Output& output) {
  output = attention(query, key, value);
}
extern "C" void with_softcap(const Q& query, const K& key, const V& value, Output& output) {
  output = attention<Rule{.softcap = 30}>(query, key, value);
}
extern "C" void with_causality(const Q& query, const K& key, const V& value, Output& output) {
  output = attention<Rule{.causal = true}>(query, key, value);
}
extern "C" void with_window(const Q& query, const K& key, const V& value, Output& output) {
  output = attention<Rule{.window_left = 3, .window_right = 0}>(query, key, value);
}
extern "C" void with_nan(const Q& query, const K& key, const V& value, Output& output) {
  output = attention<Rule{.empty_row = EmptyRow::nan}>(query, key, value);
}
extern "C" void with_sink(const Q& query, const K& key, const V& value, Output& output,
                          float sink) {
  output = attention(query, key, value, everything, no_bias, Sink{sink});
}
extern "C" void with_bias(const Q& query, const K& key, const V& value, Output& output,
                          const Output& bias) {
  output = attention(query, key, value, everything, bias);
}
extern "C" void with_mask(const Q& query, const K& key, const V& value, Output& output,
                          const Matrix<bool, 16, 16>& mask) {
  output = attention(query, key, value, mask);
}
