// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A bias in double for scores in float: nothing is converted unasked.
// must fail with: bias_has_the_number_type_of_the_scores
#include "one_head.hpp"

#ifdef ATTEST_CONTROL
constexpr Matrix<float, 2, 5> bias;
#else
constexpr Matrix<double, 2, 5> bias;
#endif
constexpr auto output = attention(query, key, value, everything, bias);
