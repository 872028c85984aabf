// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A number where a sink is expected.
// must fail with: sink_has_the_number_type_of_the_scores
#include "one_head.hpp"

#ifdef ATTEST_CONTROL
constexpr Sink sink{1.f};
#else
constexpr float sink = 1;
#endif
constexpr auto output = attention(query, key, value, everything, no_bias, sink);
