// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// S17 on random tokens: where gaps are large attention is hard attention to the bit, and elsewhere
// as near as hard.hpp says.
#include "random_matrix.hpp"
//
#include <attest/hard.hpp>
#include <cmath>
#include <limits>

#include "reference_attention.hpp"

namespace {
using namespace attest;
using namespace tests;

// Queries and keys are integers, so that scores and gaps are, and ties happen.
template <class T, int end_of_exp>
void laws() {
  constexpr size_t Tq = 3, Tk = 9, D = 2, Dv = 3;
  rc::prop("S17: gaps beyond the range of exp: attention is hard, to the bit", [] {
    const Query q{integers<T, Tq, D>(2)};
    const Key k{integers<T, Tk, D>(2)};
    const Value v{numbers<T, Tk, Dv>()};
    const auto mask = masks<Tq, Tk>();
    constexpr Rule steep{.scale = Scale::of(end_of_exp)};
    RC_ASSERT(attention<steep>(q, k, v) == hard_attention(q, k, v));
    RC_ASSERT(attention<steep>(q, k, v, mask) == hard_attention(q, k, v, mask));
    const Sink sink{T(end_of_exp * integer_in(-4, 5))};
    RC_ASSERT(attention<steep>(q, k, v, mask, no_bias, sink) ==
              hard_attention<steep>(q, k, v, mask, no_bias, sink));
  });
  rc::prop("hard attention is the mean of the values of the largest scores", [] {
    const auto q = integers<T, Tq, D>(2);
    const auto k = integers<T, Tk, D>(2);
    const auto v = numbers<T, Tk, Dv>();
    const auto mask = masks<Tq, Tk>();
    const auto output = hard_attention(Query{q}, Key{k}, Value{v}, mask);
    for (size_t i = 0; i < Tq; ++i)
      for (size_t t = 0; t < Dv; ++t) {
        T largest = -std::numeric_limits<T>::infinity();
        Real sum, magnitude;
        size_t n = 0;
        for (size_t j = 0; j < Tk; ++j) {
          const T product = q[i][0] * k[j][0] + q[i][1] * k[j][1];
          if (!mask[i][j] || product < largest) continue;
          if (product > largest) sum = magnitude = 0, n = 0, largest = product;
          sum += Real(v[j][t]), magnitude += abs(Real(v[j][t])), ++n;
        }
        const Real mean = n == 0 ? Real(0) : Real(sum / n);
        // 1/n rounds, each product and each sum.
        RC_ASSERT(abs(Real(Real(output[i][t]) - mean)) <=
                  higher_orders * (n + 1) * unit_roundoff<T> *
                          (n == 0 ? Real(0) : Real(magnitude / n)) +
                      (n + 1) * smallest<T>);
      }
  });
  rc::prop("S17: attention is within e^(-c g) sum |v_j - h| / n of hard attention", [] {
    const auto q = integers<T, Tq, D>(2);
    const auto k = integers<T, Tk, D>(2);
    const auto v = integers<T, Tk, Dv>();
    constexpr T c = 4;
    const auto exact = reference_attention(q, k, v, everything, &c);
    const auto output = attention<Rule{.scale = Scale::of(4)}>(Query{q}, Key{k}, Value{v});
    const auto hard = hard_attention(Query{q}, Key{k}, Value{v});
    for (size_t i = 0; i < Tq; ++i)
      for (size_t t = 0; t < Dv; ++t) {
        T largest = -std::numeric_limits<T>::infinity();
        T product[Tk];
        for (size_t j = 0; j < Tk; ++j) {
          product[j] = q[i][0] * k[j][0] + q[i][1] * k[j][1];
          largest = std::max(largest, product[j]);
        }
        Real distance, sum;
        size_t n = 0;
        for (size_t j = 0; j < Tk; ++j)
          if (product[j] == largest) sum += Real(v[j][t]), ++n;
        const Real h = sum / n;
        for (size_t j = 0; j < Tk; ++j)
          if (product[j] < largest)
            distance += exp(Real(-4 * Real(largest - product[j]))) * abs(Real(Real(v[j][t]) - h));
        // The reference itself rounds, at a hundred digits.
        RC_ASSERT(abs(Real(exact.output[i][t] - h)) <= distance / n + Real(1e-95));
        RC_ASSERT(abs(Real(Real(output[i][t]) - h)) <= distance / n + exact.bound[i][t]);
        RC_ASSERT(abs(Real(Real(hard[i][t]) - h)) <=
                  higher_orders * (n + 1) * unit_roundoff<T> * 20);
      }
  });
  rc::prop("S17: every visible key keeps positive weight, hidden keys none", [] {
    const Query q{integers<T, Tq, D>(2)};
    const Key k{integers<T, Tk, D>(2)};
    const auto mask = masks<Tq, Tk>();
    // Gaps of at most 16, times 5: e^-80/9 is in the range of float.
    const auto weights = attention_weights<Rule{.scale = Scale::of(5)}>(q, k, mask);
    for (size_t i = 0; i < Tq; ++i)
      for (size_t j = 0; j < Tk; ++j) RC_ASSERT((weights[i][j] > 0) == mask[i][j]);
  });
}

}  // namespace

TEST_CASE("hard attention in float", "[hard]") {
  laws<float, 104>();
}
TEST_CASE("hard attention in double", "[hard]") {
  laws<double, 746>();
}
