// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Queries and keys of width 0: there is no 1/sqrt(0) to scale by.
// must fail with: query_and_key_have_an_entry
#include <attest/attention.hpp>

using namespace attest;
#ifdef ATTEST_CONTROL
constexpr Query<float, 2, 1> query;
constexpr Key<float, 5, 1> key;
#else
constexpr Query<float, 2, 0> query;
constexpr Key<float, 5, 0> key;
#endif
constexpr Value<float, 5, 4> value;
constexpr auto output = attention(query, key, value);
