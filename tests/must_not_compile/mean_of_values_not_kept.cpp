// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A row without a key shall return the mean of all values, and a partial result has none of them.
// must fail with: empty_rows_are_known_without_values
#include <attest/streaming.hpp>

using namespace attest;
constexpr PartialAttention<float, 2, 4> partial;
#ifdef ATTEST_CONTROL
constexpr Rule rule{.empty_row = EmptyRow::zero};
#else
constexpr Rule rule{.empty_row = EmptyRow::mean};
#endif
constexpr auto output = finish<rule>(partial);
