// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What the laws say of NaN: two ways may both return it, and nothing else is kept by it.
#include <attest/laws.hpp>
#include <attest/streaming.hpp>
#include <limits>

#include "catch.hpp"

namespace {
using namespace attest;
constexpr Rule rule{.causal = true, .offset = -1, .empty_row = EmptyRow::nan};
}  // namespace

TEST_CASE("two ways that return NaN agree, one that should not have does not") {
  const Query q{matrix({{1.f, 0.f}, {0.f, -1.f}})};
  const Key k{matrix({{1.f, 1.f}, {0.f, 2.f}, {-1.f, 0.f}})};
  const Value v{matrix({{5.f, 0.f}, {1.f, -4.f}, {0.f, 3.f}})};
  const auto whole = [](const auto&... parts) { return attention<rule>(parts...); };
  const auto in_a_tile = [](const auto&... parts) {
    return streaming_attention<3, rule>(parts...);
  };
  const auto with_zeros = [](const auto&... parts) {
    return attention<Rule{.causal = true, .offset = -1}>(parts...);
  };
  const auto all_nan = [](const auto&... parts) {
    auto output = attention(parts...);
    for (auto& row : output.entries)
      for (auto& entry : row) entry = std::numeric_limits<float>::quiet_NaN();
    return output;
  };
  CHECK(laws::two_ways_agree(in_a_tile, whole, q, k, v));
  CHECK_FALSE(laws::two_ways_agree(with_zeros, whole, q, k, v));
  CHECK_FALSE(laws::two_ways_agree(whole, with_zeros, q, k, v));
  CHECK_FALSE(laws::two_ways_agree(all_nan, whole, q, k, v));
  CHECK_FALSE(laws::shift_invariance(all_nan, q, k, v, {1.f, 2.f}));
}
