// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The cost of a mask known only at run time: as many products as it has true entries, and as many
// exponentials as entries stand between the first and the last true one of each row.
#include "random_matrix.hpp"
//
#include <algorithm>
#include <attest/cost.hpp>
#include <iterator>

namespace {
using namespace attest;
using namespace tests;
}  // namespace

TEST_CASE("S13: a mask costs its visible pairs", "[cost]") {
  rc::prop("pairs counted", [] {
    const auto mask = masks<4, 7>();
    size_t pairs = 0, spans = 0;
    for (const auto& row : mask.entries) {
      for (bool visible : row) pairs += visible;
      const auto first = std::find(std::begin(row), std::end(row), true);
      const auto after = std::find(std::rbegin(row), std::rend(row), true).base();
      spans += after > first ? static_cast<size_t>(after - first) : 0;
    }
    const Cost cost =
        attention_cost(Query<float, 4, 3>{}, Key<float, 7, 3>{}, Value<float, 7, 5>{}, mask);
    RC_ASSERT(cost.exponentials == spans);
    RC_ASSERT(cost.multiplications == pairs * (3 + 1 + 5));
    RC_ASSERT(cost.divisions == spans);
  });
}
