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

// How many keys a query sees, and how many stand between the first and the last of them, those two
// included.
struct Seen {
  size_t keys = 0;
  size_t span = 0;
};
template <size_t Keys, class Visible>
constexpr Seen seen_by(const Visible& visible, size_t i) {
  Seen seen;
  size_t begin = 0;
  for (size_t j = 0; j < Keys; ++j)
    if (sees(visible, i, j)) {
      if (seen.keys++ == 0) begin = j;
      seen.span = j + 1 - begin;
    }
  return seen;
}
template <size_t Keys>
constexpr Seen seen_by(const Everything&, size_t) {
  return {.keys = Keys, .span = Keys};
}

// The cost of attention(query, key, value, visible), exactly. A visible pair costs one dot product,
// one scaling and one axpy; softmax one subtraction, one exponential and one division for each key
// from the first visible to the last, and a sum over all keys. Where visible keys are neighbours,
// as with causal, no hidden key costs an exponential.
template <class Q, class K, class V, class Visible = Everything>
requires can_attend<Q, K, V, Visible>
constexpr Cost attention_cost(const Q&, const K&, const V&, const Visible& visible = {}) {
  constexpr size_t d = Q::columns, dv = V::columns, bytes = sizeof(typename Q::value_type);
  Cost cost{.score_matrix_bytes = Q::rows * K::rows * bytes, .scratch_bytes = K::rows * bytes};
  for (size_t i = 0; i < Q::rows; ++i) {
    const Seen seen = seen_by<K::rows>(visible, i);
    cost.multiplications += seen.keys * (d + 1 + dv);
    cost.additions += seen.keys * (d + dv) + seen.span + (seen.keys > 0 ? K::rows - 1 : 0);
    cost.exponentials += seen.span;
    cost.divisions += seen.span;
  }
  return cost;
}

}  // namespace attest
