// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A bias for each key/value head, where each query head needs its own or all share one.
// must fail with: bias_is_shared_or_one_per_query_head
#include "four_heads.hpp"

#ifdef ATTEST_CONTROL
constexpr Heads<Matrix<float, 5, 7>, 4> bias;
#else
constexpr Heads<Matrix<float, 5, 7>, 2> bias;
#endif
constexpr auto output = attention(query, key, value, everything, bias);
