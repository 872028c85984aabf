// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A window of eight keys to the left and the token itself, on a ring that keeps eight tokens.
// must fail with: rolling_cache_holds_the_window_of_every_query
#include <attest/cache.hpp>

using namespace attest;
constexpr Query<float, 1, 4> query;
constexpr RollingKeyValueCache<float, 8, 4, 4> cache;
#ifdef ATTEST_CONTROL
constexpr Rule rule{.causal = true, .window_left = 7};
#else
constexpr Rule rule{.causal = true, .window_left = 8};
#endif
constexpr auto output = attention<rule>(query, cache);
