// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Derivatives by the output of each key/value head, where each query head has an output.
// must fail with: one_output_gradient_per_query_head
#include <attest/gradient.hpp>

#include "four_heads.hpp"

#ifdef ATTEST_CONTROL
constexpr Heads<Matrix<float, 5, 3>, 4> d_output;
#else
constexpr Heads<Matrix<float, 5, 3>, 2> d_output;
#endif
constexpr auto gradient = attention_gradient(query, key, value, d_output);
