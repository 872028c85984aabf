// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A query of width 8 cannot be compared with keys of width 4.
// must fail with: query_width_equals_key_width
#include <attest/attention.hpp>

constexpr attest::Query<float, 5, 8> query;
#ifdef ATTEST_CONTROL
constexpr attest::Key<float, 7, 8> key;
#else
constexpr attest::Key<float, 7, 4> key;
#endif
constexpr attest::Value<float, 7, 3> value;
constexpr auto output = attest::attention(query, key, value);
