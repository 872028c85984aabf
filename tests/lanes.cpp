// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Rows in lanes: the vectors of the processor give the bits of one number after the other.
#include <attest/lanes.hpp>
#include <cmath>
#include <cstddef>
#include <random>
#include <utility>

#include "catch.hpp"

namespace {

// Lane l takes x_l, x_{l+32}, … one after the other; then lane l takes l + 16, 8, 4, 2, 1.
template <class T, std::size_t N>
T sum_one_by_one(const T (&x)[N]) {
  T lane[32];
  for (std::size_t l = 0; l < 32; ++l) {
    lane[l] = l < N ? x[l] : T(0);
    for (std::size_t j = l + 32; j < N; j += 32) lane[l] += x[j];
  }
  for (std::size_t half = 16; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) lane[l] += lane[l + half];
  return lane[0];
}

template <class T, std::size_t N>
void row_of(std::mt19937_64& generator) {
  CAPTURE(N);
  std::uniform_real_distribution<T> uniform(0, 1);
  T x[N], largest = 0;
  for (T& entry : x) {
    entry = std::ldexp(uniform(generator), -static_cast<int>(generator() % 30));
    largest = entry > largest ? entry : largest;
  }
  REQUIRE(attest::sum_in_lanes(x) == sum_one_by_one(x));
  REQUIRE(attest::largest_in_lanes(x) == largest);
}
template <class T, std::size_t... n>
void rows_of(std::index_sequence<n...>) {
  std::mt19937_64 generator(42);
  for (int i = 0; i < 20; ++i) (row_of<T, n + 1>(generator), ...);
}

}  // namespace

TEST_CASE("sums and largest entries of rows of 1 to 140 numbers, in vectors and one by one") {
  rows_of<float>(std::make_index_sequence<140>());
  rows_of<double>(std::make_index_sequence<140>());
}
