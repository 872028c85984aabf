// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Nothing is wrong with the program that should be.
// must fail with: inner_dimensions_agree
// the checker says: the wrong program compiles
#include <attest/algebra.hpp>

constexpr attest::Matrix<float, 3, 3> a;
constexpr auto product = a * a;
