// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Results rounded twice, by registers wider than double.
// wrong with: -mfpmath=387
// must fail with: attest: float or double is computed in a wider format
#include <attest/sqrt.hpp>

constexpr double root = attest::sqrt(2.0);
