// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Tiles of no key never come to an end.
// must fail with: a_tile_holds_a_key
#include <attest/streaming.hpp>

using namespace attest;
constexpr Query<float, 2, 4> query;
constexpr Key<float, 5, 4> key;
constexpr Value<float, 5, 4> value;
#ifdef ATTEST_CONTROL
constexpr auto output = streaming_attention<2>(query, key, value);
#else
constexpr auto output = streaming_attention<0>(query, key, value);
#endif
