// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Tiles of no key never come to an end.
// must fail with: a_tile_holds_a_key
#include <attest/streaming.hpp>

#include "one_head.hpp"

#ifdef ATTEST_CONTROL
constexpr auto output = streaming_attention<2>(query, key, value);
#else
constexpr auto output = streaming_attention<0>(query, key, value);
#endif
