// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Where a token stands: sinusoidal and learned positions, added to the tokens; rotary embeddings,
// which turn queries and keys. Attention alone does not know (ALiBi, a bias on the scores, is in
// bias.hpp).
#pragma once
#include <attest/concepts.hpp>
#include <attest/exp.hpp>
#include <attest/heads.hpp>
#include <attest/log.hpp>
#include <attest/matrix.hpp>
#include <attest/roles.hpp>
#include <attest/sincos.hpp>

namespace attest {

// Which two entries of a row belong to one frequency. `interleaved`: 2i and 2i + 1 (Vaswani et al.
// 2017; Su et al. 2021; ONNX's interleaved = 1). `halves`: i and i + width/2 (tensor2tensor;
// GPT-NeoX, Llama in Hugging Face's form; ONNX's default).
enum class Pairing { interleaved, halves };

template <Pairing pairing, size_t Width>
constexpr size_t first_of_pair(size_t pair) {
  return pairing == Pairing::interleaved ? 2 * pair : pair;
}
template <Pairing pairing, size_t Width>
constexpr size_t second_of_pair(size_t pair) {
  return pairing == Pairing::interleaved ? 2 * pair + 1 : pair + Width / 2;
}

template <size_t Width>
concept entries_come_in_pairs = Width % 2 == 0;

// Sine and cosine of an angle, rounded to T: to float by arithmetic of half the width, within u·(1
// + 2^-36); to other types by way of double, within u + 2^-53 of themselves.
template <class T>
constexpr T sine_of_angle(double angle) {
  if constexpr (is_same_type<T, float>)
    if (0x1p-27 <= angle && angle < 0x1p63) return shifted_sin<T>(angle, 0);
  return T(sin(angle));
}
template <class T>
constexpr T cosine_of_angle(double angle) {
  if constexpr (is_same_type<T, float>)
    if (0x1p-27 <= angle && angle < 0x1p63) return shifted_sin<T>(angle, 1);
  return T(cos(angle));
}

// Cosine and sine of the angle of each pair, at one position.
template <class T, size_t Pairs>
struct Turn {
  using value_type = T;
  static constexpr size_t width = 2 * Pairs;

  T cosine[Pairs]{};
  T sine[Pairs]{};
};

// The angles p·ω_i of a position p, computed when asked for: pair i of `Width` entries has the
// frequency ω_i = base^(−2i/Width).
//
// The frequency is 2^(−(2i·log₂ base)/Width) in double. log₂, product and quotient round, each by
// a factor 1 ± u, u = 2^-53, in an exponent that makes λ_i = (2i/Width)·|ln base| of the result;
// 2^x rounds to nearest. The angle rounds once more. To first order,
//   |computed frequency − ω_i| ≤ (1 + 3·λ_i)·u·ω_i,
//   |computed angle − p·ω_i| ≤ (2 + 3·λ_i)·u·p·ω_i, for p below 2^53,
// which no base ≥ 1 makes more than 2.2·u·p, for (2 + 3λ)·e^(−λ) ≤ 3·e^(−1/3): 2.5·10^-10 for a
// million tokens, where the same in float would be off by up to 0.13. One constant evaluation
// has room for 320 positions of width 16 in float.
template <class T, size_t Width>
requires entries_come_in_pairs<Width>
struct Angles {
  using value_type = T;
  static constexpr size_t width = Width;

  double frequency[Width / 2]{};

  constexpr Turn<T, Width / 2> at(size_t position) const {
    Turn<T, Width / 2> turn;
    for (size_t i = 0; i < Width / 2; ++i) {
      const double angle = static_cast<double>(position) * frequency[i];
      turn.cosine[i] = cosine_of_angle<T>(angle);
      turn.sine[i] = sine_of_angle<T>(angle);
    }
    return turn;
  }
};
template <class T, size_t Width>
requires entries_come_in_pairs<Width>
constexpr Angles<T, Width> angles(double base = 10000) {  // base > 0
  const double octaves = log2(base);
  Angles<T, Width> result;
  for (size_t i = 0; i < Width / 2; ++i)
    result.frequency[i] =
        exp2(-(static_cast<double>(2 * i) * octaves / static_cast<double>(Width)));
  return result;
}

// The same for the first `Positions` positions, kept instead of computed: a table in flash, or the
// cos_cache and sin_cache of ONNX. Whatever else has width, value_type and at(position) will do.
template <class T, size_t Positions, size_t Width>
requires entries_come_in_pairs<Width>
struct AngleTable {
  using value_type = T;
  static constexpr size_t width = Width;

  Turn<T, Width / 2> turn[Positions]{};

  constexpr const Turn<T, Width / 2>& at(size_t position) const { return turn[position]; }
};
template <size_t Positions, class T, size_t Width>
constexpr AngleTable<T, Positions, Width> table_of(const Angles<T, Width>& angles) {
  AngleTable<T, Positions, Width> table;
  for (size_t p = 0; p < Positions; ++p) table.turn[p] = angles.at(p);
  return table;
}

template <class Angles>
concept turns_pairs_at_a_position = requires(const Angles& angles, size_t position) {
  typename Angles::value_type;
  Angles::width;
  angles.at(position).cosine[position];
  angles.at(position).sine[position];
};

// Positions to be added to `Tokens` tokens of which the first stands at first_position: the sine of
// each angle at the first entry of its pair, the cosine at the second (Vaswani et al., "Attention
// is all you need", 2017). A shift of all positions turns each pair by one angle, whatever the
// position, and the product of two rows depends on their distance alone.
//
// Error of an entry: that of the angle, and u for rounding it to T, 2^-53 more if T is not double.
template <class T, size_t Tokens, size_t Width, Pairing pairing = Pairing::interleaved>
requires entries_come_in_pairs<Width>
constexpr Matrix<T, Tokens, Width> sinusoidal_positions(size_t first_position = 0,
                                                        double base = 10000) {
  const auto of_pair = angles<T, Width>(base);
  Matrix<T, Tokens, Width> positions;
  for (size_t p = 0; p < Tokens; ++p) {
    const auto turn = of_pair.at(first_position + p);
    for (size_t i = 0; i < Width / 2; ++i) {
      positions.entries[p][first_of_pair<pairing, Width>(i)] = turn.sine[i];
      positions.entries[p][second_of_pair<pairing, Width>(i)] = turn.cosine[i];
    }
  }
  return positions;
}

// A table has a row for each position that can occur, as wide as a token.
template <size_t Tokens, size_t Positions>
concept no_more_tokens_than_positions = Tokens <= Positions;
template <size_t TokenWidth, size_t PositionWidth>
concept position_width_equals_token_width = TokenWidth == PositionWidth;

// The tokens with the learned positions of a table added, from row first_position on. Reading
// beyond the last row is undefined at run time and no constant expression.
template <class T, size_t Tokens, size_t Width, class U, size_t Positions, size_t PositionWidth>
requires same_number_type<T, U> && no_more_tokens_than_positions<Tokens, Positions> &&
    position_width_equals_token_width<Width, PositionWidth>
constexpr Matrix<T, Tokens, Width> with_learned_positions(
    const Matrix<T, Tokens, Width>& tokens, const Matrix<U, Positions, PositionWidth>& table,
    size_t first_position = 0) {
  Matrix<T, Tokens, Width> sum;
  for (size_t i = 0; i < Tokens; ++i)
    for (size_t t = 0; t < Width; ++t)
      sum.entries[i][t] = tokens.entries[i][t] + table.entries[first_position + i][t];
  return sum;
}

// Rotary embeddings belong between projection and product: values do not turn, and a matrix without
// a role has not yet become a query or a key.
template <class A>
concept only_queries_and_keys_turn = is_query<A> || is_key<A>;
template <size_t Turned, size_t Width>
concept no_more_entries_turn_than_there_are = Turned <= Width;
template <class A, class Angles>
concept can_turn = only_queries_and_keys_turn<A> && turns_pairs_at_a_position<Angles> &&
    same_number_type<typename A::value_type, typename Angles::value_type> &&
    no_more_entries_turn_than_there_are<Angles::width, A::columns>;

// One row, turned: (a, b) becomes (a·cos − b·sin, a·sin + b·cos). Entries behind the turned ones
// stay as they are.
template <Pairing pairing, class Turn, class T, size_t D>
constexpr void turn_row(const Turn& turn, T (&row)[D]) {
  constexpr size_t width = Turn::width;
  for (size_t i = 0; i < width / 2; ++i) {
    T& first = row[first_of_pair<pairing, width>(i)];
    T& second = row[second_of_pair<pairing, width>(i)];
    // Each product a statement of its own: clang contracts within a statement.
    const T a_cos = first * turn.cosine[i], b_sin = second * turn.sine[i];
    const T a_sin = first * turn.sine[i], b_cos = second * turn.cosine[i];
    first = a_cos - b_sin;
    second = a_sin + b_cos;
  }
}

// Queries or keys turned by their positions (Su et al., "RoFormer", 2021), of which the first is
// first_position: with keys in a cache, how many came before. The width of the angles is how many
// entries of a row turn, from the first on; it may be less than all of them (partial rotary).
//
// R_m, the rotation by the angles of position m, keeps every norm, and (R_m q)·(R_n k) = q·R_{n−m}
// k: scores depend on the distance of the two tokens, and not on where they stand.
//
// Error of a turned pair of length r, Δ the error of its angle and u the unit roundoff of T, to
// first order: each entry is off by at most (Δ + 3·u)·r, the pair by (Δ + 3·√2·u)·r as a vector,
// and its length by 3·√2·u·r. For each of the four products is a cosine or sine rounded, a
// rounding, and one for the sum; (|a·cos| + |b·sin|)² + (|a·sin| + |b·cos|)² ≤ 2·r²; and an angle
// that is off changes no length. (Rounding a cosine to double first adds 2^-53·r where T is not
// double.) So a product of a query's and a key's turned pair is off by (Δ_q + Δ_k + 6·√2·u)·r_q·r_k
// besides the error of the dot product.
template <Pairing pairing = Pairing::interleaved, class A, class Angles>
requires can_turn<A, Angles>
constexpr A rotated(const A& queries_or_keys, const Angles& angles, size_t first_position = 0) {
  A result = queries_or_keys;
  for (size_t i = 0; i < A::rows; ++i)
    turn_row<pairing>(angles.at(first_position + i), result.matrix.entries[i]);
  return result;
}

// The gradient of queries or keys, given that of the turned ones: turned back, R⁻¹ being Rᵀ. The
// error is that of turning.
template <class A, class Angles>
concept gradient_can_turn_back = turns_pairs_at_a_position<Angles> &&
    same_number_type<typename A::value_type, typename Angles::value_type> &&
    no_more_entries_turn_than_there_are<Angles::width, A::columns>;
template <Pairing pairing = Pairing::interleaved, class T, size_t R, size_t C, class Angles>
requires gradient_can_turn_back<Matrix<T, R, C>, Angles>
constexpr Matrix<T, R, C> rotated_gradient(const Matrix<T, R, C>& d_rotated, const Angles& angles,
                                           size_t first_position = 0) {
  Matrix<T, R, C> gradient = d_rotated;
  for (size_t i = 0; i < R; ++i) {
    auto turn = angles.at(first_position + i);
    for (T& sine : turn.sine) sine = -sine;
    turn_row<pairing>(turn, gradient.entries[i]);
  }
  return gradient;
}
template <Pairing pairing = Pairing::interleaved, class A, size_t H, class Angles>
requires gradient_can_turn_back<A, Angles>
constexpr Heads<A, H> rotated_gradient(const Heads<A, H>& d_rotated, const Angles& angles,
                                       size_t first_position = 0) {
  Heads<A, H> gradient;
  for (size_t h = 0; h < H; ++h)
    gradient.head[h] = rotated_gradient<pairing>(d_rotated.head[h], angles, first_position);
  return gradient;
}

// All heads turn alike: the sines of a position are computed once for all of them.
template <Pairing pairing = Pairing::interleaved, class A, size_t H, class Angles>
requires can_turn<A, Angles>
constexpr Heads<A, H> rotated(const Heads<A, H>& queries_or_keys, const Angles& angles,
                              size_t first_position = 0) {
  Heads<A, H> result = queries_or_keys;
  for (size_t i = 0; i < A::rows; ++i) {
    const auto& turn = angles.at(first_position + i);
    for (A& head : result.head) turn_row<pairing>(turn, head.matrix.entries[i]);
  }
  return result;
}

}  // namespace attest
