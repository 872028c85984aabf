// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A batch of queries in four heads and of keys without.
// must fail with: query_key_and_value_are_in_heads_or_nothing_is
#include <attest/heads.hpp>

using namespace attest;
constexpr Batch<Heads<Query<float, 5, 8>, 4>, 3> query;
constexpr Batch<Heads<Value<float, 7, 3>, 2>, 3> value;
#ifdef ATTEST_CONTROL
constexpr Batch<Heads<Key<float, 7, 8>, 2>, 3> key;
#else
constexpr Batch<Key<float, 7, 8>, 3> key;
#endif
constexpr auto output = attention(query, key, value);
