// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Tokens of width 6 for a layer of embedding 8.
// must fail with: token_width_equals_input_width
#include <attest/layer.hpp>

constexpr attest::MultiHeadAttention<float, 8, 2> layer;
#ifdef ATTEST_CONTROL
constexpr attest::Matrix<float, 5, 8> tokens;
#else
constexpr attest::Matrix<float, 5, 6> tokens;
#endif
constexpr auto output = attest::self_attention(layer, tokens);
