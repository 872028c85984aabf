// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The derivatives by the output have the shape of the output: a row per query, as wide as a value.
// must fail with: output_gradient_has_the_form_of_the_output
#include <attest/gradient.hpp>

using namespace attest;

constexpr Query<float, 5, 8> q{};
constexpr Key<float, 7, 8> k{};
constexpr Value<float, 7, 3> v{};
#ifdef ATTEST_CONTROL
constexpr auto d = attention_gradient(q, k, v, Matrix<float, 5, 3>{});
#else
constexpr auto d = attention_gradient(q, k, v, Matrix<float, 5, 8>{});
#endif
