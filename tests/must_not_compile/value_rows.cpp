// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Seven keys, and only six values to hand over.
// must fail with: one_value_row_per_key_row
#include <attest/attention.hpp>

constexpr attest::Query<float, 5, 8> query;
constexpr attest::Key<float, 7, 8> key;
#ifdef ATTEST_CONTROL
constexpr attest::Value<float, 7, 3> value;
#else
constexpr attest::Value<float, 6, 3> value;
#endif
constexpr auto output = attest::attention(query, key, value);
