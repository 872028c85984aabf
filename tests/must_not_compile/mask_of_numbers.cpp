// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Numbers to be added to scores are no mask: a mask is of bool and says who sees whom.
// must fail with: says_which_keys_a_query_sees
#include "one_head.hpp"

#ifdef ATTEST_CONTROL
constexpr Matrix<bool, 2, 5> mask;
#else
constexpr Matrix<float, 2, 5> mask;
#endif
constexpr auto output = attention(query, key, value, mask);
