// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The cost of attention whose query and key differ in width.
// must fail with: query_width_equals_key_width
#include <attest/cost.hpp>

using namespace attest;
#ifdef ATTEST_CONTROL
using K = Key<float, 5, 4>;
#else
using K = Key<float, 5, 3>;
#endif
static_assert(cost_of<Rule{}, Query<float, 2, 4>, K, Value<float, 5, 4>>.exponentials == 10);
