// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Rows of weights and rows of the output: one query at a time, or several where the processor has
// vectors.
#pragma once
#include <attest/count.hpp>
#include <attest/product.hpp>
#include <attest/score.hpp>
#include <attest/transpose.hpp>
#include <attest/vectors.hpp>

namespace attest {

// What softmax makes of the scores of queries first … first + Rows − 1; entries they may not see
// are ignored. A row without a key and without a sink is what the rule says of it: its total is 0.
template <Rule rule, size_t Rows, class T, size_t Tk, class Visible, class Sink>
constexpr void weigh_scores(T (*weight)[Tk], const Visible& visible, const Sink& sink, size_t first,
                            T (&largest)[Rows], T (&total)[Rows]) {
  if constexpr (hidden_keys_have_scores<rule>)
    for (size_t r = 0; r < Rows; ++r)
      for (size_t j = 0; j < Tk; ++j)
        if (!sees(visible, first + r, j)) weight[r][j] = T(-rule.softcap);
  softmax_rows(weight, counted_by_softmax<rule>(visible), first, sink, largest, total);
  if constexpr (rule.empty_row == EmptyRow::mean || rule.empty_row == EmptyRow::nan)
    for (size_t r = 0; r < Rows; ++r)
      if (total[r] == T(0)) {
        T each{};
        if constexpr (rule.empty_row == EmptyRow::nan)
          each = quiet_nan<T>();
        else
          each = reciprocal_of_count<T>(Tk);
        for (T& w : weight[r]) w = each;
      }
}

// The weights of one query, `weight` all zeros before.
template <Rule rule, class T, size_t D, size_t Tk, class Visible, class Bias, class Sink>
constexpr SoftmaxDenominator<T> weigh_keys(const T (&q)[D], const Matrix<T, Tk, D>& key,
                                           const Visible& visible, const Bias& bias,
                                           const Sink& sink, size_t i, T (&weight)[Tk]) {
  for (size_t j = 0; j < Tk; ++j)
    if (sees(visible, i, j)) weight[j] = score<rule>(q, key.entries[j], bias, i, j);
  T largest[1]{}, total[1]{};
  weigh_scores<rule>(&weight, visible, sink, i, largest, total);
  return {largest[0], total[0]};
}

// One query's row of the output, all zeros before; `weight` is scratch, all zeros before.
template <Rule rule, class T, size_t D, size_t Tk, size_t Dv, class Visible, class Bias, class Sink>
constexpr SoftmaxDenominator<T> attend(const T (&q)[D], const Matrix<T, Tk, D>& key,
                                       const Matrix<T, Tk, Dv>& value, const Visible& visible,
                                       const Bias& bias, const Sink& sink, size_t i,
                                       T (&weight)[Tk], T (&output)[Dv]) {
  const auto denominator = weigh_keys<rule>(q, key, visible, bias, sink, i, weight);
  if constexpr (rule.empty_row == EmptyRow::mean || rule.empty_row == EmptyRow::nan)
    if (denominator.total == T(0)) {
      for (size_t j = 0; j < Tk; ++j) axpy(weight[j], value.entries[j], output);
      return denominator;
    }
  for (size_t j = 0; j < Tk; ++j)
    if (sees(counted_by_softmax<rule>(visible), i, j)) axpy(weight[j], value.entries[j], output);
  return denominator;
}

// A dot product is one sum from left to right, so what stands side by side in a vector are several
// of them: those of one query with neighbouring keys, for which entry t of all keys must be
// neighbours, the keys transposed. Eight queries at a time read keys and values once for eight, and
// while the sum of one waits for its last addition the others go on. Each sum keeps its order, and
// so its bits. The price is scratch (cost.hpp): a copy of the keys, and eight rows of weights
// instead of one. Processors without vectors of floats, and other numbers, take one query after the
// other.
template <class T>
inline constexpr size_t queries_at_once = !processor_has_vectors || !is_float_or_double<T> ? 1 : 8;

// Of Tq queries. Where the rule scales each entry of the keys, they are not transposed.
template <Rule rule, class T, size_t Tq>
inline constexpr size_t queries_together = rule.scale_by_square_roots ? 1
                                           : Tq < queries_at_once<T>  ? Tq
                                                                      : queries_at_once<T>;

// From the first to the last of the keys a query sees, and whether hidden ones are between.
struct Span {
  size_t begin = 0;
  size_t end = 0;
  bool has_gaps = false;

  constexpr bool holds(size_t first, size_t count) const {
    return !has_gaps && begin <= first && first + count <= end;
  }
};
template <size_t Tk, class Visible>
constexpr Span span_of(const Visible& visible, size_t i) {
  Span span{.end = Tk};
  while (span.begin < Tk && !sees(visible, i, span.begin)) ++span.begin;
  if (span.begin == Tk) return {};
  while (!sees(visible, i, span.end - 1)) --span.end;
  for (size_t j = span.begin + 1; j + 1 < span.end && !span.has_gaps; ++j)
    span.has_gaps = !sees(visible, i, j);
  return span;
}
template <size_t Tk>
constexpr Span span_of(const Everything&, size_t) {
  return {.end = Tk};
}

// Whether what several rows need is computed in the vectors of the processor, which constant
// evaluation does not know.
template <class T>
constexpr bool in_vectors() {
  return has_vectors<T> && !__builtin_is_constant_evaluated();
}

// The dot products of queries first … first + Rows − 1 with the keys in their spans, all zeros
// before; not with a span that has gaps, unless it is in vectors. Those with other keys are there
// or not.
template <size_t Rows, class T, size_t Tq, size_t D, size_t Tk>
constexpr void dot_together(const Matrix<T, Tq, D>& query, const Matrix<T, D, Tk>& transposed,
                            size_t first, const Span (&span)[Rows], T (*products)[Tk]) {
  if constexpr (has_vectors<T>)
    if (in_vectors<T>()) {
      Span all{.begin = Tk, .end = 0};
      for (const Span& one : span) {
        all.begin = one.begin < all.begin ? one.begin : all.begin;
        all.end = one.end > all.end ? one.end : all.end;
      }
      add_products<Rows>(query.entries + first, transposed.entries, products, 0, D, all.begin,
                         all.end);
      return;
    }
  constexpr size_t in_eights = D - D % 8;
  for (size_t t = 0; t < in_eights; t += 8)
    for (size_t r = 0; r < Rows; ++r)
      if (!span[r].has_gaps)
        add_eight_rows(query.entries[first + r] + t, transposed.entries + t, products[r],
                       span[r].begin, span[r].end);
  for (size_t t = in_eights; t < D; ++t)
    for (size_t r = 0; r < Rows; ++r)
      if (!span[r].has_gaps)
        axpy(query.entries[first + r][t], transposed.entries[t], products[r], span[r].begin,
             span[r].end);
}

// The scores of queries first … first + Rows − 1, all zeros before. Where a key is hidden, what
// stands there is not to be used; no hidden key has a part in a score.
template <Rule rule, size_t Rows, class T, size_t Tq, size_t D, size_t Tk, class Visible,
          class Bias>
constexpr void score_together(const Matrix<T, Tq, D>& query, const Matrix<T, Tk, D>& key,
                              const Matrix<T, D, Tk>& transposed, const Visible& visible,
                              const Bias& bias, size_t first, const Span (&span)[Rows],
                              T (*score_row)[Tk]) {
  dot_together(query, transposed, first, span, score_row);
  for (size_t r = 0; r < Rows; ++r) {
    const size_t i = first + r;
    T(&row)[Tk] = score_row[r];
    if (span[r].has_gaps && !in_vectors<T>()) {
      for (size_t j = span[r].begin; j < span[r].end; ++j)
        if (sees(visible, i, j)) row[j] = score<rule>(query.entries[i], key.entries[j], bias, i, j);
    } else if constexpr (is_scaled_dot_product<rule, Bias>) {
      for (size_t j = span[r].begin; j < span[r].end; ++j) row[j] = scale_of<rule, T, D> * row[j];
    } else {
      for (size_t j = span[r].begin; j < span[r].end; ++j)
        if (!span[r].has_gaps || sees(visible, i, j))
          row[j] = score_of_dot<rule, T, D>(row[j], bias, i, j);
    }
  }
}

// Their weighted sums of the values, all zeros before.
template <size_t Rows, class T, size_t Tk, size_t Tq, size_t Dv, class Counted>
constexpr void weigh_values_together(const T (*weight)[Tk], const Matrix<T, Tk, Dv>& value,
                                     const Counted& counted, size_t first, const Span (&span)[Rows],
                                     Matrix<T, Tq, Dv>& output) {
  // In vectors, the keys that all of them see. Not in the initializer: GCC 14 takes it there for
  // run time's at compile time too.
  Span common;
  if (in_vectors<T>()) common.end = Tk;
  for (const Span& one : span) {
    common.begin = one.begin > common.begin ? one.begin : common.begin;
    common.end = one.has_gaps ? 0 : one.end < common.end ? one.end : common.end;
  }
  if (common.begin >= common.end) common = {.begin = Tk, .end = Tk};
  for (size_t j = 0; j < common.begin; j += 8)
    for (size_t r = 0; r < Rows; ++r)
      if (Tk >= 8 && j + 8 <= common.begin &&
          (is_same_type<Counted, Everything> || span[r].holds(j, 8)))
        add_eight_rows(weight[r] + j, value.entries + j, output.entries[first + r]);
      else
        for (size_t k = j < span[r].begin ? span[r].begin : j;
             k < j + 8 && k < span[r].end && k < common.begin; ++k)
          if (!span[r].has_gaps || sees(counted, first + r, k))
            axpy(weight[r][k], value.entries[k], output.entries[first + r]);
  if constexpr (has_vectors<T>)
    if (common.begin < common.end)
      add_products<Rows>(weight, value.entries, output.entries + first, common.begin, common.end, 0,
                         Dv);
  for (size_t r = 0; r < Rows; ++r)
    for (size_t j = common.end; j < span[r].end; ++j)
      axpy(weight[r][j], value.entries[j], output.entries[first + r]);
}

// Queries first … first + Rows − 1 at once: their weights, all zeros before, and the rows of the
// output, all zeros before, of which `keep` is told the denominators.
template <Rule rule, size_t Rows, class T, size_t Tq, size_t D, size_t Tk, class Visible,
          class Bias, class Sink>
constexpr void weigh_keys_together(const Matrix<T, Tq, D>& query, const Matrix<T, Tk, D>& key,
                                   const Matrix<T, D, Tk>& transposed, const Visible& visible,
                                   const Bias& bias, const Sink& sink, size_t first,
                                   T (*weight)[Tk], T (&largest)[Rows], T (&total)[Rows]) {
  Span span[Rows]{};
  for (size_t r = 0; r < Rows; ++r) span[r] = span_of<Tk>(visible, first + r);
  score_together<rule>(query, key, transposed, visible, bias, first, span, weight);
  weigh_scores<rule>(weight, visible, sink, first, largest, total);
}
template <Rule rule, size_t Rows, class T, size_t Tq, size_t D, size_t Tk, size_t Dv, class Visible,
          class Bias, class Sink, class Keep>
constexpr void attend_together(const Matrix<T, Tq, D>& query, const Matrix<T, Tk, D>& key,
                               const Matrix<T, D, Tk>& transposed, const Matrix<T, Tk, Dv>& value,
                               const Visible& visible, const Bias& bias, const Sink& sink,
                               size_t first, Matrix<T, Tq, Dv>& output, const Keep& keep) {
  alignas(64) T weight[Rows][Tk]{};
  T largest[Rows]{}, total[Rows]{};
  weigh_keys_together<rule>(query, key, transposed, visible, bias, sink, first, weight, largest,
                            total);
  const auto& counted = counted_by_softmax<rule>(visible);
  Span span[Rows]{};
  for (size_t r = 0; r < Rows; ++r) {
    keep(first + r, SoftmaxDenominator<T>{largest[r], total[r]});
    span[r] = span_of<Tk>(counted, first + r);
    if constexpr (rule.empty_row == EmptyRow::mean || rule.empty_row == EmptyRow::nan)
      if (total[r] == T(0)) span[r] = {.end = Tk};
  }
  weigh_values_together(weight, value, counted, first, span, output);
}

// The weights of all queries, all zeros before.
template <Rule rule, class T, size_t Tq, size_t D, size_t Tk, class Visible, class Bias, class Sink>
constexpr void weigh_rows(const Matrix<T, Tq, D>& query, const Matrix<T, Tk, D>& key,
                          const Visible& visible, const Bias& bias, const Sink& sink,
                          Matrix<T, Tq, Tk>& weights) {
  constexpr size_t together = queries_together<rule, T, Tq>, rest = Tq % together;
  if constexpr (together == 1) {
    for (size_t i = 0; i < Tq; ++i)
      weigh_keys<rule>(query.entries[i], key, visible, bias, sink, i, weights.entries[i]);
  } else {
    alignas(64) const auto transposed = transpose(key);
    for (size_t i = 0; i + together <= Tq; i += together) {
      T largest[together]{}, total[together]{};
      weigh_keys_together<rule>(query, key, transposed, visible, bias, sink, i, weights.entries + i,
                                largest, total);
    }
    if constexpr (rest > 0) {
      T largest_of_rest[rest]{}, total_of_rest[rest]{};
      weigh_keys_together<rule>(query, key, transposed, visible, bias, sink, Tq - rest,
                                weights.entries + (Tq - rest), largest_of_rest, total_of_rest);
    }
  }
}

// All rows of the output, all zeros before; `keep` is told the denominator of each.
template <Rule rule, class T, size_t Tq, size_t D, size_t Tk, size_t Dv, class Visible, class Bias,
          class Sink, class Keep>
constexpr void attend_rows(const Matrix<T, Tq, D>& query, const Matrix<T, Tk, D>& key,
                           const Matrix<T, Tk, Dv>& value, const Visible& visible, const Bias& bias,
                           const Sink& sink, Matrix<T, Tq, Dv>& output, const Keep& keep) {
  constexpr size_t together = queries_together<rule, T, Tq>, rest = Tq % together;
  if constexpr (together == 1) {
    for (size_t i = 0; i < Tq; ++i) {
      T weight[Tk]{};
      keep(i, attend<rule>(query.entries[i], key, value, visible, bias, sink, i, weight,
                           output.entries[i]));
    }
  } else {
    alignas(64) const auto transposed = transpose(key);
    for (size_t i = 0; i + together <= Tq; i += together)
      attend_together<rule, together>(query, key, transposed, value, visible, bias, sink, i, output,
                                      keep);
    if constexpr (rest > 0)
      attend_together<rule, rest>(query, key, transposed, value, visible, bias, sink, Tq - rest,
                                  output, keep);
  }
}

}  // namespace attest
