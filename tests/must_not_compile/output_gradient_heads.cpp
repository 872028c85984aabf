// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Derivatives by the output of each key/value head, where each query head has an output.
// must fail with: one_output_gradient_per_query_head
#include <attest/gradient.hpp>

using namespace attest;
constexpr Heads<Query<float, 5, 8>, 4> query;
constexpr Heads<Key<float, 7, 8>, 2> key;
constexpr Heads<Value<float, 7, 3>, 2> value;
#ifdef ATTEST_CONTROL
constexpr Heads<Matrix<float, 5, 3>, 4> d_output;
#else
constexpr Heads<Matrix<float, 5, 3>, 2> d_output;
#endif
constexpr auto gradient = attention_gradient(query, key, value, d_output);
