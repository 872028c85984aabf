// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Six query heads cannot share four key/value heads evenly.
// must fail with: query_heads_are_a_multiple_of_key_value_heads
#include <attest/heads.hpp>

using namespace attest;
#ifdef ATTEST_CONTROL
constexpr Heads<Query<float, 5, 8>, 8> query;
#else
constexpr Heads<Query<float, 5, 8>, 6> query;
#endif
constexpr Heads<Key<float, 7, 8>, 4> key;
constexpr Heads<Value<float, 7, 3>, 4> value;
constexpr auto output = attention(query, key, value);
