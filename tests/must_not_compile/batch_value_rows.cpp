// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// In the heads of each sequence of a batch, seven keys and six values.
// must fail with: one_value_row_per_key_row
#include <attest/heads.hpp>

using namespace attest;
constexpr Batch<Heads<Query<float, 5, 8>, 4>, 3> query;
constexpr Batch<Heads<Key<float, 7, 8>, 2>, 3> key;
#ifdef ATTEST_CONTROL
constexpr Batch<Heads<Value<float, 7, 3>, 2>, 3> value;
#else
constexpr Batch<Heads<Value<float, 6, 3>, 2>, 3> value;
#endif
constexpr auto output = attention(query, key, value);
