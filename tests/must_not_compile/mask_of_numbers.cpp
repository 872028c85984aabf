// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Numbers to be added to scores are no mask: a mask is of bool and says who sees whom.
// must fail with: says_which_keys_a_query_sees
#include <attest/attention.hpp>

constexpr attest::Query<float, 2, 4> query;
constexpr attest::Key<float, 5, 4> key;
constexpr attest::Value<float, 5, 4> value;
#ifdef ATTEST_CONTROL
constexpr attest::Matrix<bool, 2, 5> mask;
#else
constexpr attest::Matrix<float, 2, 5> mask;
#endif
constexpr auto output = attest::attention(query, key, value, mask);
