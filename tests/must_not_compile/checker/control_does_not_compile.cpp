// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The right program is as wrong as the wrong one.
// must fail with: inner_dimensions_agree
// the checker says: the control does not compile
#include <attest/algebra.hpp>

constexpr attest::Matrix<float, 2, 3> a;
constexpr auto product = a * a;
