// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A rule with window_left -5.
// must fail with: window_ends_count_keys_or_are_minus_one_for_no_limit
#include <attest/attention.hpp>

#ifdef ATTEST_CONTROL
constexpr attest::Rule rule{.window_left = 3};
#else
constexpr attest::Rule rule{.window_left = -5};
#endif
constexpr attest::Query<float, 2, 4> query;
constexpr attest::Key<float, 5, 4> key;
constexpr attest::Value<float, 5, 4> value;
constexpr auto output = attest::attention<rule>(query, key, value);
