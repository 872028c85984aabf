// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A matrix of no row.
// must fail with: matrix_has_a_row_and_a_column
#include <attest/matrix.hpp>

using namespace attest;
#ifdef ATTEST_CONTROL
constexpr Matrix<float, 1, 3> m;
#else
constexpr Matrix<float, 0, 3> m;
#endif
