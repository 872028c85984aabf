// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Rows in lanes: the vectors of the processor give the bits of one number after the other.
#include <attest/lanes.hpp>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>

#include "catch.hpp"

namespace {

bool same_bits(float x, float y) {
  return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
}

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

// The quotient of two floats in double, rounded to float, is the one rounded once: 53 ≥ 2·24 + 2
// (S. A. Figueroa, "When is double rounding innocuous?", SIGNUM Newsletter 30(3), 1995).
float quotient(float x, float divisor) {
  return static_cast<float>(static_cast<double>(x) / static_cast<double>(divisor));
}

template <std::size_t N>
void require_quotients(const float (&x)[N], float divisor) {
  float divided[N];
  for (std::size_t j = 0; j < N; ++j) divided[j] = x[j];
  attest::divide(divided, divisor, 0, N);
  for (std::size_t j = 0; j < N; ++j) {
    CAPTURE(x[j], divisor);
    REQUIRE(same_bits(divided[j], quotient(x[j], divisor)));
  }
}

}  // namespace

TEST_CASE("sums and largest entries of rows of 1 to 140 numbers, in vectors and one by one") {
  rows_of<float>(std::make_index_sequence<140>());
  rows_of<double>(std::make_index_sequence<140>());
}

TEST_CASE("divide rounds every quotient to nearest: random ones, zeros and tiny ones among them") {
  std::mt19937_64 generator(42);
  std::uniform_real_distribution<float> uniform(0, 1);
  for (int i = 0; i < 20000; ++i) {
    const float divisor = std::ldexp(1 + uniform(generator), static_cast<int>(generator() % 40));
    const int smallest = i % 2 == 0 ? 90 : 150;
    float x[19];
    for (float& entry : x)
      entry = std::ldexp(uniform(generator),
                         -static_cast<int>(generator() % static_cast<unsigned>(smallest)));
    x[generator() % 19] = 0;
    require_quotients(x, divisor);
  }
}

// m/2, m odd of 25 bits, is the middle between two floats. Where m·divisor ± 1 is a multiple of
// 2^25, that multiple is the dividend whose quotient comes as close to the middle as any does.
TEST_CASE("divide rounds the quotients closest to the middle between two floats") {
  std::mt19937_64 generator(42);
  for (int i = 0; i < 20000; ++i) {
    const std::uint32_t divisor =
        static_cast<std::uint32_t>((1u << 23) + 1 + 2 * (generator() % (1u << 22)));
    std::uint32_t inverse = divisor;  // modulo 2^32, by Newton's iteration
    for (int step = 0; step < 4; ++step) inverse *= 2 - divisor * inverse;
    for (const std::uint32_t m : {inverse % (1u << 25), (1u << 25) - inverse % (1u << 25)}) {
      if (m < 1u << 24) continue;
      const std::uint64_t product = std::uint64_t(m) * divisor;
      const std::uint64_t dividend = (product + (1u << 24)) >> 25;
      REQUIRE((dividend << 25 == product - 1 || dividend << 25 == product + 1));
      const float x[16]{std::ldexp(static_cast<float>(dividend), -24)};
      require_quotients(x, std::ldexp(static_cast<float>(divisor), -23));
    }
  }
}

TEST_CASE("a NaN makes NaN, an infinite divisor zeros") {
  float x[16]{0.5f, NAN}, y[16]{0.5f, 1};
  attest::divide(x, NAN, 0, 16);
  attest::divide(y, INFINITY, 0, 16);
  for (const float entry : x) REQUIRE(std::isnan(entry));
  for (const float entry : y) REQUIRE(same_bits(entry, 0.0f));
}
