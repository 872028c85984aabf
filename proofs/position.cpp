// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Position must be added: without it attention answers shuffled tokens with the same answers,
// shuffled. Turned by exact angles, and with the weight 2^x on integer scores, the laws hold with
// ==; of sines and cosines they hold up to the error that the header states.
#include <attest/attention.hpp>
#include <attest/exact.hpp>
#include <attest/heads.hpp>
#include <attest/position.hpp>

namespace {
using namespace attest;
using Rational = small_rational;

// Row i of a matrix is token perm[i] of another.
template <class T, size_t C>
constexpr Matrix<T, 4, C> rows_of(const Matrix<T, 4, C>& m, const size_t (&perm)[4]) {
  Matrix<T, 4, C> result;
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < C; ++j) result[i][j] = m[perm[i]][j];
  return result;
}
// How many of the 24 orders of four tokens a statement holds for.
constexpr int orders_for_which(auto&& holds) {
  int count = 0;
  for (size_t code = 0; code < 24; ++code) {
    size_t left[] = {0, 1, 2, 3}, perm[4] = {};
    for (size_t i = 0, c = code; i < 4; ++i) {
      const size_t choices = 4 - i, pick = c % choices;
      c /= choices;
      perm[i] = left[pick];
      for (size_t j = pick; j + 1 < choices; ++j) left[j] = left[j + 1];
    }
    if (holds(perm)) ++count;
  }
  return count;
}
// For how many of them shuffled tokens get the same answers, shuffled.
template <class T, size_t C>
constexpr int orders_that_only_shuffle(const Matrix<T, 4, C>& tokens, auto&& answers) {
  const auto in_order = answers(tokens);
  return orders_for_which(
      [&](const auto& perm) { return answers(rows_of(tokens, perm)) == rows_of(in_order, perm); });
}

// Four tokens that attend to one another as they are.
constexpr auto tokens =
    matrix<Rational>({{1, 0, 2, 1}, {0, -1, 1, 0}, {2, 1, 0, -1}, {0, 1, 1, 1}});
constexpr auto attend_to_one_another = [](const auto& x) {
  return attention<unscaled>(Query{x}, Key{x}, Value{x});
};
static_assert(orders_that_only_shuffle(tokens, attend_to_one_another) == 24,
              "S18: without positions attention is permutation equivariant: it knows no order");

// A table of positions, added: of all orders only the one in which the tokens stand gives the same
// answers.
constexpr auto table = matrix<Rational>({{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}});
static_assert(orders_that_only_shuffle(tokens,
                                       [](const auto& x) {
                                         return attend_to_one_another(
                                             with_learned_positions(x, table));
                                       }) == 1,
              "S18: learned positions break permutation equivariance");

// Rotary, exactly: pairs that turn by a quarter and by a half from token to token. After four
// tokens they are back where they were, so that the tokens stand in a circle: that it has a first
// token is the one thing they do not say.
constexpr AngleTable<Rational, 4, 4> quarters_and_halves{
    {{{1, 1}, {0, 0}}, {{0, -1}, {1, 0}}, {{-1, 1}, {0, 0}}, {{0, -1}, {-1, 0}}}};
constexpr auto turned_by_quarters = [](const auto& x) {
  return attention<unscaled>(rotated(Query{x}, quarters_and_halves),
                             rotated(Key{x}, quarters_and_halves), Value{x});
};
static_assert(orders_that_only_shuffle(tokens, turned_by_quarters) == 4,
              "S18: rotary embeddings break permutation equivariance, but for turning the circle");

// ALiBi measures distance without direction: the tokens in reverse are as far apart as before, and
// only the causal mask tells the two orders apart.
constexpr Alibi alibi{Rational(1)};
constexpr auto with_alibi = [](const auto& visible) {
  return [visible](const auto& x) {
    return attention<unscaled>(Query{x}, Key{x}, Value{x}, visible, alibi);
  };
};
static_assert(orders_that_only_shuffle(tokens, with_alibi(everything)) == 2,
              "S18: ALiBi breaks permutation equivariance, but for the reverse order");
static_assert(orders_that_only_shuffle(tokens, with_alibi(causal)) == 1,
              "S18: causal ALiBi breaks permutation equivariance");
static_assert(orders_that_only_shuffle(tokens,
                                       [](const auto& x) {
                                         return attention<unscaled>(Query{x}, Key{x}, Value{x},
                                                                    causal);
                                       }) == 1,
              "a causal mask is a position, too");

// Sinusoidal, in double. Entries are below 2.4 in magnitude, so that scores are below 24 and
// attention's φ_j < 5·u·24 + 48·u + u < 200·u; an output is off by less than 200·u·4.8 + 5·u·4.8 <
// 2·10^-13. Without positions shuffled answers differ by no more than twice that, with them by more
// than a hundredth in some entry, whatever the order.
constexpr double farthest(const auto& a, const auto& b) {
  double distance = 0;
  for (size_t i = 0; i < 4; ++i)
    for (size_t t = 0; t < 4; ++t) {
      const double d = a[i][t] < b[i][t] ? b[i][t] - a[i][t] : a[i][t] - b[i][t];
      distance = d > distance ? d : distance;
    }
  return distance;
}
constexpr auto x = matrix(
    {{0.4, -1.1, 0.7, 0.2}, {1.3, 0.5, -0.6, 0.9}, {-0.8, 0.1, 1.2, -0.3}, {0.6, 1.4, 0.3, -1.0}});
template <Pairing pairing>
constexpr auto with_sinusoids = [](const auto& a) {
  return attend_to_one_another(a + sinusoidal_positions<double, 4, 4, pairing>());
};
template <size_t C>
constexpr int orders_that_differ_by(double least, const Matrix<double, 4, C>& a, auto&& answers) {
  const auto in_order = answers(a);
  return orders_for_which([&](const auto& perm) {
    return farthest(answers(rows_of(a, perm)), rows_of(in_order, perm)) > least;
  });
}
static_assert(orders_that_differ_by(1e-12, x, attend_to_one_another) == 0,
              "S18: without positions, the same answers shuffled");
static_assert(orders_that_differ_by(0.01, x, with_sinusoids<Pairing::interleaved>) == 23,
              "S18: sinusoidal positions break permutation equivariance");
static_assert(orders_that_differ_by(0.01, x, with_sinusoids<Pairing::halves>) == 23,
              "S18: sinusoidal positions break permutation equivariance");

// The angles of a rotary embedding have no common period: no order but one.
template <Pairing pairing>
constexpr auto with_rotary = [](const auto& a) {
  return attention(rotated<pairing>(Query{a}, angles<double, 4>()),
                   rotated<pairing>(Key{a}, angles<double, 4>()), Value{a});
};
static_assert(orders_that_differ_by(0.01, x, with_rotary<Pairing::interleaved>) == 23,
              "S18: rotary embeddings break permutation equivariance");
static_assert(orders_that_differ_by(0.01, x, with_rotary<Pairing::halves>) == 23,
              "S18: rotary embeddings break permutation equivariance");

// The sinusoids of positions 0 to 2, width 4: frequencies 1 and 1/100. Sines and cosines of 1, 2,
// 0.01 and 0.02 as mpmath rounds them from 200 bits.
constexpr auto sinusoids = sinusoidal_positions<float, 3, 4>();
static_assert(sinusoids ==
                  matrix({{0.f, 1.f, 0.f, 1.f},
                          {0x1.aed548p-1f, 0x1.14a28p-1f, 0x1.47acaep-7f, 0x1.fff972p-1f},
                          {0x1.d18f6ep-1f, -0x1.aa2266p-2f, 0x1.47a87cp-6f, 0x1.ffe5cap-1f}}),
              "PE(p, 2i) = sin(p / 10000^(2i/d)), PE(p, 2i + 1) = cos(p / 10000^(2i/d))");
static_assert(sinusoidal_positions<float, 3, 4, Pairing::halves>() ==
                  matrix({{0.f, 0.f, 1.f, 1.f},
                          {0x1.aed548p-1f, 0x1.47acaep-7f, 0x1.14a28p-1f, 0x1.fff972p-1f},
                          {0x1.d18f6ep-1f, 0x1.47a87cp-6f, -0x1.aa2266p-2f, 0x1.ffe5cap-1f}}),
              "all sines, then all cosines");
static_assert(sinusoidal_positions<float, 1, 4>(2)[0][0] == sinusoids[2][0] &&
                  sinusoidal_positions<float, 1, 4>(2)[0][3] == sinusoids[2][3],
              "a token alone stands where it stood among the others");

// A row added to a token, from where the cache ends.
static_assert(with_learned_positions(matrix<Rational>({{5, 5, 5, 5}}), table, 2) ==
                  matrix<Rational>({{5, 6, 5, 5}}),
              "token + table[position]");

// R_m with cosine and sine of m angles, each a multiple of one whose cosine and sine are rational:
// (3 + 4i)^m/5^m and (5 + 12i)^m/13^m, by hand.
constexpr AngleTable<Rational, 4, 4> pythagorean{
    {{{1, 1}, {0, 0}},
     {{{3, 5}, {5, 13}}, {{4, 5}, {12, 13}}},
     {{{-7, 25}, {-119, 169}}, {{24, 25}, {120, 169}}},
     {{{-117, 125}, {-2035, 2197}}, {{44, 125}, {-828, 2197}}}}};
constexpr Query q{matrix<Rational>({{2, -1, 3, 1, 7}})};
constexpr Key k{matrix<Rational>({{1, 4, -2, 5, -3}})};

template <Pairing pairing>
constexpr Rational product(size_t m, size_t n) {
  const auto query = rotated<pairing>(q, pythagorean, m);
  const auto key = rotated<pairing>(k, pythagorean, n);
  return dot(query.matrix[0], key.matrix[0]);
}
template <Pairing pairing>
constexpr bool depends_on_the_distance_alone() {
  for (size_t distance = 0; distance < 4; ++distance)
    for (size_t m = 0; m + distance < 4; ++m)
      if (product<pairing>(m, m + distance) != product<pairing>(0, distance) ||
          product<pairing>(m + distance, m) != product<pairing>(distance, 0))
        return false;
  return product<pairing>(0, 1) != product<pairing>(0, 2) &&
         product<pairing>(0, 1) != product<pairing>(1, 0);
}
static_assert(depends_on_the_distance_alone<Pairing::interleaved>(),
              "(R_m q).(R_n k) depends on n - m alone");
static_assert(depends_on_the_distance_alone<Pairing::halves>(),
              "(R_m q).(R_n k) depends on n - m alone");

constexpr bool norms_are_kept(auto&& turned) {
  for (size_t m = 0; m < 4; ++m) {
    const auto row = turned(m);
    if (dot(row.matrix[0], row.matrix[0]) != dot(q.matrix[0], q.matrix[0])) return false;
  }
  return true;
}
static_assert(norms_are_kept([](size_t m) { return rotated(q, pythagorean, m); }), "|R_m q| = |q|");

// Turning is linear, so that its gradient is its transpose, and that is its inverse: for any d and
// any change of q, d.(R_m change) = (R_m^T d).change.
constexpr auto d = matrix<Rational>({{3, 1, -2, 2, 5}});
template <Pairing pairing>
constexpr bool turning_back_is_the_gradient() {
  for (size_t m = 0; m < 4; ++m) {
    const auto gradient = rotated_gradient<pairing>(d, pythagorean, m);
    if (dot(d[0], rotated<pairing>(q, pythagorean, m).matrix[0]) != dot(gradient[0], q.matrix[0]))
      return false;
    if (rotated<pairing>(Query{gradient}, pythagorean, m).matrix != d) return false;
    for (size_t t = 0; t < 5; ++t) {
      Query<Rational, 1, 5> change;
      change.matrix[0][t] = Rational(1);
      if (dot(d[0], rotated<pairing>(change, pythagorean, m).matrix[0]) != gradient[0][t])
        return false;
    }
  }
  return true;
}
static_assert(turning_back_is_the_gradient<Pairing::interleaved>() &&
                  turning_back_is_the_gradient<Pairing::halves>(),
              "d(R_m q) turned back is d q");
static_assert(rotated_gradient(Heads{d, Matrix<Rational, 1, 5>{}}, pythagorean, 3)[0] ==
                  rotated_gradient(d, pythagorean, 3),
              "a head's gradient is turned back as it would be alone");

// One step by hand, both pairings; the fifth entry is beyond the angles and stays.
static_assert(rotated(q, pythagorean, 1) == Query{matrix<Rational>({{{2 * 3 + 1 * 4, 5},
                                                                     {2 * 4 - 1 * 3, 5},
                                                                     {3 * 5 - 1 * 12, 13},
                                                                     {3 * 12 + 1 * 5, 13},
                                                                     7}})},
              "(a cos - b sin, a sin + b cos) of entries 2i and 2i + 1");
static_assert(rotated<Pairing::halves>(q, pythagorean, 1) ==
                  Query{matrix<Rational>({{{2 * 3 - 3 * 4, 5},
                                           {-1 * 5 - 1 * 12, 13},
                                           {2 * 4 + 3 * 3, 5},
                                           {-1 * 12 + 1 * 5, 13},
                                           7}})},
              "(a cos - b sin, a sin + b cos) of entries i and i + d/2");
static_assert(rotated(q, pythagorean, 0) == q, "position 0 does not turn");

// Computed angles and a table of them are the same to the bit, wherever the first token stands.
constexpr auto four = angles<float, 4>();
constexpr Key<float, 3, 6> keys{matrix({{0.3f, -1.2f, 2.5f, 0.7f, 1.f, 2.f},
                                        {-0.4f, 0.9f, 1.1f, 0.2f, 3.f, 4.f},
                                        {-0.6f, 1.7f, 0.8f, -0.5f, 5.f, 6.f}})};
static_assert(rotated(keys, four, 5) == rotated(keys, table_of<8>(four), 5),
              "a table in flash gives the same bits");
static_assert(rotated(keys, four, 5) != rotated(keys, four, 4));
static_assert(rotated(keys, four).matrix[2][4] == 5 && rotated(keys, four).matrix[2][5] == 6,
              "entries behind the turned ones stay");

// Heads turn alike, each as it would alone.
constexpr Heads two_heads{keys, Key{2.f * keys.matrix}};
static_assert(rotated<Pairing::halves>(two_heads, four, 7) ==
                  Heads{rotated<Pairing::halves>(two_heads[0], four, 7),
                        rotated<Pairing::halves>(two_heads[1], four, 7)},
              "a head is turned as it would be alone");

// Only queries and keys turn, in their own type of number, and only entries that are there.
static_assert(can_turn<Query<float, 3, 4>, Angles<float, 4>> &&
              can_turn<Key<float, 3, 4>, AngleTable<float, 9, 2>>);
static_assert(!can_turn<Value<float, 3, 4>, Angles<float, 4>>, "what is handed over does not turn");
static_assert(!can_turn<Matrix<float, 3, 4>, Angles<float, 4>>, "a token is not yet a query");
static_assert(!can_turn<Query<float, 3, 4>, Angles<float, 6>>, "six of four entries");
static_assert(!can_turn<Query<float, 3, 4>, Angles<double, 4>>, "float and double");
static_assert(!can_turn<Query<float, 3, 4>, Matrix<float, 3, 4>>, "a matrix is no angle");
static_assert(!entries_come_in_pairs<5>);

}  // namespace
