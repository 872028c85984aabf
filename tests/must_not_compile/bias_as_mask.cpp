// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A bias where a mask is expected: what answers with numbers does not say what is visible.
// must fail with: says_which_keys_a_query_sees
#include <attest/attention.hpp>

constexpr attest::Query<float, 2, 4> query;
constexpr attest::Key<float, 5, 4> key;
constexpr attest::Value<float, 5, 4> value;
constexpr attest::Alibi alibi{1.f};
#ifdef ATTEST_CONTROL
constexpr auto output = attest::attention(query, key, value, attest::everything, alibi);
#else
constexpr auto output = attest::attention(query, key, value, alibi);
#endif
