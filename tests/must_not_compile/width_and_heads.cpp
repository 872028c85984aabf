// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A width of 16 cannot be split into three heads.
// must fail with: width_is_a_multiple_of_the_number_of_heads
#include <attest/heads.hpp>

using namespace attest;
constexpr Query<float, 5, 16> query;
#ifdef ATTEST_CONTROL
constexpr auto split = split_heads<4>(query);
#else
constexpr auto split = split_heads<3>(query);
#endif
