// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Eight entries are to turn of queries that have four.
// must fail with: no_more_entries_turn_than_there_are
#include <attest/position.hpp>

constexpr attest::Query<float, 6, 4> query;
#ifdef ATTEST_CONTROL
constexpr auto output = attest::rotated(query, attest::angles<float, 4>());
#else
constexpr auto output = attest::rotated(query, attest::angles<float, 8>());
#endif
