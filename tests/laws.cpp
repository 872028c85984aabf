// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Every law on random calls, in every number type: each try takes one of several rules and shapes,
// and numbers and a mask of its own.
#include "random_matrix.hpp"
//
#include <algorithm>
#include <attest/cache.hpp>
#include <attest/gradient.hpp>
#include <attest/hard.hpp>
#include <attest/heads.hpp>
#include <attest/laws.hpp>
#include <attest/streaming.hpp>
#include <cmath>
#include <ostream>
#include <type_traits>

#include "rounded_matrix.hpp"

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

// How far the attention to keys met in parts is from that to scores as computed, entry by entry,
// whatever the parts and the order of the merges.
//
// Each output is Σ_j p_j θ_j v_j plus a few underflows; L bounds |ln θ_j|, R the same of a total,
// A what underflows amount to. With g = −ln(1 − u) for each rounding, a the largest difference of
// two scores, η half the smallest number or half a unit, V the largest value, n keys in a part:
//   an exponential errs by a·u + 2·g, its total by n·g more, a weight by its own, its total's and
//   g, an output by n + 1 roundings more. A merge rescales a total, a·u + 3·g, adds, g, divides, g,
//   and weighs two outputs, 2·g. What underflows is at most η, of totals of 1 or more.
template <class T>
struct BoundOfParts {
  double u = unit_roundoff<T>, g = -std::log1p(-u);
  double eta = smallest_number<T> / 2 + half_unit<T>;
  double a, V, n, R, L, A;

  BoundOfParts(double apart, double largest_value, double keys_of_a_part)
      : a(apart), V(largest_value), n(keys_of_a_part) {
    const double exponential = a * u + 2 * g;
    R = exponential + n * g + lost(2 * n * eta);
    const double weight = exponential + R + g;
    L = weight + (n + 1) * g;
    A = n * std::exp(L) * (3 * eta * V + eta);
  }
  void merge(double all_keys) {
    const double rescaled = R + a * u + 3 * g;
    const double underflow = eta * (2 * all_keys * std::exp(R) + 1);
    const double total = rescaled + g + lost(underflow);
    const double share = rescaled + total + g;
    L += share + 2 * g;
    A = std::exp(share + 2 * g) * A + 2 * std::exp(L) * V * (underflow + eta) + 2 * eta;
    R = total;
  }
  double bound() const { return std::expm1(L) * V + A; }

 private:
  static double lost(double relative) { return relative < 1 ? -std::log1p(-relative) : HUGE_VAL; }
};
template <Rule rule, size_t part, size_t merges, class T, size_t Tq, size_t Tk, size_t D, size_t Dv>
Matrix<double, Tq, Dv> bound_of_parts(const Query<T, Tq, D>& q, const Key<T, Tk, D>& k,
                                      const Value<T, Tk, Dv>& v) {
  double lowest = HUGE_VAL, highest = -HUGE_VAL, largest_value = 0;
  const auto scores = attention_scores<rule>(q, k);
  for (const auto& row : scores.entries)
    for (const T& score : row) {
      lowest = std::fmin(lowest, static_cast<double>(score));
      highest = std::fmax(highest, static_cast<double>(score));
    }
  for (const auto& row : v.matrix.entries)
    for (const T& value : row)
      largest_value = std::fmax(largest_value, std::fabs(static_cast<double>(value)));
  BoundOfParts<T> parts(highest - lowest, largest_value, part < Tk ? part : Tk);
  for (size_t n = 0; n < merges; ++n) parts.merge(Tk);
  Matrix<double, Tq, Dv> bounds;
  for (auto& row : bounds.entries)
    for (double& bound : row) bound = parts.bound();
  return bounds;
}

// The keys from `from` on, with their values.
template <size_t length, template <class, size_t, size_t> class Role, class T, size_t R, size_t C>
Role<T, length, C> rows_from(const Role<T, R, C>& m, size_t from) {
  Role<T, length, C> part;
  for (size_t i = 0; i < length; ++i)
    for (size_t t = 0; t < C; ++t) part.matrix[i][t] = m.matrix[from + i][t];
  return part;
}

template <Rule rule>
constexpr bool depends_on_positions =
    rule.causal || rule.alibi || rule.window_left >= 0 || rule.window_right >= 0;

constexpr Rule scaled_by(Rule rule, double scale) {
  rule.scale = Scale::of(scale);
  return rule;
}
// Of the last `queries` of `keys` tokens, none of which sees a later one.
constexpr Rule of_the_newest(Rule rule, size_t queries, size_t keys) {
  rule.causal = true;
  rule.offset = static_cast<long>(keys) - static_cast<long>(queries);
  return rule;
}
constexpr Rule without_offset(Rule rule) {
  rule.offset = 0;
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

  // What a value moves must not be less than what its rounding does: not in eight bits.
  void reach() const {
    if constexpr (unit_roundoff<T> <= 0x1p-8) {
      Query<T, Tq, D> nearly_indifferent = q;
      for (auto& row : nearly_indifferent.matrix.entries)
        for (T& entry : row) entry = T(0x1p-5) * entry;
      RC_ASSERT(laws::every_visible_key_matters(attention_within_bound<rule>(mask),
                                                nearly_indifferent, k, v, visible));
    }
  }

  void limit() const {
    if constexpr (rule.softcap == 0 && !rule.alibi && !rule.scale_by_square_roots) {
      RC_ASSERT(laws::hard_attention_is_the_limit(attention_within_bound<scaled_by(rule, 4)>(mask),
                                                  q, k, v, T(4), visible));
      RC_ASSERT(laws::hard_attention_is_the_limit(
          attention_within_bound<scaled_by(rule, 0.25)>(mask), q, k, v, T(0.25), visible));
    }
  }

  // Keys in tiles, in three parts, and one token after the other from a cache.
  template <size_t tile>
  void in_tiles_of() const {
    const auto whole =
        laws::Within{[](const auto&... parts) { return attention<rule>(parts...); },
                     [](const auto&... parts) { return bound_of_parts<rule, Tk, 0>(parts...); }};
    const auto in_tiles =
        laws::Within{[](const auto&... parts) { return streaming_attention<tile, rule>(parts...); },
                     [](const auto&... parts) {
                       return bound_of_parts<rule, tile, (Tk + tile - 1) / tile - 1>(parts...);
                     }};
    RC_ASSERT(laws::two_ways_agree(in_tiles, whole, q, k, v));
  }
  void tiles() const {
    in_tiles_of<1>();
    in_tiles_of<2>();
    in_tiles_of<5>();
  }
  void merges() const {
    const auto merged = [](const auto& a, const auto& b) { return merge(a, b); };
    if constexpr (Tk >= 3) {
      constexpr size_t third = Tk / 3, rest = Tk - 2 * third;
      const auto part = [](const auto& a, const auto& b, const auto& c, auto length, size_t from) {
        return partial_attention<rule>(a, rows_from<length()>(b, from),
                                       rows_from<length()>(c, from), static_cast<long>(from));
      };
      using Third = std::integral_constant<size_t, third>;
      using Rest = std::integral_constant<size_t, rest>;
      RC_ASSERT(laws::merge_is_commutative(merged, part(q, k, v, Third{}, 0),
                                           part(q, k, v, Rest{}, 2 * third)));
      const auto within = [](const auto& order) {
        return laws::Within{
            order, [](const auto&... parts) { return bound_of_parts<rule, rest, 2>(parts...); }};
      };
      const auto first_two = within([&](const auto& a, const auto& b, const auto& c) {
        return finish(merge(merge(part(a, b, c, Third{}, 0), part(a, b, c, Third{}, third)),
                            part(a, b, c, Rest{}, 2 * third)));
      });
      const auto last_two = within([&](const auto& a, const auto& b, const auto& c) {
        return finish(merge(part(a, b, c, Third{}, 0), merge(part(a, b, c, Third{}, third),
                                                             part(a, b, c, Rest{}, 2 * third))));
      });
      RC_ASSERT(laws::two_ways_agree(first_two, last_two, q, k, v));
    }
  }
  void cached() const {
    if constexpr (Tq <= Tk) {
      const auto whole = [](const auto& a, const auto& b, const auto& c) {
        return attention<of_the_newest(rule, Tq, Tk)>(a, b, c);
      };
      const auto from_a_cache = [](const auto& a, const auto& b, const auto& c) {
        constexpr Rule one_at_a_time = without_offset(of_the_newest(rule, Tq, Tk));
        KeyValueCache<T, Tk, D, Dv> cache;
        Matrix<T, Tq, Dv> output;
        for (size_t j = 0; j < Tk; ++j) {
          RC_ASSERT(cache.append(b.matrix.entries[j], c.matrix.entries[j]));
          if (j + Tq < Tk) continue;
          const size_t i = j + Tq - Tk;
          const auto row = attention<one_at_a_time>(rows_from<1>(a, i), cache);
          for (size_t t = 0; t < Dv; ++t) output[i][t] = row[0][t];
        }
        return output;
      };
      RC_ASSERT(laws::two_ways_agree(from_a_cache, whole, q, k, v));
    }
  }

  // By the values, in which attention is linear: any difference is exact, here of attention in
  // double. A weight errs as an output does where values are 1 for one key and 0 for the others,
  // and so do their products with m output gradients and the sum of them, by m + 1 roundings.
  void gradient() const {
    const auto d_output = few_bits<T, Tq, Dv>(4);
    const auto d_value = attention_gradient<rule>(q, k, v, d_output, mask).value;
    RC_ASSERT(d_value == transpose(attention_weights<rule>(q, k, mask)) * d_output);
    const auto number = [&](const Matrix<T, Tk, Dv>& values) {
      const auto output = attention<rule>(Query{widened(q.matrix)}, Key{widened(k.matrix)},
                                          Value{widened(values)}, mask);
      double sum = 0;
      for (size_t i = 0; i < Tq; ++i)
        for (size_t t = 0; t < Dv; ++t) sum += static_cast<double>(d_output[i][t]) * output[i][t];
      return sum;
    };
    const Value one_for_each_key{identity<T, Tk>()};
    const auto of_weights = attention_error_bound<rule>(q, k, one_for_each_key, mask);
    constexpr double roundings = (Tq + 1) * unit_roundoff<T>;
    double tolerance = 0;
    for (size_t j = 0; j < Tk; ++j)
      for (size_t t = 0; t < Dv; ++t) {
        double off = Tq * (smallest_number<T> + half_unit<T>);
        for (size_t i = 0; i < Tq; ++i) {
          const double matters = std::fabs(static_cast<double>(d_output[i][t]));
          const double error = of_weights[i][j];
          if (matters != 0) off += matters * (error + (1 + error) * std::expm1(2 * roundings));
        }
        tolerance = std::fmax(tolerance, off);
      }
    RC_ASSERT(laws::gradient_is_finite_difference(number, v.matrix, d_value, FewBits<T>::unit,
                                                  tolerance + 1e-9));
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
  void (*limits)();
  void (*ways)();
};
template <Rule rule, class T, size_t Tq, size_t Tk, size_t D, size_t Dv>
constexpr Case<T> case_of(const char* name) {
  using Call = Laws<rule, T, Tq, Tk, D, Dv>;
  return {name,
          [] { Call{}.weights(); },
          [] { Call{}.outputs(); },
          [] { Call{}.orders(); },
          [] { Call{}.hidden(); },
          [] { Call{}.heads_and_batches(); },
          [] {
            const Call call;
            call.reach();
            call.limit();
            call.gradient();
          },
          [] {
            const Call call;
            call.tiles();
            call.merges();
            call.cached();
          }};
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
  rc::prop("S17, S22: the hard limit, one step, gradients", [&] { one_of(&Case<T>::limits); });
  rc::prop("tiles, merges, a cache", [&] { one_of(&Case<T>::ways); });
  CHECK(laws::variance_over_signs<T, 1>([](const auto& q, const auto& k) { return dot(q, k); }) ==
        T(1));
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
