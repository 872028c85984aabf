// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The cost of a mask known only at run time: as many pairs as it has true entries.
#include "random_matrix.hpp"
//
#include <attest/cost.hpp>

namespace {
using namespace attest;
using namespace tests;
}  // namespace

TEST_CASE("S13: a mask costs its visible pairs", "[cost]") {
  rc::prop("pairs counted", [] {
    const auto mask = *masks<4, 7>();
    size_t pairs = 0;
    for (const auto& row : mask.entries)
      for (bool visible : row) pairs += visible;
    const Cost cost =
        attention_cost(Query<float, 4, 3>{}, Key<float, 7, 3>{}, Value<float, 7, 5>{}, mask);
    RC_ASSERT(cost.exponentials == pairs);
    RC_ASSERT(cost.multiplications == pairs * (3 + 1 + 5));
    RC_ASSERT(cost.divisions == pairs);
  });
}
