// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// No query.
// must fail with: there_is_a_query
#include <attest/attention.hpp>

using namespace attest;
#ifdef ATTEST_CONTROL
constexpr Query<float, 1, 4> query;
#else
constexpr Query<float, 0, 4> query;
#endif
constexpr Key<float, 5, 4> key;
constexpr Value<float, 5, 4> value;
constexpr auto output = attention(query, key, value);
