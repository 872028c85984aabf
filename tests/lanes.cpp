// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Rows in lanes: the vectors of the processor give the bits of one number after the other.
#include <algorithm>
#include <attest/lanes.hpp>
#include <cmath>
#include <cstddef>
#include <random>
#include <utility>

#include "catch.hpp"

namespace {

// Lane l takes x_l, x_{l+32}, … one after the other; then lane l takes l + 16, 8, 4, 2, 1.
template <class T>
T sum_one_by_one(const T* x, std::size_t n) {
  T lane[32];
  for (std::size_t l = 0; l < 32; ++l) {
    lane[l] = l < n ? x[l] : T(0);
    for (std::size_t j = l + 32; j < n; j += 32) lane[l] += x[j];
  }
  for (std::size_t half = 16; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) lane[l] += lane[l + half];
  return lane[0];
}

// Only what depends on the length is compiled for each.
template <class T>
struct RowFunctions {
  T (*sum)(const T*);
  T (*largest)(const T*);
};
template <class T, std::size_t N>
constexpr RowFunctions<T> of_rows{[](const T* entries) {
                                    T x[N];
                                    std::copy_n(entries, N, x);
                                    return attest::sum_in_lanes(x);
                                  },
                                  [](const T* entries) {
                                    T x[N];
                                    std::copy_n(entries, N, x);
                                    return attest::largest_in_lanes(x);
                                  }};

template <class T, std::size_t... n>
void rows_of(std::index_sequence<n...>) {
  static constexpr RowFunctions<T> functions[] = {of_rows<T, n + 1>...};
  std::mt19937_64 generator(42);
  std::uniform_real_distribution<T> uniform(0, 1);
  for (int i = 0; i < 20; ++i)
    for (std::size_t length = 1; length <= sizeof...(n); ++length) {
      CAPTURE(length);
      T x[sizeof...(n)], largest = 0;
      for (std::size_t j = 0; j < length; ++j) {
        x[j] = std::ldexp(uniform(generator), -static_cast<int>(generator() % 30));
        largest = std::max(x[j], largest);
      }
      REQUIRE(functions[length - 1].sum(x) == sum_one_by_one(x, length));
      REQUIRE(functions[length - 1].largest(x) == largest);
    }
}

}  // namespace

TEST_CASE("sums and largest entries of rows of 1 to 140 numbers, in vectors and one by one") {
  rows_of<float>(std::make_index_sequence<140>());
  rows_of<double>(std::make_index_sequence<140>());
}
