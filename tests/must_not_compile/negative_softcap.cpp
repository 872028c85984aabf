// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A rule with softcap -3.
// must fail with: softcap_is_positive_or_0_for_none
#include "one_head.hpp"

#ifdef ATTEST_CONTROL
constexpr Rule rule{.softcap = 3};
#else
constexpr Rule rule{.softcap = -3};
#endif
constexpr auto output = attention<rule>(query, key, value);
