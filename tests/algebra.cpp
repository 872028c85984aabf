// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The algebra of matrices on random ones: exact laws on integers, rounding errors within the bound
// of algebra.hpp.
#include "random_matrix.hpp"
//
#include <attest/algebra.hpp>

#include "reference_attention.hpp"

namespace {
using namespace attest;
using namespace tests;

template <class T, size_t R, size_t C>
void rows_become_columns(const Matrix<T, R, C>& a) {
  const auto transposed = transpose(a);
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < C; ++j) RC_ASSERT(transposed[j][i] == a[i][j]);
}

template <class T>
void exact_laws() {
  rc::prop("(AB)C = A(BC)", [] {
    const auto a = integers<T, 3, 5>(), b = integers<T, 3, 5>();
    const auto c = integers<T, 5, 9>();
    const auto d = integers<T, 9, 2>();
    RC_ASSERT((a * c) * d == a * (c * d));
    RC_ASSERT((a + b) * c == a * c + b * c);
    RC_ASSERT(a - b + b == a);
  });
  rc::prop("(AB)^T = B^T A^T, to the bit: the same products in the same order", [] {
    const auto a = numbers<T, 4, 11>();
    const auto b = numbers<T, 11, 3>();
    RC_ASSERT(transpose(a * b) == transpose(b) * transpose(a));
    RC_ASSERT(transpose(transpose(a)) == a);
  });
  rc::prop("rows become columns, four by four or not", [] {
    rows_become_columns(numbers<T, 8, 12>());
    rows_become_columns(numbers<T, 4, 4>());
    rows_become_columns(numbers<T, 6, 8>());
  });
  rc::prop("c(AB) = (cA)B for a power of two, to the bit", [] {
    const auto a = numbers<T, 4, 11>();
    const auto b = numbers<T, 11, 3>();
    RC_ASSERT(T(4) * (a * b) == (T(4) * a) * b);
  });
}

template <class T, size_t N>
void rounding() {
  rc::prop("|computed - (AB)_ij| <= n u sum |a_ik b_kj|", [] {
    const auto a = numbers<T, 2, N>();
    const auto b = numbers<T, N, 3>();
    const auto product = a * b;
    const auto b_columns = transpose(b);
    for (size_t i = 0; i < 2; ++i)
      for (size_t j = 0; j < 3; ++j) {
        Real exact, magnitude;
        for (size_t k = 0; k < N; ++k) {
          exact += Real(a[i][k]) * Real(b[k][j]);
          magnitude += abs(Real(Real(a[i][k]) * Real(b[k][j])));
        }
        RC_ASSERT(abs(Real(Real(product[i][j]) - exact)) <= Real(N) * unit_roundoff<T> * magnitude);
        RC_ASSERT(product[i][j] == dot(a[i], b_columns[j]));
      }
  });
}

}  // namespace

// A property is a section, known by its name: sizes of their own sections, or all but the first
// would be skipped.
TEST_CASE("matrices form an algebra", "[algebra]") {
  SECTION("float") {
    exact_laws<float>();
  }
  SECTION("double") {
    exact_laws<double>();
  }
}

TEST_CASE("products err by n units at most", "[algebra]") {
  SECTION("float, 1 term") {
    rounding<float, 1>();
  }
  SECTION("float, 8 terms") {
    rounding<float, 8>();
  }
  SECTION("float, 29 terms") {
    rounding<float, 29>();
  }
  SECTION("double, 29 terms") {
    rounding<double, 29>();
  }
}
