// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Exact fractions with the weight 2^x: their log-sum-exp is no fraction.
// must fail with: number_type_has_a_logarithm
#include <attest/attention.hpp>
#include <attest/exact.hpp>

using namespace attest;
constexpr Query<small_rational, 2, 4> query;
constexpr Key<small_rational, 5, 4> key;
constexpr Value<small_rational, 5, 4> value;
#ifdef ATTEST_CONTROL
constexpr auto output = attention<unscaled>(query, key, value);
#else
constexpr auto output = attention_with_log_sum_exp<unscaled>(query, key, value);
#endif
