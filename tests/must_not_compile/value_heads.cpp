// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Values of four heads, keys of two.
// must fail with: one_value_head_per_key_head
#include <attest/heads.hpp>

using namespace attest;
constexpr Heads<Query<float, 5, 8>, 4> query;
constexpr Heads<Key<float, 7, 8>, 2> key;
#ifdef ATTEST_CONTROL
constexpr Heads<Value<float, 7, 3>, 2> value;
#else
constexpr Heads<Value<float, 7, 3>, 4> value;
#endif
constexpr auto output = attention(query, key, value);
