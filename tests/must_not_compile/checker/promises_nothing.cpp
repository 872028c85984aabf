// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Wrong, with the right program beside it, but without a word on what the compiler should name.
// the checker says: no reason is promised
#include <attest/algebra.hpp>

constexpr attest::Matrix<float, 2, 3> a;
#ifdef ATTEST_CONTROL
constexpr auto product = a * attest::transpose(a);
#else
constexpr auto product = a * a;
#endif
