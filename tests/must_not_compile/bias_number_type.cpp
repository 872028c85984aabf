// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A bias in double for scores in float: nothing is converted unasked.
// must fail with: bias_has_the_number_type_of_the_scores
#include <attest/attention.hpp>

constexpr attest::Query<float, 2, 4> query;
constexpr attest::Key<float, 5, 4> key;
constexpr attest::Value<float, 5, 4> value;
#ifdef ATTEST_CONTROL
constexpr attest::Matrix<float, 2, 5> bias;
#else
constexpr attest::Matrix<double, 2, 5> bias;
#endif
constexpr auto output = attest::attention(query, key, value, attest::everything, bias);
