// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Sinusoidal positions of width seven: a sine without its cosine.
// must fail with: entries_come_in_pairs
#include <attest/position.hpp>

#ifdef ATTEST_CONTROL
constexpr auto positions = attest::sinusoidal_positions<float, 5, 8>();
#else
constexpr auto positions = attest::sinusoidal_positions<float, 5, 7>();
#endif
