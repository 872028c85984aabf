// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// S16: query and key in each other's place. All shapes fit, so only the roles can tell.
// must fail with: first_argument_is_a_query
#include <attest/attention.hpp>

constexpr attest::Query<float, 6, 4> query;
constexpr attest::Key<float, 6, 4> key;
constexpr attest::Value<float, 6, 4> value;
#ifdef ATTEST_CONTROL
constexpr auto output = attest::attention(query, key, value);
#else
constexpr auto output = attest::attention(key, query, value);
#endif
