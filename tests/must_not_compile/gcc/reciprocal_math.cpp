// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Quotients computed as products.
// wrong with: -freciprocal-math
// must fail with: attest: under -ffast-math, or a part of it
#include <attest/softmax.hpp>

constexpr auto weights = attest::softmax(attest::matrix({{0.1f, 0.2f}}));
