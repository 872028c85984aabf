// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The gradient of one output for a layer that has five.
// must fail with: output_gradient_has_the_form_of_the_layer_output
#include <attest/layer_gradient.hpp>

constexpr attest::MultiHeadAttention<float, 8, 2> layer;
constexpr attest::Matrix<float, 5, 8> tokens;
#ifdef ATTEST_CONTROL
constexpr attest::Matrix<float, 5, 8> d_output;
#else
constexpr attest::Matrix<float, 1, 8> d_output;
#endif
constexpr auto gradient = attest::self_attention_gradient(layer, tokens, d_output);
