// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Rotary embeddings as Llama's two programs write them, run by PyTorch in double: Meta's, with
// neighbouring entries as complex numbers, and Hugging Face's, with rotate_half.
#include "arrays.hpp"
//
#include <attest/position.hpp>
#include <cmath>

namespace {
using namespace attest;
using namespace tests;

// Positions 1000 to 1003, six of eight entries turned. By position.hpp our pair of length r is off
// by at most (2 + 3·λ)·u·θ·r + 3·u·r in each entry, θ its angle. PyTorch's angle is 1/pow(base,
// 2i/d) times the position: quotient, reciprocal and product round, pow is within a unit in the
// last place: (4 + λ)·u·θ; its sine and cosine are within 2·u. Evaluating the bound in double costs
// less than the hundredth added.
template <Pairing pairing>
void turned_alike(const std::string& name) {
  const Arrays<double> arrays("rotary");
  const auto x = arrays.matrix<4, 8>("x");
  const auto theirs = arrays.matrix<4, 8>(name);
  const auto ours = rotated<pairing>(Query{x}, angles<double, 6>(), 1000).matrix;
  constexpr double u = 0x1p-53;
  double closest = 0;
  for (size_t i = 0; i < 4; ++i) {
    for (size_t pair = 0; pair < 3; ++pair) {
      const size_t a = pairing == Pairing::interleaved ? 2 * pair : pair;
      const size_t b = pairing == Pairing::interleaved ? 2 * pair + 1 : pair + 3;
      const double lambda = static_cast<double>(2 * pair) / 6 * std::log(10000.0);
      const double angle = static_cast<double>(1000 + i) * std::exp(-lambda);
      const double bound = 1.01 * u * std::hypot(x[i][a], x[i][b]) * ((6 + 4 * lambda) * angle + 7);
      for (const size_t entry : {a, b}) {
        CAPTURE(i, entry, ours[i][entry], theirs[i][entry], bound);
        const double distance = std::abs(ours[i][entry] - theirs[i][entry]);
        CHECK(distance <= bound);
        closest = std::max(closest, distance / bound);
      }
    }
    CHECK(ours[i][6] == theirs[i][6]);
    CHECK(ours[i][7] == theirs[i][7]);
  }
  INFO("of the bound at most " << closest);
  CHECK(closest > 0.01);
}
}  // namespace

TEST_CASE("rotary embeddings of neighbouring entries", "[pytorch]") {
  turned_alike<Pairing::interleaved>("interleaved");
}
TEST_CASE("rotary embeddings of halves", "[pytorch]") {
  turned_alike<Pairing::halves>("halves");
}
