// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Arithmetic that need not be that of IEEE 754.
// wrong with: -ffast-math
// must fail with: attest: under -ffast-math, or a part of it
#include <attest/algebra.hpp>

constexpr auto product = attest::matrix({{0.1f}}) * attest::matrix({{0.3f}});
