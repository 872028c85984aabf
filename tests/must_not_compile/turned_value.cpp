// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A value is turned by its position. Only what is compared depends on distance.
// must fail with: only_queries_and_keys_turn
#include <attest/position.hpp>

constexpr attest::Key<float, 6, 4> key;
constexpr attest::Value<float, 6, 4> value;
constexpr auto angles = attest::angles<float, 4>();
#ifdef ATTEST_CONTROL
constexpr auto output = attest::rotated(key, angles);
#else
constexpr auto output = attest::rotated(value, angles);
#endif
