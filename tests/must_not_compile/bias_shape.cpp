// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A bias with a row for each key and a column for each query: transposed.
// must fail with: bias_has_one_row_per_query_and_one_column_per_key
#include <attest/attention.hpp>

constexpr attest::Query<float, 2, 4> query;
constexpr attest::Key<float, 5, 4> key;
constexpr attest::Value<float, 5, 4> value;
#ifdef ATTEST_CONTROL
constexpr attest::Matrix<float, 2, 5> bias;
#else
constexpr attest::Matrix<float, 5, 2> bias;
#endif
constexpr auto output = attest::attention(query, key, value, attest::everything, bias);
