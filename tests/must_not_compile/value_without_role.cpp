// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// S16: a matrix that nobody called a value.
// must fail with: third_argument_is_a_value
#include <attest/attention.hpp>

constexpr attest::Query<float, 6, 4> query;
constexpr attest::Key<float, 6, 4> key;
constexpr attest::Matrix<float, 6, 4> tokens;
#ifdef ATTEST_CONTROL
constexpr auto output = attest::attention(query, key, attest::Value{tokens});
#else
constexpr auto output = attest::attention(query, key, tokens);
#endif
