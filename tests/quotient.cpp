// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Quotients without the divider are those of the divider.
#include <attest/quotient.hpp>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>

#include "catch.hpp"

namespace {

bool same_bits(float x, float y) {
  return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
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
