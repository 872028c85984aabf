// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Derivatives by outputs without heads, where the queries have one.
// must fail with: output_gradient_is_in_heads_where_the_query_is
#include <attest/gradient.hpp>

using namespace attest;
constexpr Batch<Heads<Query<float, 5, 8>, 1>, 3> query;
constexpr Heads<Key<float, 7, 8>, 1> key;
constexpr Heads<Value<float, 7, 3>, 1> value;
#ifdef ATTEST_CONTROL
constexpr Batch<Heads<Matrix<float, 5, 3>, 1>, 3> d_output;
#else
constexpr Batch<Matrix<float, 5, 3>, 3> d_output;
#endif
constexpr auto gradient = attention_gradient(query, key, value, d_output);
