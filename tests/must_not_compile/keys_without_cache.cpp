// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Keys where keys and values of all tokens so far are asked for.
// must fail with: second_argument_is_a_cache
#include <attest/cache.hpp>

using namespace attest;
constexpr Query<float, 1, 4> query;
#ifdef ATTEST_CONTROL
constexpr KeyValueCache<float, 8, 4, 4> keys;
#else
constexpr Key<float, 8, 4> keys;
#endif
constexpr auto output = attention(query, keys);
