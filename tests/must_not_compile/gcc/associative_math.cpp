// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Sums in any order.
// wrong with: -fassociative-math -fno-signed-zeros -fno-trapping-math
// must fail with: attest: under -ffast-math, or a part of it
#include <attest/algebra.hpp>

constexpr auto product = attest::matrix({{0.1f, 0.2f}}) * attest::matrix({{0.3f}, {0.4f}});
