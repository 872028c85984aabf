// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A Matrix is its R·C numbers and nothing else: their bytes, their value, usable wherever a value
// is.
#include <attest/matrix.hpp>

#include <type_traits>

namespace {
using namespace attest;

using A = Matrix<float, 2, 3>;
constexpr A a = matrix({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});

// Footprint: a weight matrix in flash takes as many bytes as its numbers, and is copied as bytes.
static_assert(sizeof(A) == 2 * 3 * sizeof(float), "R*C numbers, no more bytes");
static_assert(sizeof(Matrix<double, 128, 16>) == 128 * 16 * 8, "R*C numbers, no more bytes");
static_assert(alignof(A) == alignof(float), "aligned as its numbers are");
static_assert(std::is_trivially_copyable_v<A> && std::is_standard_layout_v<A>, "bytes in rows");
static_assert(std::is_aggregate_v<A> && std::is_nothrow_default_constructible_v<A>,
              "no constructor to run");

// Construction: zero unless said otherwise, and the entries in the order they are written.
static_assert(A{} == matrix({{0.f, 0.f, 0.f}, {0.f, 0.f, 0.f}}), "zero unless said otherwise");
static_assert(std::is_same_v<decltype(matrix({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}})), A>,
              "shape and type deduced");
static_assert(A::rows == 2 && A::columns == 3, "shape known from the type");
static_assert(a[0][0] == 1 && a[0][2] == 3 && a[1][0] == 4 && a[1][2] == 6,
              "a[i][j]: row i, column j");

// Rows are handed out by reference, so that one entry can be written.
constexpr A changed = [] {
  A m = a;
  m[1][2] = 7;
  return m;
}();
static_assert(changed[1][2] == 7 && changed != a && a[1][2] == 6, "a copy is a value of its own");

// Shapes are types: a 2x3 matrix does not become a 3x2 one.
static_assert(!std::is_constructible_v<Matrix<float, 3, 2>, A>, "2x3 is not 3x2");
static_assert(!std::is_convertible_v<Matrix<double, 2, 3>, A>,
              "double does not become float unasked");

// Structural: a whole matrix can be a template argument.
template <A m>
constexpr float last = m[1][2];
static_assert(last<a> == 6, "a matrix as a template argument");

}  // namespace
