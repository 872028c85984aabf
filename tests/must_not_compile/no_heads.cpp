// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Attention in no head.
// must fail with: there_is_a_head
#include <attest/heads.hpp>

using namespace attest;
#ifdef ATTEST_CONTROL
constexpr Heads<Query<float, 2, 4>, 1> query;
#else
constexpr Heads<Query<float, 2, 4>, 0> query;
#endif
constexpr Heads<Key<float, 5, 4>, 1> key;
constexpr Heads<Value<float, 5, 4>, 1> value;
constexpr auto output = attention(query, key, value);
