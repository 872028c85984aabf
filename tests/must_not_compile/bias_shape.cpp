// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A bias with a row for each key and a column for each query: transposed.
// must fail with: bias_has_one_row_per_query_and_one_column_per_key
#include "one_head.hpp"

#ifdef ATTEST_CONTROL
constexpr Matrix<float, 2, 5> bias;
#else
constexpr Matrix<float, 5, 2> bias;
#endif
constexpr auto output = attention(query, key, value, everything, bias);
