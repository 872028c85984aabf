// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A bias where a mask is expected: what answers with numbers does not say what is visible.
// must fail with: says_which_keys_a_query_sees
#include "one_head.hpp"

constexpr Alibi alibi{1.f};
#ifdef ATTEST_CONTROL
constexpr auto output = attention(query, key, value, everything, alibi);
#else
constexpr auto output = attention(query, key, value, alibi);
#endif
