// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Vectors that flush subnormal numbers to zero.
// wrong with: -mcpu=cortex-m55
// must fail with: attest: MVE flushes subnormal numbers to zero
#include <attest/algebra.hpp>

constexpr auto product = attest::matrix({{0.1f}}) * attest::matrix({{0.3f}});
