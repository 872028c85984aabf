// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The wrong program fails because a name is misspelt, not because shapes differ.
// must fail with: inner_dimensions_agree
// the checker says: for another reason than inner_dimensions_agree
#include <attest/algebra.hpp>

constexpr attest::Matrix<float, 2, 3> a;
#ifdef ATTEST_CONTROL
constexpr auto product = a * attest::transpose(a);
#else
constexpr auto product = a * attest::transposed(a);
#endif
