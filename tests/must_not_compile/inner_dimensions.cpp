// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A 2x3 matrix cannot be multiplied by a 2x3 matrix: 3 columns meet 2 rows.
// must fail with: inner_dimensions_agree
#include <attest/algebra.hpp>

constexpr attest::Matrix<float, 2, 3> a;
#ifdef ATTEST_CONTROL
constexpr auto product = a * attest::transpose(a);
#else
constexpr auto product = a * a;
#endif
