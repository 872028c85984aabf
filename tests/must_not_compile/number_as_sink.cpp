// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A number where a sink is expected.
// must fail with: sink_has_the_number_type_of_the_scores
#include <attest/attention.hpp>

constexpr attest::Query<float, 2, 4> query;
constexpr attest::Key<float, 5, 4> key;
constexpr attest::Value<float, 5, 4> value;
#ifdef ATTEST_CONTROL
constexpr attest::Sink sink{1.f};
#else
constexpr float sink = 1;
#endif
constexpr auto output =
    attest::attention(query, key, value, attest::everything, attest::no_bias, sink);
