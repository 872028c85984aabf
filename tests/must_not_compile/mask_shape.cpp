// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A mask with a row for each key and a column for each query: transposed.
// must fail with: mask_has_one_row_per_query_and_one_column_per_key
#include "one_head.hpp"

#ifdef ATTEST_CONTROL
constexpr Matrix<bool, 2, 5> mask;
#else
constexpr Matrix<bool, 5, 2> mask;
#endif
constexpr auto output = attention(query, key, value, mask);
