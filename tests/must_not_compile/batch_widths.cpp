// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// In each sequence of a batch, queries of width 8 and keys of width 6.
// must fail with: query_width_equals_key_width
#include <attest/heads.hpp>

using namespace attest;
constexpr Batch<Query<float, 5, 8>, 3> query;
#ifdef ATTEST_CONTROL
constexpr Batch<Key<float, 7, 8>, 3> key;
#else
constexpr Batch<Key<float, 7, 6>, 3> key;
#endif
constexpr Batch<Value<float, 7, 3>, 3> value;
constexpr auto output = attention(query, key, value);
