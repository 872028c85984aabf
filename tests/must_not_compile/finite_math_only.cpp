// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Arithmetic without NaN and infinity.
// wrong with: -ffinite-math-only
// must fail with: attest: under -ffinite-math-only
#include <attest/exp.hpp>

constexpr float result = attest::exp(-attest::bits::infinity<float>);
