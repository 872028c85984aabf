// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// No key to attend to.
// must fail with: there_is_a_key
#include <attest/attention.hpp>

using namespace attest;
constexpr Query<float, 2, 4> query;
#ifdef ATTEST_CONTROL
constexpr Key<float, 1, 4> key;
constexpr Value<float, 1, 4> value;
#else
constexpr Key<float, 0, 4> key;
constexpr Value<float, 0, 4> value;
#endif
constexpr auto output = attention(query, key, value);
