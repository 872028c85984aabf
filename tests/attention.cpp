// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Attention on random tokens: its laws, its error against a hundred digits, and the same bits as
// the compiler computes.
#include "random_matrix.hpp"
//
#include <attest/attention.hpp>
#include <cstring>
#include <limits>

#include "reference_attention.hpp"
#include "same_bits.hpp"

namespace {
using namespace attest;
using namespace tests;

template <class T, size_t Tq, size_t Dv>
void within_bound(const Matrix<T, Tq, Dv>& output, const ReferenceAttention& exact,
                  const Real& more = 0) {
  for (size_t i = 0; i < Tq; ++i)
    for (size_t t = 0; t < Dv; ++t)
      RC_ASSERT(abs(Real(Real(output[i][t]) - exact.output[i][t])) <= exact.bound[i][t] + more);
}

// How far outside the values a mean of n of them may lie: the weighted sum, the sum of weights and
// the division round.
template <class T>
Real rounding_of_a_mean(size_t n, const Real& largest_value) {
  return higher_orders * 2 * n * unit_roundoff<T> * largest_value + 4 * n * smallest<T>;
}

template <class T, size_t R, size_t C>
Real largest_entry(const Matrix<T, R, C>& m) {
  Real largest;
  for (const auto& row : m.entries)
    for (T x : row)
      if (abs(Real(x)) > largest) largest = abs(Real(x));
  return largest;
}

template <class T, size_t Tq, size_t Tk, size_t D, size_t Dv>
void laws() {
  rc::prop("the error is within the bound", [] {
    const auto q = numbers<T, Tq, D>();
    const auto k = numbers<T, Tk, D>();
    const auto v = numbers<T, Tk, Dv>();
    within_bound(attention(Query{q}, Key{k}, Value{v}), reference_attention(q, k, v, everything));
    within_bound(attention(Query{q}, Key{k}, Value{v}, causal),
                 reference_attention(q, k, v, causal));
    within_bound(attention(Query{q}, Key{k}, Value{v}, causal_after(Tk - 1)),
                 reference_attention(q, k, v, everything));
  });
  rc::prop("the error is within the bound, masked and with a given scale", [] {
    const auto q = numbers<T, Tq, D>();
    const auto k = numbers<T, Tk, D>();
    const auto v = numbers<T, Tk, Dv>();
    const auto mask = masks<Tq, Tk>();
    const auto visible = [&](size_t i, size_t j) { return mask[i][j]; };
    const auto with_scale = [&](const auto& output, double scale) {
      const T given = T(scale);
      within_bound(output, reference_attention(q, k, v, visible, &given));
    };
    with_scale(attention<unscaled>(Query{q}, Key{k}, Value{v}, mask), 1);
    with_scale(attention<Rule{.scale = Scale::of(-0.7)}>(Query{q}, Key{k}, Value{v}, mask), -0.7);
    with_scale(attention<Rule{.scale = Scale::of(0)}>(Query{q}, Key{k}, Value{v}, mask), 0);
  });
  rc::prop("S21: outputs lie in the hull of the visible values", [] {
    const auto v = numbers<T, Tk, Dv>();
    const auto mask = masks<Tq, Tk>();
    const auto o = attention(Query{numbers<T, Tq, D>()}, Key{numbers<T, Tk, D>()}, Value{v}, mask);
    for (size_t i = 0; i < Tq; ++i)
      for (size_t t = 0; t < Dv; ++t) {
        size_t n = 0;
        Real low, high;
        for (size_t j = 0; j < Tk; ++j)
          if (mask[i][j]) {
            if (n == 0 || Real(v[j][t]) < low) low = Real(v[j][t]);
            if (n == 0 || Real(v[j][t]) > high) high = Real(v[j][t]);
            ++n;
          }
        const Real slack = rounding_of_a_mean<T>(n, largest_entry(v));
        RC_ASSERT(Real(o[i][t]) >= low - slack);
        RC_ASSERT(Real(o[i][t]) <= high + slack);
      }
  });
  rc::prop("S8: shuffled queries get shuffled answers, to the bit", [] {
    const auto q = numbers<T, Tq, D>();
    const Key k{numbers<T, Tk, D>()};
    const Value v{numbers<T, Tk, Dv>()};
    const auto order = order_of(Tq);
    RC_ASSERT(attention(Query{rows_of(q, order)}, k, v) ==
              rows_of(attention(Query{q}, k, v), order));
  });
  rc::prop("S8: shuffling keys with their values changes nothing but the order of the sum", [] {
    const Query q{numbers<T, Tq, D>()};
    const auto k = numbers<T, Tk, D>();
    const auto v = numbers<T, Tk, Dv>();
    const auto order = order_of(Tk);
    const auto a = attention(q, Key{k}, Value{v});
    const auto b = attention(q, Key{rows_of(k, order)}, Value{rows_of(v, order)});
    const Real slack = 2 * rounding_of_a_mean<T>(Tk, largest_entry(v));
    for (size_t i = 0; i < Tq; ++i)
      for (size_t t = 0; t < Dv; ++t) RC_ASSERT(abs(Real(Real(a[i][t]) - Real(b[i][t]))) <= slack);
  });
  rc::prop("S10: what comes later changes nothing, to the bit, be it NaN", [] {
    const Query q{numbers<T, Tq, D>()};
    const auto k = numbers<T, Tk, D>();
    const auto v = numbers<T, Tk, Dv>();
    const auto t = index_below(Tk);
    auto later_k = k;
    auto later_v = v;
    for (size_t j = t + 1; j < Tk; ++j)
      for (size_t c = 0; c < D; ++c) later_k[j][c] = std::numeric_limits<T>::quiet_NaN();
    for (size_t j = t + 1; j < Tk; ++j)
      for (size_t c = 0; c < Dv; ++c) later_v[j][c] = std::numeric_limits<T>::infinity();
    const auto a = attention(q, Key{k}, Value{v}, causal);
    const auto b = attention(q, Key{later_k}, Value{later_v}, causal);
    for (size_t i = 0; i < Tq && i <= t; ++i)
      for (size_t c = 0; c < Dv; ++c) RC_ASSERT(a[i][c] == b[i][c]);
  });
  rc::prop("S10: a cache gives the rows of the whole, to the bit", [] {
    const auto q = numbers<T, Tk, D>();
    const Key k{numbers<T, Tk, D>()};
    const Value v{numbers<T, Tk, Dv>()};
    const auto t = index_below(Tk);
    Matrix<T, 1, D> last;
    for (size_t c = 0; c < D; ++c) last[0][c] = q[t][c];
    const auto one = attention(Query{last}, k, v, causal_after(t));
    const auto whole = attention(Query{q}, k, v, causal);
    for (size_t c = 0; c < Dv; ++c) RC_ASSERT(one[0][c] == whole[t][c]);
  });
  rc::prop("S1: equal scores average", [] {
    const auto v = numbers<T, Tk, Dv>();
    const auto o = attention(Query<T, Tq, D>{}, Key{numbers<T, Tk, D>()}, Value{v});
    for (size_t t = 0; t < Dv; ++t) {
      Real sum;
      for (size_t j = 0; j < Tk; ++j) sum += Real(v[j][t]);
      for (size_t i = 0; i < Tq; ++i)
        RC_ASSERT(abs(Real(Real(o[i][t]) - sum / Tk)) <=
                  rounding_of_a_mean<T>(Tk, largest_entry(v)));
    }
  });
  rc::prop("weights * values is within the bound too, one rounding more", [] {
    const auto q = numbers<T, Tq, D>();
    const auto k = numbers<T, Tk, D>();
    const auto v = numbers<T, Tk, Dv>();
    const auto exact = reference_attention(q, k, v, everything);
    const auto o = attention_weights(Query{q}, Key{k}) * v;
    // The weights are divided one by one here: u·Σ p|v| more than dividing once.
    within_bound(o, exact, higher_orders * unit_roundoff<T> * largest_entry(v));
  });
  rc::prop("S19: a query that changes its mind looks elsewhere", [] {
    Matrix<T, Tq, D> q;
    auto k = numbers<T, Tk, D>();
    const auto favourite = index_below(Tk);
    for (size_t j = 0; j < Tk; ++j) k[j][0] = j == favourite ? T(20) : T(0);
    q[0][0] = T(20);
    RC_ASSERT(attention_weights(Query{q}, Key{k})[0][favourite] > T(0.99));
    q[0][0] = T(-20);
    RC_ASSERT(attention_weights(Query{q}, Key{k})[0][favourite] <= (Tk == 1 ? T(1) : T(0.01)));
  });
}

template <class T>
constexpr auto compiled = attention(Query{sample<T, 24, 16>(1)}, Key{sample<T, 24, 16>(2)},
                                    Value{sample<T, 24, 16>(3)}, causal);

template <class T>
void same_bits() {
  const auto run =
      attention(Query{from_outside(sample<T, 24, 16>(1))}, Key{from_outside(sample<T, 24, 16>(2))},
                Value{from_outside(sample<T, 24, 16>(3))}, causal);
  CHECK(std::memcmp(&run, &compiled<T>, sizeof run) == 0);
}

}  // namespace

// A property is a section, known by its name: sizes of their own sections, or all but the first
// would be skipped.
TEST_CASE("attention in float", "[attention]") {
  SECTION("5 queries, 6 keys, widths 4 and 3") {
    laws<float, 5, 6, 4, 3>();
  }
  SECTION("3 queries, 11 keys, widths 9 and 8") {
    laws<float, 3, 11, 9, 8>();
  }
}

TEST_CASE("attention in double", "[attention]") {
  SECTION("5 queries, 6 keys, widths 4 and 3") {
    laws<double, 5, 6, 4, 3>();
  }
  SECTION("3 queries, 11 keys, widths 9 and 8") {
    laws<double, 3, 11, 9, 8>();
  }
}

TEST_CASE("one query, one key", "[attention]") {
  laws<float, 1, 1, 1, 1>();
}

TEST_CASE("compile time and run time give the same bits", "[attention]") {
  same_bits<float>();
  same_bits<double>();
}
