// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A table of 4 learned positions for 6 tokens.
// must fail with: no_more_tokens_than_positions
#include <attest/position.hpp>

constexpr attest::Matrix<float, 6, 8> tokens;
#ifdef ATTEST_CONTROL
constexpr attest::Matrix<float, 512, 8> table;
#else
constexpr attest::Matrix<float, 4, 8> table;
#endif
constexpr auto placed = attest::with_learned_positions(tokens, table);
