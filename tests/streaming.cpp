// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Attention to random keys in tiles: within its bound of a hundred digits for every size of tile,
// whichever keys are hidden and in whichever order the tiles come.
#include "random_matrix.hpp"
//
#include <attest/streaming.hpp>
#include <cmath>
#include <limits>

#include "reference_rule.hpp"

namespace {
using namespace attest;
using namespace tests;

// What the merges add to the bound of attention: M·u·(2·Σ p_j |v_j − o| + 3·Σ p_j |v_j| + |o|), the
// first sum at most Σ p_j |v_j| + |o|; and where numbers underflow, an exponential and its product
// with a total of n keys, two quotients and two products with means.
template <class T, size_t Tq, size_t Tk, size_t D, size_t Dv, class Visible>
Reals bound_of_merges(size_t merges, const Matrix<T, Tq, D>& q, const Matrix<T, Tk, D>& k,
                      const Matrix<T, Tk, Dv>& v, const Visible& visible,
                      const ReferenceAttention& exact) {
  Matrix<T, Tk, Dv> magnitudes;
  Real largest;
  for (size_t j = 0; j < Tk; ++j)
    for (size_t t = 0; t < Dv; ++t) {
      magnitudes[j][t] = std::abs(v[j][t]);
      if (Real(magnitudes[j][t]) > largest) largest = Real(magnitudes[j][t]);
    }
  const auto weighed = reference_attention(q, k, magnitudes, visible).output;
  Reals bound = weighed;
  for (size_t i = 0; i < Tq; ++i)
    for (size_t t = 0; t < Dv; ++t)
      bound[i][t] = merges * (higher_orders * unit_roundoff<T> *
                                  (5 * weighed[i][t] + 3 * abs(exact.output[i][t])) +
                              smallest<T> * (2 + 2 * (Tk + 2) * largest));
  return bound;
}

template <class T, size_t Tq, size_t Dv>
void within(const Matrix<T, Tq, Dv>& output, const ReferenceAttention& exact, const Reals& more) {
  for (size_t i = 0; i < Tq; ++i)
    for (size_t t = 0; t < Dv; ++t)
      RC_ASSERT(abs(Real(Real(output[i][t]) - exact.output[i][t])) <=
                exact.bound[i][t] + more[i][t]);
}

template <class T, size_t Tq, size_t Tk, size_t D, size_t Dv, size_t tile>
void laws_of_a_tile() {
  constexpr size_t merges = (Tk + tile - 1) / tile - 1;
  rc::prop("the error is within the bound, whatever is hidden", [] {
    const auto q = numbers<T, Tq, D>();
    const auto k = numbers<T, Tk, D>();
    const auto v = numbers<T, Tk, Dv>();
    const auto mask = masks<Tq, Tk>();
    const auto judge = [&](const auto& visible) {
      const auto sees_it = [&](size_t i, size_t j) { return sees(visible, i, j); };
      const auto exact = reference_attention(q, k, v, sees_it);
      within(streaming_attention<tile>(Query{q}, Key{k}, Value{v}, visible), exact,
             bound_of_merges(merges, q, k, v, sees_it, exact));
    };
    judge(everything);
    judge(causal);
    judge(mask);
  });
  rc::prop("hidden keys and values are not read, be they NaN", [] {
    const Query q{numbers<T, Tq, D>()};
    Key k{numbers<T, Tk, D>()};
    Value v{numbers<T, Tk, Dv>()};
    const auto t = index_below(Tk);
    const auto before = streaming_attention<tile>(q, k, v, causal);
    for (size_t j = t + 1; j < Tk; ++j) {
      for (T& x : k.matrix[j]) x = std::numeric_limits<T>::quiet_NaN();
      for (T& x : v.matrix[j]) x = std::numeric_limits<T>::infinity();
    }
    const auto after = streaming_attention<tile>(q, k, v, causal);
    for (size_t i = 0; i < Tq && i <= t; ++i)
      for (size_t c = 0; c < Dv; ++c) RC_ASSERT(after[i][c] == before[i][c]);
  });
  rc::prop("a row without a key is zeros and ln 0, in the middle of others", [] {
    const Query q{numbers<T, Tq, D>()};
    auto mask = masks<Tq, Tk>();
    const auto i = index_below(Tq);
    for (bool& visible : mask[i]) visible = false;
    const auto result = streaming_attention_with_log_sum_exp<tile>(
        q, Key{numbers<T, Tk, D>()}, Value{numbers<T, Tk, Dv>()}, mask);
    for (T x : result.output[i]) RC_ASSERT(x == T(0));
    RC_ASSERT(result.log_sum_exp[i] == -std::numeric_limits<T>::infinity());
  });
  // The total errs, relatively, by no more than that of attention and 3·u for each merge.
  rc::prop("log-sum-exp is that of attention, but for roundings", [] {
    const auto q = numbers<T, Tq, D>();
    const auto k = numbers<T, Tk, D>();
    const Value v{numbers<T, Tk, Dv>()};
    const auto a = attention_with_log_sum_exp(Query{q}, Key{k}, v, causal);
    const auto b = streaming_attention_with_log_sum_exp<tile>(Query{q}, Key{k}, v, causal);
    const Real u = unit_roundoff<T>;
    for (size_t i = 0; i < Tq; ++i) {
      // Both start from the same scores: each total errs by its sum and exponentials, the
      // logarithm and the last sum round.
      const Real each = u * (2 * Tk + 2 + log(Real(Tk)) + abs(Real(a.log_sum_exp[i])));
      RC_ASSERT(abs(Real(Real(a.log_sum_exp[i]) - Real(b.log_sum_exp[i]))) <=
                higher_orders * (2 * each + 3 * merges * u) + 4 * smallest<T>);
    }
  });
}

template <class T>
void laws_of_merging() {
  constexpr size_t Tq = 3, B = 4, D = 3, Dv = 2;
  using Partial = PartialAttention<T, Tq, Dv>;
  const auto tiles = [] {
    const Query q{numbers<T, Tq, D>()};
    std::vector<Partial> partial;
    for (size_t n = 0; n < 5; ++n)
      partial.push_back(partial_attention(q, Key{numbers<T, B, D>()}, Value{numbers<T, B, Dv>()}, 0,
                                          masks<Tq, B>()));
    return partial;
  };
  rc::prop("merge commutes, to the bit, and nothing is neutral", [=] {
    const auto partial = tiles();
    RC_ASSERT(merge(partial[0], partial[1]) == merge(partial[1], partial[0]));
    RC_ASSERT(merge(partial[0], Partial{}) == partial[0]);
    RC_ASSERT(merge(Partial{}, partial[0]) == partial[0]);
  });
  rc::prop("tiles in any order, pairwise or one by one, are within the bound", [] {
    const auto q = numbers<T, Tq, D>();
    const auto k = numbers<T, 4 * B, D>();
    const auto v = numbers<T, 4 * B, Dv>();
    const auto mask = masks<Tq, 4 * B>();
    std::vector<Partial> partial;
    for (size_t n : order_of(4)) {
      Key<T, B, D> tile_k;
      Value<T, B, Dv> tile_v;
      for (size_t j = 0; j < B; ++j) {
        for (size_t c = 0; c < D; ++c) tile_k.matrix[j][c] = k[n * B + j][c];
        for (size_t c = 0; c < Dv; ++c) tile_v.matrix[j][c] = v[n * B + j][c];
      }
      partial.push_back(partial_attention(Query{q}, tile_k, tile_v, 0,
                                          [&](size_t i, size_t j) { return mask[i][n * B + j]; }));
    }
    const auto visible = [&](size_t i, size_t j) { return mask[i][j]; };
    const auto exact = reference_attention(q, k, v, visible);
    const auto more = bound_of_merges(3, q, k, v, visible, exact);
    within(finish(merge(merge(merge(partial[0], partial[1]), partial[2]), partial[3])), exact,
           more);
    within(finish(merge(merge(partial[0], partial[1]), merge(partial[2], partial[3]))), exact,
           more);
  });
  rc::prop("a tile that holds all keys is attention, to the bit", [] {
    const Query q{numbers<T, Tq, D>()};
    const Key k{numbers<T, 37, D>()};
    const Value v{numbers<T, 37, Dv>()};
    RC_ASSERT(streaming_attention<37>(q, k, v, causal_after(20)) ==
              attention(q, k, v, causal_after(20)));
    RC_ASSERT(streaming_attention<64>(q, k, v) == attention(q, k, v));
  });
  rc::prop("S5: scores from one end of the range to the other", [] {
    constexpr Rule at_the_end{.scale = Scale::of(std::numeric_limits<T>::max())};
    const Query q{matrix({{T(1)}})};
    const Key k{integers<T, 6, 1>(1)};
    const Value v{integers<T, 6, 1>(20)};
    const T streamed = streaming_attention<1, at_the_end>(q, k, v)[0][0];
    const T whole = attention<at_the_end>(q, k, v)[0][0];
    // Scores without error, weights 0 or equal: 2·(n + 1)·u·20 for attention, n = 6; and for each
    // of five merges 8·u·20 besides.
    RC_ASSERT(abs(Real(Real(streamed) - Real(whole))) <=
              higher_orders * unit_roundoff<T> * 20 * (2 * 2 * (6 + 1) + 5 * 8));
  });
}

// The rule as it is and with a mask, a bias and a sink, in tiles, against a hundred digits.
template <Rule rule, class T>
void within_the_bound_under_a_rule() {
  constexpr size_t Tq = 3, Tk = 8, D = 4, Dv = 2, tile = 3, merges = 2;
  const auto q = numbers<T, Tq, D>();
  const auto k = numbers<T, Tk, D>();
  const auto v = numbers<T, Tk, Dv>();
  auto mask = masks<Tq, Tk>();
  for (auto& row : mask.entries) row[4] = true;  // no row is empty
  const auto bias = numbers<T, Tq, Tk>();
  const T sink = numbers<T, 1, 1>()[0][0];
  Real largest;
  for (const auto& row : v.entries)
    for (T x : row)
      if (abs(Real(x)) > largest) largest = abs(Real(x));
  const auto judge = [&](const auto& result, const CallParts<T, Tq, Tk>& parts, size_t joined) {
    const ReferenceRuled exact = reference_attention(rule, q, k, v, parts);
    // 5·Σ p_j |v_j| + 3·|o| is at most eight times the largest value.
    const Real more = joined * (higher_orders * 8 * unit_roundoff<T> * largest +
                                smallest<T> * (2 + 2 * (Tk + 2) * largest));
    for (size_t i = 0; i < Tq; ++i) {
      RC_ASSERT(!exact.empty[i]);
      for (size_t t = 0; t < Dv; ++t)
        RC_ASSERT(abs(Real(Real(result.output[i][t]) - exact.output[i][t])) <=
                  exact.bound[i][t] + more);
      const Real in_base = rule.log_sum_exp_base == LogBase::e ? Real(1) : 1 / log(Real(2));
      RC_ASSERT(abs(Real(Real(result.log_sum_exp[i]) - exact.log_sum_exp[i])) <=
                exact.log_sum_exp_bound[i] +
                    higher_orders * 3 * joined * in_base * unit_roundoff<T>);
    }
  };
  judge(streaming_attention_with_log_sum_exp<tile, rule>(Query{q}, Key{k}, Value{v}, mask),
        {.mask = &mask}, merges);
  judge(streaming_attention_with_log_sum_exp<tile, rule>(Query{q}, Key{k}, Value{v}, mask, bias,
                                                         Sink{sink}),
        {.mask = &mask, .bias = &bias, .sink = &sink}, merges + 1);
}
template <Rule rule>
void within_the_bound_in_every_type() {
  rc::prop("float", within_the_bound_under_a_rule<rule, float>);
  rc::prop("double", within_the_bound_under_a_rule<rule, double>);
}

}  // namespace

TEST_CASE("streaming attention in float", "[streaming]") {
  SECTION("tiles of one key") {
    laws_of_a_tile<float, 4, 7, 4, 3, 1>();
  }
  SECTION("tiles of two keys, the last one of one") {
    laws_of_a_tile<float, 4, 7, 4, 3, 2>();
  }
  SECTION("tiles of five of forty-three keys") {
    laws_of_a_tile<float, 2, 43, 3, 2, 5>();
  }
  SECTION("one tile larger than all keys") {
    laws_of_a_tile<float, 4, 7, 4, 3, 16>();
  }
}

TEST_CASE("streaming attention in double", "[streaming]") {
  SECTION("tiles of one key") {
    laws_of_a_tile<double, 3, 6, 2, 2, 1>();
  }
  SECTION("tiles of three keys") {
    laws_of_a_tile<double, 3, 8, 5, 2, 3>();
  }
}

TEST_CASE("partial results merge, in float", "[streaming]") {
  laws_of_merging<float>();
}
TEST_CASE("partial results merge, in double", "[streaming]") {
  laws_of_merging<double>();
}

TEST_CASE("streaming attention under rules", "[streaming]") {
  SECTION("a softcap, the logarithm to base two") {
    within_the_bound_in_every_type<Rule{.softcap = 2.5, .log_sum_exp_base = LogBase::two}>();
  }
  SECTION("a softcap after the mask: hidden tiles count") {
    within_the_bound_in_every_type<Rule{.softcap = 2.5,
                                        .softcap_place = SoftcapPlace::after_mask}>();
  }
  SECTION("causal, with a window and an offset") {
    within_the_bound_in_every_type<Rule{.causal = true, .offset = 4, .window_left = 3}>();
  }
  SECTION("ALiBi") {
    within_the_bound_in_every_type<Rule{.alibi = true, .offset = 5}>();
  }
}
