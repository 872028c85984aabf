// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// softmax on random scores: a distribution, in the order of the scores, as near to the exact one as
// softmax.hpp says.
#include "random_matrix.hpp"
//
#include <algorithm>
#include <attest/algebra.hpp>
#include <attest/softmax.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "reference_attention.hpp"

namespace {
using namespace attest;
using namespace tests;

// e^{x_j} / Σ e^{x_k} as it stands in the definition: what the subtraction of the maximum is for.
template <class T, size_t N>
Matrix<T, 1, N> without_subtraction(const Matrix<T, 1, N>& x) {
  Matrix<T, 1, N> weights;
  T total{};
  for (size_t j = 0; j < N; ++j) total += weights[0][j] = attest::exp(x[0][j]);
  for (size_t j = 0; j < N; ++j) weights[0][j] /= total;
  return weights;
}

template <class T, size_t N>
void laws() {
  rc::prop("S21: weights are not negative and sum to one within n u", [] {
    const auto x = numbers<T, 3, N>();
    const auto visible = masks<3, N>();
    const auto weights = softmax(x, visible);
    for (size_t i = 0; i < 3; ++i) {
      Real sum;
      bool any = false;
      for (size_t j = 0; j < N; ++j) {
        RC_ASSERT(weights[i][j] >= 0);
        RC_ASSERT(visible[i][j] || weights[i][j] == 0);
        sum += Real(weights[i][j]);
        any = any || visible[i][j];
      }
      RC_ASSERT(abs(Real(sum - (any ? 1 : 0))) <= higher_orders * N * unit_roundoff<T>);
    }
  });
  rc::prop("the error is within (n + 2 + a + ln n) u", [] {
    const auto x = numbers<T, 1, N>();
    const auto mask = masks<1, N>();
    const auto weights = softmax(x, mask);
    std::vector<Real> scores;
    std::vector<bool> visible;
    for (size_t j = 0; j < N; ++j) scores.push_back(Real(x[0][j])), visible.push_back(mask[0][j]);
    const auto exact = reference_softmax(scores, visible);
    for (size_t j = 0; j < N; ++j)
      if (visible[j])
        RC_ASSERT(abs(Real(Real(weights[0][j]) - exact.weight[j])) <= softmax_bound<T>(exact, j));
  });
  rc::prop("S17: every visible entry keeps a positive weight unless it underflows", [] {
    const auto x = numbers<T, 1, N>();  // within ±16: 32 apart at most
    const auto weights = softmax(x);
    for (size_t j = 0; j < N; ++j) RC_ASSERT(weights[0][j] > 0);
  });
  rc::prop("a larger score has no smaller weight", [] {
    const auto x = numbers<T, 1, N>();
    const auto weights = softmax(x);
    for (size_t j = 0; j < N; ++j)
      for (size_t k = 0; k < N; ++k)
        if (x[0][j] >= x[0][k]) RC_ASSERT(weights[0][j] >= weights[0][k]);
  });
  rc::prop("softmax(x + c) = softmax(x), to the bit where x + c is exact", [] {
    const auto x = integers<T, 1, N>(1000);
    const auto c = static_cast<T>(integer_in(-1000000, 1000000));
    auto shifted = x;
    for (T& y : shifted[0]) y += c;
    RC_ASSERT(softmax(shifted) == softmax(x));
  });
  rc::prop("shuffled scores have shuffled weights, within the bound of the sum", [] {
    const auto x = numbers<T, 1, N>();
    const auto order = order_of(N);
    const auto weights = transpose(softmax(x)),
               shuffled = transpose(softmax(transpose(rows_of(transpose(x), order))));
    for (size_t j = 0; j < N; ++j) {
      const Real a(shuffled[j][0]), b(weights[order[j]][0]);
      RC_ASSERT(abs(Real(a - b)) <= higher_orders * 2 * N * unit_roundoff<T> * b + smallest<T>);
    }
  });
}

}  // namespace

// A property is a section, known by its name: sizes of their own sections, or all but the first
// would be skipped.
TEST_CASE("softmax in float", "[softmax]") {
  SECTION("1 score") {
    laws<float, 1>();
  }
  SECTION("2 scores") {
    laws<float, 2>();
  }
  SECTION("13 scores") {
    laws<float, 13>();
  }
  SECTION("100 scores") {
    laws<float, 100>();
  }
}

TEST_CASE("softmax in double", "[softmax]") {
  SECTION("1 score") {
    laws<double, 1>();
  }
  SECTION("2 scores") {
    laws<double, 2>();
  }
  SECTION("13 scores") {
    laws<double, 13>();
  }
  SECTION("100 scores") {
    laws<double, 100>();
  }
}

// The order of the sum, written down once more: 32 sums side by side, then in halves.
template <class T, size_t N>
T written_sum(const T (&x)[N]) {
  std::vector<T> lane(32);
  for (size_t j = 0; j < N; ++j) lane[j % 32] += x[j];
  while (lane.size() > 1) {
    const size_t half = lane.size() / 2;
    for (size_t l = 0; l < half; ++l) lane[l] += lane[half + l];
    lane.resize(half);
  }
  return lane[0];
}
template <class T, size_t N>
void adds_in_the_written_order() {
  rc::prop("bits of " + std::to_string(N), [] {
    const auto x = numbers<T, 1, N>();
    const auto mask = masks<1, N>();
    const auto weights = softmax(x, mask);
    Matrix<T, 1, N> e;
    T largest = -std::numeric_limits<T>::infinity();
    for (size_t j = 0; j < N; ++j)
      if (mask[0][j]) largest = std::max(largest, x[0][j]);
    for (size_t j = 0; j < N; ++j)
      if (mask[0][j]) e[0][j] = attest::exp(x[0][j] - largest);
    const T total = written_sum(e[0]);
    for (size_t j = 0; j < N; ++j) RC_ASSERT(weights[0][j] == (mask[0][j] ? e[0][j] / total : 0));
  });
}
TEST_CASE("the sum of a row is that of its lanes", "[softmax]") {
  adds_in_the_written_order<float, 7>();
  adds_in_the_written_order<float, 32>();
  adds_in_the_written_order<float, 45>();
  adds_in_the_written_order<float, 64>();
  adds_in_the_written_order<float, 203>();
  adds_in_the_written_order<double, 203>();
}

// A row of a longer sequence, of which only the first keys are visible, has the bits of a row of
// those keys: what was computed with all tokens can be computed again token by token.
TEST_CASE("hidden entries at the end change no bit", "[softmax]") {
  rc::prop("77 of 150", [] {
    const auto x = numbers<float, 1, 150>();
    Matrix<float, 1, 77> head;
    for (size_t j = 0; j < 77; ++j) head[0][j] = x[0][j];
    const auto longer = softmax(x, causal_after(76));
    const auto shorter = softmax(head);
    for (size_t j = 0; j < 77; ++j) RC_ASSERT(longer[0][j] == shorter[0][j]);
  });
}

TEST_CASE("S5: without the maximum subtracted large scores overflow, with it they do not",
          "[softmax]") {
  const auto small = matrix({{1.f, 2.f, 3.f}}), large = matrix({{101.f, 102.f, 103.f}});
  CHECK(std::abs(without_subtraction(small)[0][2] - softmax(small)[0][2]) < 1e-6f);
  CHECK(std::isnan(without_subtraction(large)[0][2]));
  CHECK(softmax(large) == softmax(small));
}
