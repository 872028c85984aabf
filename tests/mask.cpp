// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Visibility at run time: a cache of any length, a mask of any pattern.
#include "random_matrix.hpp"
//
#include <attest/mask.hpp>

namespace {
using namespace attest;
using namespace tests;
}  // namespace

TEST_CASE("predicates and masks say who sees whom", "[mask]") {
  rc::prop("with n earlier keys, query i is token n + i and sees itself and all before", [] {
    const auto n = index_below(100), i = index_below(100);
    const auto j = index_below(300);
    RC_CLASSIFY(sees(causal_after(n), i, j));
    RC_ASSERT(sees(causal_after(n), i, j) == (j <= n + i));
    RC_ASSERT(sees(causal, n + i, j) == sees(causal_after(n), i, j));
    RC_ASSERT(sees(causal_after(n), i, n + i) && !sees(causal_after(n), i, n + i + 1));
    RC_ASSERT(sees(everything, i, j));
  });
  rc::prop("a mask says its entries", [] {
    const auto mask = masks<4, 6>();
    const auto i = index_below(4), j = index_below(6);
    RC_ASSERT(sees(mask, i, j) == mask[i][j]);
  });
}
