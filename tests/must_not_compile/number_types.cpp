// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Weights in float, tokens in double: nothing is converted unasked.
// must fail with: same_number_type
#include <attest/algebra.hpp>

constexpr attest::Matrix<double, 4, 8> tokens;
#ifdef ATTEST_CONTROL
constexpr attest::Matrix<double, 8, 2> weights;
#else
constexpr attest::Matrix<float, 8, 2> weights;
#endif
constexpr auto projected = tokens * weights;
