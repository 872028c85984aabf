// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Matrices form an algebra: products associate and distribute, transposition reverses them, I
// changes nothing. Entries are small integers held in double, so every sum is exact and == is
// meant.
#include <attest/algebra.hpp>

namespace {
using namespace attest;

constexpr auto A = matrix({{1., 2., 3.}, {4., 5., 6.}});
constexpr auto B = matrix({{2., 0.}, {1., -3.}, {0., 1.}});
constexpr auto C = matrix({{0., 1.}, {1., 4.}});
constexpr auto D = matrix({{-1., 7.}, {2., 5.}, {3., 1.}});
constexpr auto I2 = identity<double, 2>();
constexpr auto I3 = identity<double, 3>();

static_assert(A * B == matrix({{4., -3.}, {13., -9.}}), "AB, by hand");
static_assert((A * B) * C == A * (B * C), "(AB)C = A(BC)");
static_assert(A * (B + D) == A * B + A * D, "A(B + D) = AB + AD");
static_assert((B + D) * C == B * C + D * C, "(B + D)C = BC + DC");
static_assert(I2 * A == A && A * I3 == A, "IA = A = AI");

static_assert(transpose(transpose(A)) == A, "A^TT = A");
static_assert(transpose(A * B) == transpose(B) * transpose(A), "(AB)^T = B^T A^T");
static_assert(transpose(B + D) == transpose(B) + transpose(D), "(B + D)^T = B^T + D^T");

static_assert(B + D == D + B && B + D - D == B, "B + D = D + B, and minus undoes plus");
static_assert(2 * A == A + A && 3 * (A * B) == A * (3 * B), "cA = A + ... + A, c(AB) = A(cB)");

// An entry of a product is a dot product, and a row of it a combination of rows; widths on both
// sides of the eight terms that share a statement.
template <size_t N>
constexpr bool kernels_are_the_plain_loops() {
  Matrix<double, 3, N> m;
  for (size_t k = 0; k < N; ++k) {
    m[0][k] = static_cast<double>(k + 1);
    m[1][k] = static_cast<double>(k % 5) - 2;
    m[2][k] = 1 / static_cast<double>(k + 3);  // inexact: the order of the sum shows in its bits
  }
  double sum = 0;
  for (size_t k = 0; k < N; ++k) sum = sum + m[2][k] * m[0][k];
  Matrix<double, 1, N> y;
  for (size_t k = 0; k < N; ++k) y[0][k] = m[1][k] + m[2][0] * m[0][k];
  Matrix<double, 1, N> x = {};
  for (size_t k = 0; k < N; ++k) x[0][k] = m[1][k];
  axpy(m[2][0], m[0], x[0]);
  return dot(m[2], m[0]) == sum && x == y;
}
static_assert(kernels_are_the_plain_loops<1>(), "one term");
static_assert(kernels_are_the_plain_loops<7>(), "less than a statement");
static_assert(kernels_are_the_plain_loops<8>(), "one statement");
static_assert(kernels_are_the_plain_loops<16>(), "two statements");
static_assert(kernels_are_the_plain_loops<29>(), "three statements and a remainder");

static_assert(
    [] {
      double x[21]{}, y[21]{};
      for (size_t k = 0; k < 21; ++k) x[k] = static_cast<double>(k + 1);
      axpy(2., x, y, 3, 12);
      for (size_t k = 0; k < 21; ++k)
        if (y[k] != (k >= 3 && k < 12 ? 2 * x[k] : 0)) return false;
      return true;
    }(),
    "a statement and a remainder, in the middle of a row");

// The order is from left to right and nothing else: 1 + 2^-53 rounds to 1 as often as it is added,
// while two of the small terms added to each other first would reach the next number.
template <size_t N>
constexpr double one_and_grains() {
  Matrix<double, 2, N> m;
  for (size_t k = 0; k < N; ++k) {
    m[0][k] = k == 0 ? 1 : 0x1p-53;
    m[1][k] = 1;
  }
  return dot(m[0], m[1]);
}
static_assert(one_and_grains<3>() == 1, "(1 + 2^-53) + 2^-53 = 1");
static_assert(one_and_grains<8>() == 1 && one_and_grains<16>() == 1 && one_and_grains<29>() == 1,
              "no two terms are added to each other first");
constexpr double ones[] = {1, 1, 1};
constexpr double grains_first[] = {0x1p-53, 0x1p-53, 1};
static_assert(dot(grains_first, ones) == 1 + 0x1p-52, "(2^-53 + 2^-53) + 1 = 1 + 2^-52");

// Products round before they are added: (1 + 2^-27)^2 - 1 = 2^-26 exactly after rounding, 2^-54
// more if fused.
constexpr double x[] = {-1, 1 + 0x1p-27};
constexpr double y[] = {1, 1 + 0x1p-27};
static_assert(dot(x, y) == 0x1p-26, "multiply, round, add, round");

// Wrong shapes have no product and no sum.
static_assert(can_multiply<decltype(A), decltype(B)> && can_multiply<decltype(B), decltype(A)>);
static_assert(!can_multiply<decltype(A), decltype(A)>, "AA has no meaning for a 2x3 A");
static_assert(!can_multiply<decltype(A), decltype(C)>, "3 columns, 2 rows");
static_assert(!can_multiply<decltype(A), Matrix<float, 3, 2>>,
              "double times float: convert where it is seen");
static_assert(can_add<decltype(B), decltype(D)> && !can_add<decltype(A), decltype(B)>,
              "2x3 + 3x2 has no meaning");
static_assert(!can_add<decltype(A), double>, "A + c has no meaning");

}  // namespace
