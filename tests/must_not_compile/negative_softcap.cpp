// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A rule with softcap -3.
// must fail with: softcap_is_positive_or_0_for_none
#include <attest/attention.hpp>

#ifdef ATTEST_CONTROL
constexpr attest::Rule rule{.softcap = 3};
#else
constexpr attest::Rule rule{.softcap = -3};
#endif
constexpr attest::Query<float, 2, 4> query;
constexpr attest::Key<float, 5, 4> key;
constexpr attest::Value<float, 5, 4> value;
constexpr auto output = attest::attention<rule>(query, key, value);
