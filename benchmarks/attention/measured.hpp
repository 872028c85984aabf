// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Attention of one head in float, as several write it: each in a translation unit of its own,
// compiled as its users would.
#pragma once
#include <cstddef>

namespace measured {

// softmax(QKᵀ/√D)V of Tokens tokens.
template <std::size_t Tokens, std::size_t D>
struct Problem {
  alignas(64) float query[Tokens][D];
  alignas(64) float key[Tokens][D];
  alignas(64) float value[Tokens][D];
  alignas(64) float output[Tokens][D];
};

#define ATTEST_MEASURED(name)                  \
  template <std::size_t Tokens, std::size_t D> \
  void name(Problem<Tokens, D>&)
ATTEST_MEASURED(attest_bit_exact);
ATTEST_MEASURED(attest_contracted);
ATTEST_MEASURED(eigen_fixed);
ATTEST_MEASURED(eigen_dynamic);
ATTEST_MEASURED(plain_loops);
ATTEST_MEASURED(tiles);
#undef ATTEST_MEASURED

// The sizes that are measured.
#define ATTEST_FOR_ALL_SIZES(of_size)                                                             \
  of_size(8, 16) of_size(16, 16) of_size(64, 16) of_size(128, 16) of_size(512, 16) of_size(8, 64) \
      of_size(16, 64) of_size(64, 64) of_size(128, 64) of_size(512, 64)
#define ATTEST_INSTANTIATE(name, tokens, d) \
  template void measured::name<tokens, d>(measured::Problem<tokens, d>&);

// Seconds that a multiplication and an addition of floats take at least: many of them, in
// registers alone, in vectors as wide as the program may use.
double seconds_of_multiply_and_add();
double seconds_of_fused_multiply_add();  // 0 where the program may not use them

}  // namespace measured
