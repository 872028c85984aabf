// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A matrix at run time is its numbers: written in rows, compared by value, copied as bytes.
#include "random_matrix.hpp"
//
#include <attest/matrix.hpp>
#include <cstring>

namespace {
using namespace attest;
using namespace tests;
}  // namespace

TEST_CASE("a matrix is its numbers in rows", "[matrix]") {
  rc::prop("entries lie in rows, one after the other", [] {
    const auto a = numbers<float, 3, 4>();
    float bytes[12];
    static_assert(sizeof bytes == sizeof a);
    std::memcpy(bytes, &a, sizeof a);
    for (size_t i = 0; i < 3; ++i)
      for (size_t j = 0; j < 4; ++j) RC_ASSERT(bytes[i * 4 + j] == a[i][j]);
  });
  rc::prop("one changed entry makes another matrix, and leaves the original", [] {
    const auto a = numbers<double, 3, 4>();
    const auto i = index_below(3), j = index_below(4);
    auto b = a;
    RC_ASSERT(a == b);
    b[i][j] += 1;
    RC_ASSERT(a != b);
    b[i][j] = a[i][j];
    RC_ASSERT(a == b);
  });
}
