// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Attention to a few keys at a time is attention, however the keys are cut. Partial results are
// merged by an operation that is associative, commutes and has a neutral element; with exact
// fractions and the weight 2^x on integer scores (exact.hpp) == is meant, and every cut is tried.
#include <attest/exact.hpp>
#include <attest/streaming.hpp>
#include <limits>
#include <type_traits>

namespace {
using namespace attest;
using Rational = small_rational;

constexpr size_t tokens = 6;
constexpr Query Q{matrix<Rational>({{1, 0}, {0, -1}, {2, 1}, {-1, 2}})};
constexpr Key K{matrix<Rational>({{1, 1}, {0, 2}, {-1, 0}, {3, -1}, {2, 2}, {0, -3}})};
constexpr Value V{matrix<Rational>({{5, 0}, {1, -4}, {0, 3}, {-2, 7}, {9, 1}, {-6, -1}})};
using Partial = PartialAttention<Rational, 4, 2>;

// Rules that hide keys, at the edge of tiles and all of a tile.
constexpr Rule banded{.scale = Scale::of(1), .causal = true, .window_left = 1};
constexpr Rule shifted{.scale = Scale::of(-1), .window_left = 2, .window_right = 0};
constexpr auto scattered = matrix({{false, false, true, false, false, true},
                                   {true, true, false, false, true, false},
                                   {false, false, false, false, false, false},
                                   {true, true, true, true, true, true}});

template <size_t length, class M>
constexpr auto rows_from(const M& m, size_t first) {
  Matrix<typename M::value_type, length, M::columns> part;
  for (size_t i = 0; i < length; ++i)
    for (size_t t = 0; t < M::columns; ++t) part[i][t] = m[first + i][t];
  return part;
}

// What the queries have of keys first … last, for each such pair.
struct Tiles {
  Partial from_to[tokens][tokens];
};
template <Rule rule, size_t last, size_t length>
constexpr void add_tiles_of(Tiles& tiles, const auto& mask) {
  constexpr size_t first = last + 1 - length;
  tiles.from_to[first][last] = partial_attention<rule>(
      Q, Key{rows_from<length>(K.matrix, first)}, Value{rows_from<length>(V.matrix, first)}, first,
      [&](size_t i, size_t j) { return sees(mask, i, first + j); });
  if constexpr (length <= last)
    add_tiles_of<rule, last, length + 1>(tiles, mask);
  else if constexpr (last > 0)
    add_tiles_of<rule, last - 1, 1>(tiles, mask);
}
template <Rule rule>
constexpr Tiles all_tiles(const auto& mask) {
  Tiles tiles;
  add_tiles_of<rule, tokens - 1, 1>(tiles, mask);
  return tiles;
}

// The first keys are cut behind key j where bit j of `cuts` is set: of six all 2^5 ways.
constexpr bool every_tiling_is(const Tiles& tiles, const Matrix<Rational, 4, 2>& whole,
                               size_t keys = tokens) {
  for (unsigned cuts = 0; cuts < 1u << (keys - 1); ++cuts) {
    Partial met;
    size_t first = 0;
    for (size_t j = 0; j < keys; ++j)
      if (j + 1 == keys || (cuts >> j & 1u) != 0) {
        met = merge(met, tiles.from_to[first][j]);
        first = j + 1;
      }
    if (finish<unscaled>(met) != whole) return false;
  }
  return true;
}
constexpr auto plain = all_tiles<unscaled>(everything);
constexpr auto with_band = all_tiles<banded>(everything);
constexpr auto with_shift = all_tiles<shifted>(everything);
constexpr auto with_mask = all_tiles<unscaled>(scattered);
static_assert(every_tiling_is(plain, attention<unscaled>(Q, K, V)),
              "attention to tiles, merged, is attention: all 32 tilings of 6 keys");
static_assert(every_tiling_is(with_band, attention<banded>(Q, K, V)),
              "under causality and a window, which hide whole tiles");
static_assert(every_tiling_is(with_shift, attention<shifted>(Q, K, V)),
              "under a window to both sides and a negative scale");
static_assert(every_tiling_is(with_mask, attention<unscaled>(Q, K, V, scattered)),
              "under a mask with a query that sees nothing");
static_assert(!every_tiling_is(plain, attention<banded>(Q, K, V)), "the check can fail");
template <size_t keys>
constexpr bool every_tiling_of = [] {
  const Key key{rows_from<keys>(K.matrix, 0)};
  const Value value{rows_from<keys>(V.matrix, 0)};
  return every_tiling_is(plain, attention<unscaled>(Q, key, value), keys) &&
         every_tiling_is(with_band, attention<banded>(Q, key, value), keys);
}();
static_assert(every_tiling_of<1> && every_tiling_of<2> && every_tiling_of<3> &&
                  every_tiling_of<4> && every_tiling_of<5>,
              "and all 31 tilings of fewer keys");

// Tiles may come in any order: merge is associative, commutes, and what has met no key is neutral.
constexpr bool is_a_commutative_monoid(const Tiles& tiles) {
  const Partial nothing;
  for (size_t a = 0; a < tokens; ++a)
    for (size_t b = a; b < tokens; ++b) {
      const Partial& x = tiles.from_to[a][b];
      if (!(merge(x, nothing) == x && merge(nothing, x) == x)) return false;
      for (size_t c = b + 1; c < tokens; ++c) {
        const Partial& y = tiles.from_to[b + 1][c];
        if (!(merge(x, y) == merge(y, x) && merge(x, y) == tiles.from_to[a][c])) return false;
        for (size_t d = c + 1; d < tokens; ++d) {
          const Partial& z = tiles.from_to[c + 1][d];
          if (!(merge(merge(x, y), z) == merge(x, merge(y, z)))) return false;
        }
      }
    }
  return true;
}
static_assert(is_a_commutative_monoid(plain) && is_a_commutative_monoid(with_band) &&
                  is_a_commutative_monoid(with_mask),
              "partial results are a commutative monoid, and tiles its homomorphism");

// In tiles of every size, the last tile shorter, longer than all keys.
constexpr Sink sink{Rational(2)};
constexpr auto bias = matrix<Rational>(
    {{0, 1, -1, 2, 0, 0}, {3, 0, 0, -2, 1, 1}, {0, 0, 4, 0, 0, -1}, {1, -3, 0, 0, 2, 0}});
template <size_t tile>
constexpr bool streams_in_tiles_of =
    streaming_attention<tile, unscaled>(Q, K, V) == attention<unscaled>(Q, K, V) &&
    streaming_attention<tile, banded>(Q, K, V) == attention<banded>(Q, K, V) &&
    streaming_attention<tile, unscaled>(Q, K, V, scattered, bias,
                                        sink) == attention<unscaled>(Q, K, V, scattered, bias,
                                                                     sink);
static_assert(streams_in_tiles_of<1> && streams_in_tiles_of<2> && streams_in_tiles_of<3> &&
                  streams_in_tiles_of<4> && streams_in_tiles_of<5> && streams_in_tiles_of<6> &&
                  streams_in_tiles_of<100>,
              "tiles of any size, with mask, bias and sink");
static_assert(finish<unscaled>(merge(plain.from_to[0][2], plain.from_to[3][5]), sink) ==
                  attention<unscaled>(Q, K, V, everything, no_bias, sink),
              "the sink joins once, at the end");

// Rows without a key are what the rule says, be the keys met in tiles or not.
constexpr Query qf{matrix({{0.3f, -1.2f}, {2.5f, 0.7f}})};
constexpr Key kf{matrix({{1.1f, 0.2f}, {-0.6f, 1.7f}, {0.8f, -0.5f}, {0.4f, 0.1f}})};
constexpr Value vf{matrix({{0.1f}, {1.5f}, {-2.2f}, {0.7f}})};
constexpr auto second_half = matrix({{false, false, false, false}, {false, false, true, true}});
constexpr auto with_nan = streaming_attention_with_log_sum_exp<2, Rule{.empty_row = EmptyRow::nan}>(
    qf, kf, vf, second_half);
static_assert(with_nan.output[0][0] != with_nan.output[0][0] &&
                  with_nan.output[1][0] == attention(qf, kf, vf, second_half)[1][0],
              "NaN; and a hidden tile before a visible one leaves no trace");
static_assert(with_nan.log_sum_exp[0] == -std::numeric_limits<float>::infinity() &&
                  with_nan.log_sum_exp[1] ==
                      attention_with_log_sum_exp(qf, kf, vf, second_half).log_sum_exp[1],
              "ln 0, not NaN");
constexpr Rule mean_of_all{.empty_row = EmptyRow::mean};
static_assert(streaming_attention<3, mean_of_all>(qf, kf, vf, second_half)[0][0] ==
                  attention<mean_of_all>(qf, kf, vf, second_half)[0][0],
              "the mean of all values");

// A softcap after the mask gives hidden keys scores: a tile of hidden keys counts.
constexpr Rule capped_after{
    .scale = Scale::of(1), .softcap = 2, .softcap_place = SoftcapPlace::after_mask};
static_assert(streaming_attention<4, capped_after>(qf, kf, vf, second_half) ==
                      attention<capped_after>(qf, kf, vf, second_half) &&
                  streaming_attention<2, capped_after>(qf, kf, vf, second_half)[0][0] != 0.f,
              "-softcap is a score");

// In floats a tile of all keys is attention to the bit; and means stay in the hull of the values,
// so that four values of 2^127 are averaged in tiles of two.
static_assert(streaming_attention<4>(qf, kf, vf, causal) == attention(qf, kf, vf, causal));
static_assert(
    streaming_attention<2>(Query<float, 1, 2>{}, Key<float, 4, 2>{},
                           Value{matrix({{0x1p127f}, {0x1p127f}, {0x1p127f}, {0x1p127f}})}) ==
        matrix({{0x1p127f}}),
    "values at the end of the range do not overflow");

// In heads: head h is streamed alone.
constexpr Heads heads_q{qf, qf};
constexpr auto in_heads =
    streaming_attention<3, Rule{.alibi = true}>(heads_q, Heads{kf}, Heads{vf});
static_assert(in_heads[1] == streaming_attention<3>(qf, kf, vf, everything, Alibi{0x1p-8f}) &&
                  in_heads[0] == streaming_attention<3>(qf, kf, vf, everything, Alibi{0x1p-4f}),
              "with its slope");

static_assert(streaming_attention_with_log_sum_exp<3, Rule{.alibi = true}>(heads_q, Heads{kf},
                                                                           Heads{vf})[0]
                          .log_sum_exp[1] == streaming_attention_with_log_sum_exp<3>(qf, kf, vf,
                                                                                     everything,
                                                                                     Alibi{0x1p-4f})
                                                 .log_sum_exp[1] &&
                  streaming_attention_with_log_sum_exp<3, Rule{.alibi = true}>(heads_q, Heads{kf},
                                                                               Heads{vf})[1]
                          .output == in_heads[1],
              "log-sum-exp too");

// S12: in a batch, element n is streamed alone; without heads and with them.
constexpr Batch two_q{qf, Query{-2.f * qf.matrix}};
constexpr auto in_batch = streaming_attention_with_log_sum_exp<3>(two_q, kf, Batch{vf, vf});
static_assert(streaming_attention<3>(two_q, kf, vf, Batch{second_half, second_half})[1] ==
                      streaming_attention<3>(two_q[1], kf, vf, second_half) &&
                  in_batch[1].output == streaming_attention<3>(two_q[1], kf, vf) &&
                  in_batch[1].log_sum_exp[0] ==
                      streaming_attention_with_log_sum_exp<3>(two_q[1], kf, vf).log_sum_exp[0] &&
                  in_batch[0].output != in_batch[1].output,
              "S12: without heads");
static_assert(streaming_attention<3, Rule{.alibi = true}>(Batch{heads_q}, Heads{kf},
                                                          Batch{Heads{vf}})[0] == in_heads,
              "S12: with heads");

// Heads meet tiles as a head does: in exact numbers the whole, whatever their masks and sinks. Two
// key/value heads for four query heads, keys 0 to 3 and then 4 and 5.
constexpr Heads<Query<Rational, 4, 2>, 4> four_q{Q, Query{Rational(-1) * Q.matrix}, Q,
                                                 Query{Rational(2) * Q.matrix}};
constexpr Heads two_k{K, Key{Rational(-1) * K.matrix}};
constexpr Heads two_v{V, Value{Rational(3) * V.matrix}};
template <size_t length, template <class, size_t, size_t> class Role, class T, size_t R, size_t C>
constexpr Heads<Role<T, length, C>, 2> part_of(const Heads<Role<T, R, C>, 2>& roles, size_t first) {
  return {Role{rows_from<length>(roles[0].matrix, first)},
          Role{rows_from<length>(roles[1].matrix, first)}};
}
constexpr auto first_four =
    partial_attention<banded>(four_q, part_of<4>(two_k, 0), part_of<4>(two_v, 0));
constexpr auto last_two =
    partial_attention<banded>(four_q, part_of<2>(two_k, 4), part_of<2>(two_v, 4), 4);
static_assert(first_four[3] == partial_attention<banded>(four_q[3],
                                                         Key{rows_from<4>(two_k[1].matrix, 0)},
                                                         Value{rows_from<4>(two_v[1].matrix, 0)}),
              "S11: a partial result for each query head");
constexpr Heads four_sinks{Sink{Rational(1)}, Sink{Rational(-2)}, Sink{Rational(0)},
                           Sink{Rational(3)}};
static_assert(finish<unscaled>(merge(first_four, last_two)) ==
                      attention<banded>(four_q, two_k, two_v) &&
                  finish<unscaled>(merge(last_two, first_four), four_sinks) ==
                      attention<banded>(four_q, two_k, two_v, everything, no_bias, four_sinks),
              "S11: merged head by head they are the whole");
constexpr auto tile_of_heads =
    partial_attention<Rule{.alibi = true}>(heads_q, Heads{kf}, Heads{vf}, 2);
static_assert(tile_of_heads[1] ==
                      partial_attention(qf, kf, vf, 2, everything, Alibi{0x1p-8f, -2}) &&
                  tile_of_heads[0] ==
                      partial_attention(qf, kf, vf, 2, everything, Alibi{0x1p-4f, -2}),
              "ALiBi: the slope of the head, and distances from where the tile begins");
static_assert(
    finish_with_log_sum_exp(tile_of_heads, Heads{Sink{1.f}, Sink{2.f}})[1].log_sum_exp[0] ==
        finish_with_log_sum_exp(tile_of_heads[1], Sink{2.f}).log_sum_exp[0],
    "log-sum-exp too");

// S12: a batch meets tiles as its elements do, with heads and without, with parts of its own or
// shared.
constexpr Batch two_four_q{four_q, Heads{four_q[3], four_q[2], four_q[1], four_q[0]}};
constexpr Batch two_v_shifted{part_of<4>(two_v, 0), part_of<4>(two_v, 2)};
constexpr auto batch_of_first =
    partial_attention<unscaled>(two_four_q, part_of<4>(two_k, 0), two_v_shifted);
constexpr auto batch_of_last =
    partial_attention<unscaled>(two_four_q, part_of<2>(two_k, 4), part_of<2>(two_v, 4), 4);
static_assert(std::is_same_v<decltype(batch_of_first), const Batch<Heads<Partial, 4>, 2>>,
              "S12: a partial result for each query head of each sequence");
static_assert(batch_of_first[1] == partial_attention<unscaled>(two_four_q[1], part_of<4>(two_k, 0),
                                                               two_v_shifted[1]) &&
                  batch_of_last[1] == partial_attention<unscaled>(two_four_q[1],
                                                                  part_of<2>(two_k, 4),
                                                                  part_of<2>(two_v, 4), 4),
              "S12: that which it has alone");
constexpr auto batch_of_all = merge(batch_of_first, batch_of_last);
static_assert(batch_of_all == Batch{merge(batch_of_first[0], batch_of_last[0]),
                                    merge(batch_of_first[1], batch_of_last[1])} &&
                  finish<unscaled>(batch_of_all, four_sinks)[0] ==
                      attention<unscaled>(four_q, two_k, two_v, everything, no_bias, four_sinks) &&
                  finish<unscaled>(batch_of_all, Batch{sink, Sink{Rational(-2)}})[1] ==
                      finish<unscaled>(batch_of_all[1], Sink{Rational(-2)}),
              "S12: merged and finished, each for itself");
constexpr auto without_heads =
    partial_attention(two_q, kf, Batch{vf, vf}, 2, Batch{second_half, second_half});
static_assert(without_heads[1] == partial_attention(two_q[1], kf, vf, 2, second_half) &&
                  finish_with_log_sum_exp(without_heads, Sink{1.f})[0].log_sum_exp[1] ==
                      finish_with_log_sum_exp(without_heads[0], Sink{1.f}).log_sum_exp[1],
              "S12: without heads, with log-sum-exp");

// A tile knows its place among the keys: ALiBi measures from there. And what has met no key is
// nothing, whatever a rule returns for it in the end.
constexpr auto two_keys_on = matrix({{-2 * 0x1p-8f, -3 * 0x1p-8f, -4 * 0x1p-8f, -5 * 0x1p-8f},
                                     {-1 * 0x1p-8f, -2 * 0x1p-8f, -3 * 0x1p-8f, -4 * 0x1p-8f}});
static_assert(partial_attention<Rule{.alibi = true}>(qf, kf, vf, 2).mean ==
                  attention(qf, kf, vf, everything, two_keys_on),
              "distances to keys 2 to 5");
constexpr auto hidden = [](size_t, size_t) { return false; };
static_assert(partial_attention<mean_of_all>(qf, kf, vf, 0, hidden) ==
                      PartialAttention<float, 2, 1>{} &&
                  partial_attention<Rule{.empty_row = EmptyRow::nan}>(qf, kf, vf, 0, hidden) ==
                      PartialAttention<float, 2, 1>{},
              "nothing met is nothing");

template <size_t tile>
concept can_stream = requires {
  streaming_attention<tile>(qf, kf, vf);
};
static_assert(can_stream<1> && !can_stream<0>, "a tile holds a key");
template <Rule rule>
concept can_finish = requires(const PartialAttention<float, 1, 1>& partial) {
  finish<rule>(partial);
};
template <size_t sinks>
concept can_finish_with_sinks = requires(const Batch<PartialAttention<float, 1, 1>, 2>& partial,
                                         const Batch<Sink<float>, sinks>& sink_each) {
  finish(partial, sink_each);
  finish_with_log_sum_exp(partial, sink_each);
};
static_assert(can_finish_with_sinks<2> && !can_finish_with_sinks<3>, "a sink for each sequence");
static_assert(can_finish<unscaled> && !can_finish<mean_of_all>,
              "the mean of all values is not in a partial result");

}  // namespace
