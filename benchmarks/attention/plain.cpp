// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Attention as one writes it down in C.
#include <cmath>

#include "measured.hpp"

template <std::size_t Tokens, std::size_t D>
void measured::plain_loops(Problem<Tokens, D>& problem) {
  const float scale = 1 / std::sqrt(static_cast<float>(D));
  for (std::size_t i = 0; i < Tokens; ++i) {
    float weight[Tokens], largest = -INFINITY, total = 0;
    for (std::size_t j = 0; j < Tokens; ++j) {
      float sum = 0;
      for (std::size_t t = 0; t < D; ++t) sum += problem.query[i][t] * problem.key[j][t];
      weight[j] = sum * scale;
      if (weight[j] > largest) largest = weight[j];
    }
    for (std::size_t j = 0; j < Tokens; ++j) total += weight[j] = std::exp(weight[j] - largest);
    for (std::size_t t = 0; t < D; ++t) problem.output[i][t] = 0;
    for (std::size_t j = 0; j < Tokens; ++j)
      for (std::size_t t = 0; t < D; ++t)
        problem.output[i][t] += weight[j] / total * problem.value[j][t];
  }
}

#define ATTEST_OF_SIZE(tokens, d) ATTEST_INSTANTIATE(plain_loops, tokens, d)
ATTEST_FOR_ALL_SIZES(ATTEST_OF_SIZE)
