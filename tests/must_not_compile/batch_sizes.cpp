// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Queries of three sequences, keys of two.
// must fail with: part_is_shared_or_one_per_element_of_the_batch
#include <attest/heads.hpp>

using namespace attest;
constexpr Batch<Query<float, 5, 8>, 3> query;
#ifdef ATTEST_CONTROL
constexpr Batch<Key<float, 7, 8>, 3> key;
#else
constexpr Batch<Key<float, 7, 8>, 2> key;
#endif
constexpr Value<float, 7, 3> value;
constexpr auto output = attention(query, key, value);
