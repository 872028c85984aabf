// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A sink for each key/value head, where each query head needs its own or all share one.
// must fail with: sink_is_shared_or_one_per_query_head
#include "four_heads.hpp"

#ifdef ATTEST_CONTROL
constexpr Heads<Sink<float>, 4> sink;
#else
constexpr Heads<Sink<float>, 2> sink;
#endif
constexpr auto output = attention(query, key, value, everything, no_bias, sink);
