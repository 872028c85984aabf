// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// One query's attention to some of the rows of a matrix of keys, in an order of their own: a tile
// of them, those a cache holds so far, a ring.
#pragma once
#include <attest/attention.hpp>
#include <attest/count.hpp>

namespace attest {

// A selection has slots 0 … N − 1, read in that order. filled(s): whether slot s holds a key.
// row(s): in which row of the matrices it and its value stand. key(s): which key it is to masks,
// biases and the positions of a rule. filled_slots(N): how many are filled.

// N neighbouring rows from `first`.
struct Tile {
  size_t first = 0;

  constexpr bool filled(size_t) const { return true; }
  constexpr size_t row(size_t slot) const { return first + slot; }
  constexpr size_t key(size_t slot) const { return first + slot; }
  constexpr size_t filled_slots(size_t slots) const { return slots; }
};

// attend (attention.hpp) to the keys of a selection, for it the same bits: `weight`, one for each
// slot, and `output` are all zeros before. Keys not selected are neither read nor counted.
template <Rule rule, class T, size_t D, size_t Rows, size_t Dv, size_t Slots, class Selection,
          class Visible, class Bias, class Sink>
constexpr SoftmaxDenominator<T> attend_to(const Selection& selection, const T (&q)[D],
                                          const Matrix<T, Rows, D>& key,
                                          const Matrix<T, Rows, Dv>& value, const Visible& visible,
                                          const Bias& bias, const Sink& sink, size_t i,
                                          T (&weight)[Slots], T (&output)[Dv]) {
  const auto seen = [&](size_t, size_t s) {
    return selection.filled(s) && sees(visible, i, selection.key(s));
  };
  const auto counted = [&](size_t, size_t s) {
    return selection.filled(s) && sees(counted_by_softmax<rule>(visible), i, selection.key(s));
  };
  for (size_t s = 0; s < Slots; ++s)
    if (seen(i, s))
      weight[s] = score<rule>(q, key.entries[selection.row(s)], bias, i, selection.key(s));
  if constexpr (hidden_keys_have_scores<rule>)
    for (size_t s = 0; s < Slots; ++s)
      if (counted(i, s) && !seen(i, s)) weight[s] = T(-rule.softcap);
  const auto denominator = softmax_row(weight, counted, i, sink);
  if constexpr (rule.empty_row == EmptyRow::mean || rule.empty_row == EmptyRow::nan)
    if (denominator.total == T(0)) {
      T each{};
      if constexpr (rule.empty_row == EmptyRow::nan)
        each = quiet_nan<T>();
      else if (selection.filled_slots(Slots) > 0)
        each = reciprocal_of_count<T>(selection.filled_slots(Slots));
      for (size_t s = 0; s < Slots; ++s)
        if (selection.filled(s)) axpy(each, value.entries[selection.row(s)], output);
      return denominator;
    }
  for (size_t s = 0; s < Slots; ++s)
    if (counted(i, s)) axpy(weight[s], value.entries[selection.row(s)], output);
  return denominator;
}

}  // namespace attest
