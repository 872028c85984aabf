// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Derivatives by the outputs of two sequences, where there are three.
// must fail with: one_output_gradient_per_element_of_the_batch
#include <attest/gradient.hpp>

using namespace attest;
constexpr Batch<Query<float, 5, 8>, 3> query;
constexpr Key<float, 7, 8> key;
constexpr Value<float, 7, 3> value;
#ifdef ATTEST_CONTROL
constexpr Batch<Matrix<float, 5, 3>, 3> d_output;
#else
constexpr Batch<Matrix<float, 5, 3>, 2> d_output;
#endif
constexpr auto gradient = attention_gradient(query, key, value, d_output);
