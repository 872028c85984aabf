// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Three heads of an embedding of 8.
// must fail with: embedding_is_a_multiple_of_heads_or_their_width_is_given
#include <attest/layer.hpp>

#ifdef ATTEST_CONTROL
constexpr attest::MultiHeadAttention<float, 8, 2> layer;
#else
constexpr attest::MultiHeadAttention<float, 8, 3> layer;
#endif
