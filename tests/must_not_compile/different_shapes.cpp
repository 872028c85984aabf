// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A 2x3 matrix cannot be added to its transpose.
// must fail with: same_shape
#include <attest/algebra.hpp>

constexpr attest::Matrix<float, 2, 3> a;
#ifdef ATTEST_CONTROL
constexpr auto sum = a + a;
#else
constexpr auto sum = a + attest::transpose(a);
#endif
