// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A batch of no sequence.
// must fail with: there_is_an_element_of_the_batch
#include <attest/heads.hpp>

using namespace attest;
#ifdef ATTEST_CONTROL
constexpr Batch<Query<float, 2, 4>, 1> query;
#else
constexpr Batch<Query<float, 2, 4>, 0> query;
#endif
constexpr Key<float, 5, 4> key;
constexpr Value<float, 5, 4> value;
constexpr auto output = attention(query, key, value);
