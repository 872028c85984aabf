// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Several queries at once, keys transposed, are what each query is alone, to the bit: under every
// part of a rule, for rows short and long, whether what a query sees has gaps or not.
#include "random_matrix.hpp"
//
#include <attest/attention.hpp>
#include <limits>
#include <vector>

namespace {
using namespace attest;
using namespace tests;

template <class T>
bool same(T x, T y) {
  return x == y || (x != x && y != y);
}

// Row i of attention is attention of query i alone, seeing what query i sees.
template <Rule rule, class T, size_t Tq, size_t Tk, size_t D, size_t Dv, class Visible, class Bias,
          class Sink>
void rows_are_those_of_one_query(const Matrix<T, Tq, D>& q, const Key<T, Tk, D>& k,
                                 const Value<T, Tk, Dv>& v, const Visible& visible,
                                 const Bias& bias, const Sink& sink) {
  const auto together = attention_with_log_sum_exp<rule>(Query{q}, k, v, visible, bias, sink);
  const auto weights = attention_weights<rule>(Query{q}, k, visible, bias, sink);
  for (size_t i = 0; i < Tq; ++i) {
    Query<T, 1, D> alone;
    for (size_t t = 0; t < D; ++t) alone.matrix[0][t] = q[i][t];
    constexpr Rule at_its_place = [] {
      Rule r = rule;
      r.causal = false, r.window_left = r.window_right = -1;
      return r;
    }();
    const auto sees_key = [&](size_t, size_t j) {
      return VisibleByPosition<rule>{}(i, j) && sees(visible, i, j);
    };
    const auto bias_of_key = [&] {
      if constexpr (is_same_type<Bias, NoBias>)
        return no_bias;
      else
        return [&bias, i](size_t, size_t j) { return bias_at(bias, i, j); };
    }();
    const auto output =
        attention_with_log_sum_exp<at_its_place>(alone, k, v, sees_key, bias_of_key, sink);
    const auto weight = attention_weights<at_its_place>(alone, k, sees_key, bias_of_key, sink);
    RC_ASSERT(same(together.log_sum_exp[i], output.log_sum_exp[0]));
    for (size_t t = 0; t < Dv; ++t) RC_ASSERT(same(together.output[i][t], output.output[0][t]));
    for (size_t j = 0; j < Tk; ++j) RC_ASSERT(same(weights[i][j], weight[0][j]));
  }
}

template <class T, size_t Tq, size_t Tk, size_t D, size_t Dv>
void rows() {
  rc::prop("all keys, causal, windows", [] {
    const auto q = numbers<T, Tq, D>();
    const Key k{numbers<T, Tk, D>()};
    const Value v{numbers<T, Tk, Dv>()};
    const auto compare = [&](auto rule_of, const auto& visible) {
      rows_are_those_of_one_query<rule_of()>(q, k, v, visible, no_bias, NoSink{});
    };
    compare([] { return Rule{}; }, everything);
    compare([] { return Rule{}; }, causal);
    compare([] { return Rule{}; }, causal_after(Tk - 2));
    compare([] { return Rule{.causal = true, .window_left = 9}; }, everything);
    compare([] { return Rule{.window_left = 1, .window_right = 12}; }, everything);
    compare([] { return Rule{.scale = Scale::of(0.3), .softcap = 2}; }, causal);
    compare([] { return Rule{.scale_by_square_roots = true}; }, causal);
  });
  rc::prop("masks with gaps and rows without a key, hidden keys NaN", [] {
    const auto q = numbers<T, Tq, D>();
    auto k = numbers<T, Tk, D>();
    auto v = numbers<T, Tk, Dv>();
    auto mask = masks<Tq, Tk>();
    const auto hidden = index_below(Tk);
    for (auto& row : mask.entries) row[hidden] = false;
    for (auto& x : k[hidden]) x = std::numeric_limits<T>::quiet_NaN();
    for (auto& x : v[hidden]) x = std::numeric_limits<T>::infinity();
    for (auto& seen : mask[index_below(Tq)]) seen = false;
    const auto summands = numbers<T, Tq, Tk>();
    const Sink sink{T(1.5)};
    const auto compare = [&](auto rule_of) {
      rows_are_those_of_one_query<rule_of()>(q, Key{k}, Value{v}, mask, no_bias, NoSink{});
      rows_are_those_of_one_query<rule_of()>(q, Key{k}, Value{v}, mask, summands, sink);
    };
    compare([] { return Rule{}; });
    compare([] { return Rule{.softcap = 3, .causal = true}; });
    compare([] { return Rule{.empty_row = EmptyRow::mean}; });
    compare([] { return Rule{.empty_row = EmptyRow::nan}; });
    compare([] { return Rule{.softcap = 2, .softcap_place = SoftcapPlace::after_mask}; });
  });
  rc::prop("a bias of minus infinity", [] {
    auto bias = numbers<T, Tq, Tk>();
    const auto mask = masks<Tq, Tk>();
    for (size_t i = 0; i < Tq; ++i)
      for (size_t j = 0; j < Tk; ++j)
        if (!mask[i][j]) bias[i][j] = -std::numeric_limits<T>::infinity();
    rows_are_those_of_one_query<Rule{}>(numbers<T, Tq, D>(), Key{numbers<T, Tk, D>()},
                                        Value{numbers<T, Tk, Dv>()}, everything, bias, NoSink{});
  });
}

// Eight queries and eight are worked on together, then what is left: rows without a key among the
// second eight and in what is left, none among the first.
template <class T, size_t Tk>
void empty_rows_after_others() {
  constexpr size_t Tq = 17, D = 3, Dv = 5;
  const auto q = numbers<T, Tq, D>();
  const Key k{numbers<T, Tk, D>()};
  const Value v{numbers<T, Tk, Dv>()};
  auto mask = masks<Tq, Tk>();
  const auto filled = masks<1, Tq>();
  for (size_t i = 0; i < Tq; ++i) {
    mask[i][index_below(Tk)] = true;
    if (i >= 8 && (!filled[0][i] || i == 12))
      for (bool& seen : mask[i]) seen = false;
  }
  const auto compare = [&](auto rule_of) {
    rows_are_those_of_one_query<rule_of()>(q, k, v, mask, no_bias, NoSink{});
  };
  compare([] { return Rule{.empty_row = EmptyRow::zero}; });
  compare([] { return Rule{.empty_row = EmptyRow::mean}; });
  compare([] { return Rule{.empty_row = EmptyRow::nan}; });
}

TEST_CASE("rows without a key after eight that have some") {
  rc::prop("float, 7 keys", empty_rows_after_others<float, 7>);
  rc::prop("float, 37 keys", empty_rows_after_others<float, 37>);
  rc::prop("double, 19 keys", empty_rows_after_others<double, 19>);
}
TEST_CASE("rows of several queries, float, 19 keys") {
  rows<float, 11, 19, 11, 17>();
}
TEST_CASE("rows of several queries, float, 70 keys") {
  rows<float, 9, 70, 16, 3>();
}
TEST_CASE("rows of several queries, double") {
  rows<double, 10, 37, 9, 8>();
}

}  // namespace
