// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Weights of integer scores would be 0 or 1.
// must fail with: number_type_has_an_exp_of_its_own
#include <attest/softmax.hpp>

using namespace attest;
#ifdef ATTEST_CONTROL
constexpr auto scores = matrix({{1., 2., 3.}});
#else
constexpr auto scores = matrix({{1, 2, 3}});
#endif
constexpr auto weights = softmax(scores);
