// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A softcap after the mask counts hidden keys too, and of a ring the first ones are overwritten.
// must fail with: rolling_cache_needs_no_overwritten_key
#include <attest/cache.hpp>

using namespace attest;
constexpr Query<float, 1, 4> query;
constexpr RollingKeyValueCache<float, 8, 4, 4> cache;
#ifdef ATTEST_CONTROL
constexpr auto place = SoftcapPlace::before_mask;
#else
constexpr auto place = SoftcapPlace::after_mask;
#endif
constexpr Rule rule{.softcap = 2, .softcap_place = place, .causal = true, .window_left = 7};
constexpr auto output = attention<rule>(query, cache);
