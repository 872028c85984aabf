// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// exp of a long double would be that of a double.
// must fail with: number_type_has_an_exp_of_its_own
#include <attest/attention.hpp>

using namespace attest;
#ifdef ATTEST_CONTROL
using Number = double;
#else
using Number = long double;
#endif
constexpr Query<Number, 2, 4> query;
constexpr Key<Number, 5, 4> key;
constexpr Value<Number, 5, 4> value;
constexpr auto output = attention(query, key, value);
