// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The slopes of ALiBi: those that are published, and for any number of heads the nearest number to
// what the authors' program computes (get_slopes of fairseq/models/transformer.py in
// ofirpress/attention_with_linear_biases), in a hundred digits.
#include "catch.hpp"
//
#include <attest/bias.hpp>
#include <vector>

#include "nearest.hpp"

namespace {
using namespace attest;

// start = 2^(−2^−(log₂ n − 3)), the slopes start, start², …, for a power of two; else those of the
// power of two below, and every other one of twice as many.
std::vector<tests::Exact> published_slopes(size_t heads) {
  size_t power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<tests::Exact> slopes;
  if (power == heads) {
    const tests::Exact exponent = -tests::Exact(8) / heads;
    for (size_t h = 0; h < heads; ++h)
      slopes.push_back(pow(tests::Exact(2), tests::Exact(exponent * (h + 1))));
    return slopes;
  }
  slopes = published_slopes(power);
  const auto finer = published_slopes(2 * power);
  for (size_t h = 0; slopes.size() < heads; h += 2) slopes.push_back(finer[h]);
  return slopes;
}

template <class T>
void nearest_to_the_published() {
  for (size_t heads = 1; heads <= 130; ++heads) {
    const auto slopes = published_slopes(heads);
    for (size_t h = 0; h < heads; ++h) {
      CAPTURE(heads, h);
      const T slope = alibi_slope<T>(h, heads);
      // To float it is rounded by way of double: the middle between two floats may be missed by
      // 2^-53 of the slope.
      if constexpr (sizeof(T) == sizeof(double))
        REQUIRE(tests::is_nearest(slope, slopes[h]));
      else
        REQUIRE(abs(tests::Exact(tests::Exact(slope) - slopes[h])) <=
                slopes[h] * (tests::Exact(0x1p-24) + 0x1p-52));
    }
  }
}
}  // namespace

TEST_CASE("ALiBi's slopes as published", "[bias]") {
  // "For models with 8 heads the slopes are 1/2, 1/4, …, 1/256; with 16 heads 1/2^0.5, 1/2, 1/2^1.5
  // …, 1/2^8" (Press, Smith & Lewis, section 3).
  for (size_t h = 0; h < 8; ++h) CHECK(alibi_slope<float>(h, 8) == 1 / static_cast<float>(2 << h));
  const double root = 0x1.6a09e667f3bcdp-1;  // 1/√2 rounded
  for (size_t h = 0; h < 16; ++h)
    CHECK(alibi_slope<double>(h, 16) ==
          (h % 2 == 0 ? root : 0.5) / static_cast<double>(1 << (h / 2)));
  // 12 heads: the 8 of 8 heads, then the first, third, fifth and seventh of 16.
  for (size_t h = 0; h < 8; ++h) CHECK(alibi_slope<double>(h, 12) == alibi_slope<double>(h, 8));
  for (size_t h = 0; h < 4; ++h)
    CHECK(alibi_slope<double>(8 + h, 12) == root / static_cast<double>(1 << h));
  CHECK(alibi_slope<double>(0, 1) == 0x1p-8);
  CHECK(alibi_slope<double>(0, 2) == 0x1p-4);
  CHECK(alibi_slope<double>(1, 2) == 0x1p-8);
  CHECK(alibi_slope<double>(2, 3) == 0x1p-2);
}

TEST_CASE("ALiBi's slopes for any number of heads", "[bias]") {
  nearest_to_the_published<double>();
  nearest_to_the_published<float>();
}
