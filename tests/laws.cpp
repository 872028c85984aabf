// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Every law on random calls, in every number type: each try takes one of several rules and shapes,
// and numbers and a mask of its own.
#include "random_matrix.hpp"
//
#include <algorithm>
#include <attest/heads.hpp>
#include <attest/laws.hpp>
#include <ostream>

namespace {
using namespace attest;
using namespace tests;

// Numbers that a type holds, so that their sums do too: integers of a few bits times a unit.
template <class T>
struct FewBits {
  static constexpr int largest = 1 << 10;
  static constexpr double unit = 0x1p-8;
};
template <>
struct FewBits<bfloat16> {
  static constexpr int largest = 60;
  static constexpr double unit = 0x1p-5;
};
template <>
struct FewBits<float8_e4m3fn> {
  static constexpr int largest = 7;
  static constexpr double unit = 0x1p-3;
};
template <>
struct FewBits<float8_e5m2> {
  static constexpr int largest = 3;
  static constexpr double unit = 0x1p-3;
};
template <int F>  // no sum of products or of exponentials saturates
struct FewBits<fixed<std::int16_t, F>> {
  static constexpr int largest = 16;
  static constexpr double unit = 0x1p-5;
};

template <class T, size_t R, size_t C>
Matrix<T, R, C> few_bits(int part = 1) {
  constexpr int largest = FewBits<T>::largest;
  return random_integers(R, C, largest / part, FewBits<T>::unit).template as<T, R, C>();
}

// attention<rule> with a mask of the call's, and the error it may have.
template <Rule rule, class Visible = Everything>
auto attention_within_bound(const Visible& mask = {}) {
  return laws::Within{[mask](const auto& q, const auto& k, const auto& v) {
                        return attention<rule>(q, k, v, mask);
                      },
                      [mask](const auto& q, const auto& k, const auto& v) {
                        return attention_error_bound<rule>(q, k, v, mask);
                      }};
}

template <Rule rule>
constexpr bool depends_on_positions =
    rule.causal || rule.alibi || rule.window_left >= 0 || rule.window_right >= 0;

constexpr Rule scaled_by(Rule rule, double scale) {
  rule.scale = Scale::of(scale);
  return rule;
}

// One random call under one rule, and every law that speaks of such a rule.
template <Rule rule, class T, size_t Tq, size_t Tk, size_t D, size_t Dv>
struct Laws {
  const Query<T, Tq, D> q{few_bits<T, Tq, D>()};
  const Key<T, Tk, D> k{few_bits<T, Tk, D>()}, other_k{few_bits<T, Tk, D>()};
  const Value<T, Tk, Dv> v{few_bits<T, Tk, Dv>(4)}, other_v{few_bits<T, Tk, Dv>(4)};
  const Matrix<bool, Tq, Tk> mask = masks<Tq, Tk>();
  const VisibleToRule<rule, Matrix<bool, Tq, Tk>, NoBias> visible{mask, no_bias, 0};

  void weights() const {
    const auto computed = attention_weights<rule>(q, k, mask);
    RC_ASSERT(laws::rows_sum_to_one(computed, visible));
    RC_ASSERT(laws::weights_are_positive(computed, visible));
  }

  void outputs() const {
    const auto attend = attention_within_bound<rule>(mask);
    RC_ASSERT(laws::outputs_lie_in_the_convex_hull(attend, q, k, v, visible));
    const T a = T(integer_in(-2, 3)), b = T(integer_in(-2, 3));
    RC_ASSERT(laws::linearity_in_values(attend, q, k, v, other_v, a, b));
    if constexpr (!rule.alibi) RC_ASSERT(laws::zero_scores_average(attend, q, k, v, visible));
    if constexpr (rule.softcap == 0)
      RC_ASSERT(laws::shift_invariance(attend, q, k, v, few_bits<T, 1, D>().entries[0]));
    if constexpr (rule.softcap == 0 && !rule.alibi && !rule.scale_by_square_roots)
      RC_ASSERT(laws::scale_law(attention_within_bound<scaled_by(rule, 0.5)>(),
                                attention_within_bound<scaled_by(rule, 1)>(), q, k, v, T(2)));
  }

  void orders() const {
    if constexpr (!depends_on_positions<rule>) {
      size_t order_of_queries[Tq], order_of_keys[Tk];
      const auto queries = order_of(Tq);
      const auto keys = order_of(Tk);
      std::copy(queries.begin(), queries.end(), order_of_queries);
      std::copy(keys.begin(), keys.end(), order_of_keys);
      const auto attend = attention_within_bound<rule>();
      RC_ASSERT(laws::permutation_equivariance(attend, q, k, v, order_of_queries));
      RC_ASSERT(laws::key_value_permutation_invariance(attend, q, k, v, order_of_keys));
    }
  }

  void hidden() const {
    RC_ASSERT(laws::hidden_keys_change_nothing(attention_within_bound<rule>(mask), q, k, v, other_k,
                                               other_v, visible));
    const auto attend = attention_within_bound<rule>();
    if constexpr (rule.causal)
      RC_ASSERT(laws::causality(attend, q, k, v, other_k, other_v, rule.offset));
    if constexpr (rule.window_left >= 0 && rule.window_right >= 0)
      RC_ASSERT(laws::window_locality(attend, q, k, v, other_k, other_v, rule.window_left,
                                      rule.window_right, rule.offset));
  }

  void heads_and_batches() const {
    const Heads queries{q, Query<T, Tq, D>{few_bits<T, Tq, D>()},
                        Query<T, Tq, D>{few_bits<T, Tq, D>()}, q};
    const Heads keys{k, other_k};
    const Heads values{v, other_v};
    const auto in_heads = [](const auto& a, const auto& b, const auto& c) {
      return attention<rule>(a, b, c);
    };
    if constexpr (!rule.alibi) {  // each head has a slope of its own
      RC_ASSERT(laws::head_independence<rule>(in_heads, in_heads, queries, keys, values));
      RC_ASSERT(
          laws::grouped_heads_are_repeated_heads<rule>(in_heads, in_heads, queries, keys, values));
    }
    RC_ASSERT(laws::batch_independence(in_heads, in_heads, Batch{q, q}, Batch{k, other_k},
                                       Batch{v, other_v}));
  }
};

// A rule and a shape: of those listed, each try takes one. The first is the simplest: failures
// shrink towards it.
template <class T>
struct Case {
  const char* name;
  void (*weights)();
  void (*outputs)();
  void (*orders)();
  void (*hidden)();
  void (*heads_and_batches)();
};
template <Rule rule, class T, size_t Tq, size_t Tk, size_t D, size_t Dv>
constexpr Case<T> case_of(const char* name) {
  using Call = Laws<rule, T, Tq, Tk, D, Dv>;
  return {name,
          [] { Call{}.weights(); },
          [] { Call{}.outputs(); },
          [] { Call{}.orders(); },
          [] { Call{}.hidden(); },
          [] { Call{}.heads_and_batches(); }};
}

template <class T, size_t N>
void hold_in(const Case<T> (&cases)[N]) {
  const auto one_of = [&cases](void (*Case<T>::*law)()) {
    const Case<T>& taken = cases[any_of(N)];
    RC_LOG() << taken.name << std::endl;
    (taken.*law)();
  };
  rc::prop("S21, S17: weights", [&] { one_of(&Case<T>::weights); });
  rc::prop("S1, S21: outputs", [&] { one_of(&Case<T>::outputs); });
  rc::prop("S8: orders", [&] { one_of(&Case<T>::orders); });
  rc::prop("S10: what is hidden", [&] { one_of(&Case<T>::hidden); });
  rc::prop("S11, S12: heads and batches", [&] { one_of(&Case<T>::heads_and_batches); });
}

inline constexpr Rule plain{};
inline constexpr Rule capped{.softcap = 1.5};
inline constexpr Rule capped_last{
    .scale = Scale::of(0.25), .softcap = 2, .head_map = HeadMap::tiled};
inline constexpr Rule causal_after_two{.causal = true, .offset = 2};
inline constexpr Rule behind{.offset = 1, .window_left = 1, .window_right = 0};
inline constexpr Rule around{.scale_by_square_roots = true, .window_left = 2, .window_right = 1};
inline constexpr Rule alibi_before{.alibi = true, .causal = true, .offset = -1};

// What every number type can do.
template <class T>
void hold() {
  static constexpr Case<T> cases[] = {
      case_of<plain, T, 1, 1, 1, 1>("one query, one key"),
      case_of<capped, T, 3, 5, 4, 2>("softcap, three queries, five keys"),
      case_of<behind, T, 4, 4, 3, 3>("window, four tokens"),
      case_of<causal_after_two, T, 2, 6, 2, 1>("causal, two queries, six keys"),
  };
  hold_in(cases);
}
// More of it, for those whose rows are worked on in vectors.
template <class T>
void hold_in_vectors() {
  static constexpr Case<T> cases[] = {
      case_of<plain, T, 1, 2, 1, 1>("one query, two keys"),
      case_of<capped_last, T, 5, 3, 2, 4>("scale, softcap, tiled heads, five queries, three keys"),
      case_of<around, T, 9, 7, 3, 2>("roots of the scale, window, nine queries, seven keys"),
      case_of<alibi_before, T, 6, 6, 4, 3>("ALiBi, causal before the query, six tokens"),
      case_of<plain, T, 2, 37, 9, 5>("37 keys"),
      case_of<causal_after_two, T, 11, 33, 8, 16>("causal, eleven queries, 33 keys"),
      case_of<behind, T, 17, 16, 5, 8>("window, 17 queries, 16 keys"),
  };
  hold_in(cases);
}

}  // namespace

TEST_CASE("the laws hold in float") {
  SECTION("what every type can do") {
    hold<float>();
  }
  SECTION("in vectors") {
    hold_in_vectors<float>();
  }
}
TEST_CASE("the laws hold in double") {
  SECTION("what every type can do") {
    hold<double>();
  }
  SECTION("in vectors") {
    hold_in_vectors<double>();
  }
}
TEST_CASE("the laws hold in float16") {
  hold<float16>();
}
TEST_CASE("the laws hold in bfloat16") {
  hold<bfloat16>();
}
TEST_CASE("the laws hold in float8_e4m3fn") {
  hold<float8_e4m3fn>();
}
TEST_CASE("the laws hold in float8_e5m2") {
  hold<float8_e5m2>();
}
TEST_CASE("the laws hold in fixed point of 16 bits") {
  hold<fixed<std::int16_t, 11>>();
}
