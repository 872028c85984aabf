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

// How many pairs of a query and a key are visible, and how many queries see a key at all.
struct Visibility {
  size_t pairs = 0;
  size_t queries = 0;
};

template <size_t Queries, size_t Keys, class Visible>
constexpr Visibility count_visible(const Visible& visible) {
  Visibility count;
  for (size_t i = 0; i < Queries; ++i) {
    size_t pairs = 0;
    for (size_t j = 0; j < Keys; ++j) pairs += sees(visible, i, j);
    count.pairs += pairs;
    count.queries += pairs > 0;
  }
  return count;
}
template <size_t Queries, size_t Keys>
constexpr Visibility count_visible(const Everything&) {
  return {Queries * Keys, Keys > 0 ? Queries : 0};
}

// The cost of attention(query, key, value, visible), exactly: a visible pair costs one dot product,
// one scaling, one exponential and one axpy; a query that sees anything, one division per entry of
// its output.
template <class Q, class K, class V, class Visible = Everything>
  requires can_attend<Q, K, V, Visible>
constexpr Cost attention_cost(const Q&, const K&, const V&, const Visible& visible = {}) {
  constexpr size_t d = Q::columns, dv = V::columns, bytes = sizeof(typename Q::value_type);
  const Visibility seen = count_visible<Q::rows, K::rows>(visible);
  return {.multiplications = seen.pairs * (d + 1 + dv),
          .additions = seen.pairs * (d + 1 + 1 + dv),
          .exponentials = seen.pairs,
          .divisions = seen.queries * dv,
          .score_matrix_bytes = Q::rows * K::rows * bytes,
          .scratch_bytes = K::rows * bytes};
}

}  // namespace attest
