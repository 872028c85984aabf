// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Values that hand over nothing.
// must fail with: matrix_has_a_row_and_a_column
#include <attest/roles.hpp>

using namespace attest;
#ifdef ATTEST_CONTROL
constexpr Value<float, 3, 1> value;
#else
constexpr Value<float, 3, 0> value;
#endif
