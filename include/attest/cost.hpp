// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What attention costs, known before it runs: how many operations it performs and how many bytes it
// needs.
#pragma once
#include <attest/attention.hpp>
#include <attest/mask.hpp>
#include <attest/matrix.hpp>

namespace attest {

struct Cost {
  size_t multiplications = 0;
  size_t additions = 0;  // and subtractions
  size_t exponentials = 0;
  size_t divisions = 0;
  size_t score_matrix_bytes = 0;  // what attention_scores and attention_weights return
  size_t scratch_bytes = 0;       // what attention keeps instead: the scores of one query
};

// How many pairs of a query and a key are visible.
template <size_t Queries, size_t Keys, class Visible>
constexpr size_t visible_pairs(const Visible& visible) {
  size_t pairs = 0;
  for (size_t i = 0; i < Queries; ++i)
    for (size_t j = 0; j < Keys; ++j) pairs += sees(visible, i, j);
  return pairs;
}
template <size_t Queries, size_t Keys>
constexpr size_t visible_pairs(const Everything&) {
  return Queries * Keys;
}

// The cost of attention(query, key, value, visible), exactly: a visible pair costs one dot product,
// one scaling, one exponential, one division and one axpy.
template <class Q, class K, class V, class Visible = Everything>
  requires can_attend<Q, K, V, Visible>
constexpr Cost attention_cost(const Q&, const K&, const V&, const Visible& visible = {}) {
  constexpr size_t d = Q::columns, dv = V::columns, bytes = sizeof(typename Q::value_type);
  const size_t pairs = visible_pairs<Q::rows, K::rows>(visible);
  return {.multiplications = pairs * (d + 1 + dv),
          .additions = pairs * (d + 1 + 1 + dv),
          .exponentials = pairs,
          .divisions = pairs,
          .score_matrix_bytes = Q::rows * K::rows * bytes,
          .scratch_bytes = K::rows * bytes};
}

}  // namespace attest
