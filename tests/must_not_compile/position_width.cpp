// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Learned positions of width 4 for tokens of width 8.
// must fail with: position_width_equals_token_width
#include <attest/position.hpp>

constexpr attest::Matrix<float, 6, 8> tokens;
#ifdef ATTEST_CONTROL
constexpr attest::Matrix<float, 512, 8> table;
#else
constexpr attest::Matrix<float, 512, 4> table;
#endif
constexpr auto placed = attest::with_learned_positions(tokens, table);
