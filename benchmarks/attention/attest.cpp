// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// attest's attention, compiled twice: for the bits of the proof, and, with ATTEST_CONTRACTED, free
// to fuse multiplications with additions. What is compiled differently must have other names, or
// the linker takes one for the other.
#ifdef ATTEST_CONTRACTED
#define attest attest_where_contracted
#define attest_bit_exact attest_contracted
#endif
#include <attest/attention.hpp>
#include <new>

#include "measured.hpp"

template <std::size_t Tokens, std::size_t D>
void measured::attest_bit_exact(Problem<Tokens, D>& problem) {
  using namespace attest;  // a Query is laid out as the array it holds
  const auto& query = reinterpret_cast<const Query<float, Tokens, D>&>(problem.query);
  const auto& key = reinterpret_cast<const Key<float, Tokens, D>&>(problem.key);
  const auto& value = reinterpret_cast<const Value<float, Tokens, D>&>(problem.value);
  new (problem.output) Matrix<float, Tokens, D>(attention(query, key, value));
}

#define ATTEST_OF_SIZE(tokens, d) ATTEST_INSTANTIATE(attest_bit_exact, tokens, d)
ATTEST_FOR_ALL_SIZES(ATTEST_OF_SIZE)
