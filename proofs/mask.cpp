// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Visibility is a predicate of (i, j) or a matrix of booleans; causal is the lower triangle,
// shifted by a cache.
#include <attest/mask.hpp>

namespace {
using namespace attest;

template <size_t Queries, size_t Keys, class Visible>
constexpr Matrix<bool, Queries, Keys> pattern(const Visible& visible) {
  Matrix<bool, Queries, Keys> seen;
  for (size_t i = 0; i < Queries; ++i)
    for (size_t j = 0; j < Keys; ++j) seen[i][j] = sees(visible, i, j);
  return seen;
}

constexpr bool o = false, x = true;
constexpr auto lower_triangle = matrix({{x, o, o}, {x, x, o}, {x, x, x}});

static_assert(pattern<2, 3>(everything) == matrix({{x, x, x}, {x, x, x}}), "all keys");
static_assert(pattern<3, 3>(causal) == lower_triangle,
              "S10: key j is visible to query i iff j <= i");
static_assert(pattern<3, 3>(lower_triangle) == lower_triangle, "a mask says itself: true attends");

// Two queries after three cached keys: the last query sees all five (bottom-right), where plain
// causal (top-left) would let it see two.
static_assert(pattern<2, 5>(causal_after(3)) == matrix({{x, x, x, x, o}, {x, x, x, x, x}}),
              "bottom-right");
static_assert(pattern<2, 5>(causal) == matrix({{x, o, o, o, o}, {x, x, o, o, o}}), "top-left");
static_assert(pattern<3, 3>(causal_after(0)) == lower_triangle, "nothing cached: plain causal");

// Anything that answers (i, j) will do.
constexpr auto neighbours = [](size_t i, size_t j) { return i <= j + 1 && j <= i + 1; };
static_assert(pattern<3, 3>(neighbours) == matrix({{x, x, o}, {x, x, x}, {o, x, x}}),
              "a user's own");

// A predicate fits every shape, a mask its own.
static_assert(fits<Everything, 2, 5> && fits<Causal, 2, 5> && fits<decltype(neighbours), 2, 5>);
static_assert(fits<Matrix<bool, 2, 5>, 2, 5>);
static_assert(!fits<Matrix<bool, 5, 2>, 2, 5>, "a transposed mask");
static_assert(!fits<Matrix<bool, 2, 4>, 2, 5>, "a mask that is one key short");
static_assert(!fits<Matrix<float, 2, 5>, 2, 5>,
              "numbers are added to scores, they do not say who sees whom");
static_assert(!fits<bool, 2, 5>);

}  // namespace
