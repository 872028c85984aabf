// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A rule with window_left -5.
// must fail with: window_ends_count_keys_or_are_minus_one_for_no_limit
#include "one_head.hpp"

#ifdef ATTEST_CONTROL
constexpr Rule rule{.window_left = 3};
#else
constexpr Rule rule{.window_left = -5};
#endif
constexpr auto output = attention<rule>(query, key, value);
