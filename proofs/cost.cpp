// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// S13: attention costs O(T²·d) operations, and what it performs is what cost.hpp says, whole, in
// heads, in tiles and from a cache: attention is run on numbers that count their own operations.
#include <attest/cost.hpp>

namespace {
template <size_t together>
struct CountedOf;
}
template <size_t together>
inline constexpr size_t attest::queries_at_once<CountedOf<together>> = together;

namespace {
using namespace attest;

struct Tally {
  size_t multiplications = 0, additions = 0, exponentials = 0, divisions = 0;
  size_t hyperbolic_tangents = 0;
};

// A number that reports every operation to the tally it was made with. Attention meets `together`
// queries at once.
template <size_t together>
struct CountedOf {
  using Counted = CountedOf;
  int value = 0;
  Tally* tally = nullptr;

  constexpr CountedOf() = default;
  constexpr CountedOf(int v) : value(v) {}
  explicit constexpr CountedOf(double v) : value(static_cast<int>(v)) {}
  constexpr CountedOf(int v, Tally* t) : value(v), tally(t) {}
  constexpr CountedOf(const Counted&) = default;
  // What has a tally keeps it when it is set to a plain 0, as softmax does with hidden entries.
  constexpr Counted& operator=(const Counted& x) {
    value = x.value;
    tally = either(*this, x);
    return *this;
  }

  friend constexpr Tally* either(const Counted& x, const Counted& y) {
    return y.tally ? y.tally : x.tally;
  }
  friend constexpr Counted operator*(const Counted& x, const Counted& y) {
    ++either(x, y)->multiplications;
    return {x.value * y.value, either(x, y)};
  }
  friend constexpr Counted operator+(const Counted& x, const Counted& y) {
    ++either(x, y)->additions;
    return {x.value + y.value, either(x, y)};
  }
  friend constexpr Counted operator-(const Counted& x, const Counted& y) {
    ++either(x, y)->additions;
    return {x.value - y.value, either(x, y)};
  }
  friend constexpr Counted operator/(const Counted& x, const Counted& y) {
    if (either(x, y)) ++either(x, y)->divisions;  // 1/n is a constant
    return {y.value == 0 ? 0 : x.value / y.value, either(x, y)};
  }
  friend constexpr Counted exp(const Counted& x) {
    ++x.tally->exponentials;
    return {x.value >= 0 ? 1 : 0, x.tally};
  }
  friend constexpr Counted tanh(const Counted& x) {
    ++x.tally->hyperbolic_tangents;
    return x;
  }
  // Scales are constants: their roots are no operations of attention.
  friend constexpr Counted sqrt(const Counted& x) { return x; }
  static constexpr Counted quiet_nan() { return {}; }

  friend constexpr bool operator>(const Counted& x, const Counted& y) { return x.value > y.value; }
  friend constexpr bool operator==(const Counted& x, const Counted& y) {
    return x.value == y.value;
  }
};

using Counted = CountedOf<1>;

constexpr bool is_the_cost(const Tally& tally, const Cost& cost) {
  return tally.multiplications == cost.multiplications && tally.additions == cost.additions &&
         tally.exponentials == cost.exponentials && tally.divisions == cost.divisions &&
         tally.hyperbolic_tangents == cost.hyperbolic_tangents;
}

// Small numbers that report to a tally.
template <class Number, size_t R, size_t C>
constexpr void fill(Matrix<Number, R, C>& matrix, Tally& tally) {
  int next = 0;
  for (auto& row : matrix.entries)
    for (Number& x : row) x = Number(next = (next * 5 + 3) % 7, &tally);
}

// A bias and a sink of integers, as those of a counted number.
template <class Number>
constexpr auto as(const auto& bias) {
  return [&bias](size_t i, size_t j) { return Number(bias(i, j)); };
}
template <class Number>
constexpr NoBias as(const NoBias& bias) {
  return bias;
}
template <class Number>
constexpr Sink<Number> as(const Sink<int>& sink) {
  return {Number(sink.score)};
}
template <class Number>
constexpr NoSink as(const NoSink& sink) {
  return sink;
}

template <class Number, size_t Tq, size_t Tk, size_t D, size_t Dv, Rule rule>
constexpr bool performs_what_it_costs_in(const auto& visible, const auto& given_bias,
                                         const auto& given_sink) {
  const auto bias = as<Number>(given_bias);
  const auto sink = as<Number>(given_sink);
  Tally tally;
  Query<Number, Tq, D> query;
  Key<Number, Tk, D> key;
  Value<Number, Tk, Dv> value;
  fill(query.matrix, tally), fill(key.matrix, tally), fill(value.matrix, tally);
  attention<rule>(query, key, value, visible, bias, sink);
  return is_the_cost(tally, attention_cost<rule>(query, key, value, visible, bias, sink));
}
// One query after the other, in pairs, and by four: the same operations.
template <size_t Tq, size_t Tk, size_t D, size_t Dv, Rule rule = unscaled>
constexpr bool performs_what_it_costs(const auto& visible, const auto& bias, const auto& sink) {
  return performs_what_it_costs_in<CountedOf<1>, Tq, Tk, D, Dv, rule>(visible, bias, sink) &&
         performs_what_it_costs_in<CountedOf<2>, Tq, Tk, D, Dv, rule>(visible, bias, sink) &&
         performs_what_it_costs_in<CountedOf<4>, Tq, Tk, D, Dv, rule>(visible, bias, sink);
}
template <size_t Tq, size_t Tk, size_t D, size_t Dv, Rule rule = unscaled>
constexpr bool performs_what_it_costs(const auto& visible) {
  return performs_what_it_costs<Tq, Tk, D, Dv, rule>(visible, no_bias, NoSink{});
}
static_assert(performs_what_it_costs<4, 4, 3, 3>(everything), "S13: self attention");
static_assert(performs_what_it_costs<2, 7, 9, 17>(everything),
              "S13: cross attention, d_v = 17, d_k = 9");
static_assert(performs_what_it_costs<5, 5, 3, 2>(causal), "S13: causal attention");
static_assert(performs_what_it_costs<2, 5, 3, 2>(causal_after(3)),
              "S13: two queries after three cached keys");
static_assert(performs_what_it_costs<2, 3, 4, 5>(matrix({{true, false, true},
                                                         {false, false, false}})),
              "S13: a mask, one query without a key");
static_assert(performs_what_it_costs<2, 75, 1, 1>(causal_after(40)),
              "S13: rows of more than twice 32 keys");
static_assert(attention_cost(Query<float, 2, 1>{}, Key<float, 4, 1>{}, Value<float, 4, 1>{},
                             matrix({{true, false, false, true}, {false, true, false, false}}))
                      .exponentials == 4 + 1,
              "S13: a hidden key between visible ones costs an exponential");

// Parts of a rule, a bias and a sink, with a row that sees no key.
constexpr auto one_row_empty = matrix({{true, false, true}, {false, false, false}});
constexpr auto three_rows = matrix({{false, true, false, true, true},
                                    {false, false, false, false, false},
                                    {true, true, true, false, false}});
constexpr Sink sink{3};
constexpr auto bias = [](size_t i, size_t j) { return static_cast<int>(i + j); };
constexpr auto one_hidden = matrix({{true, false, true}, {false, true, true}});
static_assert(
    performs_what_it_costs<2, 3, 4, 5, Rule{.scale = Scale::of(1), .softcap = 4}>(one_row_empty),
    "S13: a softcap costs a quotient, a hyperbolic tangent and a product");
static_assert(performs_what_it_costs<2, 3, 4, 5,
                                     Rule{.scale = Scale::of(1),
                                          .softcap = 4,
                                          .softcap_place = SoftcapPlace::after_mask}>(one_hidden),
              "S13: after the mask hidden keys cost an exponential, but no score");
static_assert(
    performs_what_it_costs<2, 3, 4, 5, Rule{.scale = Scale::of(4), .scale_by_square_roots = true}>(
        one_row_empty),
    "S13: scaling query and key costs 2 d products, not one");
static_assert(
    performs_what_it_costs<2, 3, 4, 5, Rule{.scale = Scale::of(1), .empty_row = EmptyRow::mean}>(
        one_row_empty) &&
        performs_what_it_costs<2, 3, 4, 5, Rule{.scale = Scale::of(1), .empty_row = EmptyRow::nan}>(
            one_row_empty),
    "S13: an empty row that is a mean or NaN");
static_assert(performs_what_it_costs<6, 6, 3, 2,
                                     Rule{.scale = Scale::of(1), .causal = true, .window_left = 2}>(
                  everything),
              "S13: a window");
static_assert(performs_what_it_costs<3, 5, 2, 4>(three_rows, bias, sink),
              "S13: a bias costs a sum, a sink an exponential");

constexpr auto one_hidden_of_five = matrix({{true, true, false, true, true},
                                            {true, true, true, true, true},
                                            {true, true, true, true, false}});

// In tiles: what each tile costs, and a merge for every tile with a key but the first, and for the
// sink.
template <size_t tile, Rule rule = unscaled>
constexpr bool streams_at_its_cost(const auto& visible, const auto& given_bias,
                                   const auto& given_sink) {
  const auto bias_of_call = as<Counted>(given_bias);
  const auto sink_of_call = as<Counted>(given_sink);
  Tally tally;
  Query<Counted, 3, 2> query;
  Key<Counted, 5, 2> key;
  Value<Counted, 5, 4> value;
  fill(query.matrix, tally), fill(key.matrix, tally), fill(value.matrix, tally);
  streaming_attention<tile, rule>(query, key, value, visible, bias_of_call, sink_of_call);
  return is_the_cost(tally, streaming_attention_cost<tile, rule>(query, key, value, visible,
                                                                 bias_of_call, sink_of_call));
}
template <size_t tile>
constexpr bool all_stream_at_their_cost =
    streams_at_its_cost<tile>(everything, no_bias, NoSink{}) &&
    streams_at_its_cost<tile>(causal, no_bias, sink) &&
    streams_at_its_cost<tile>(three_rows, bias, sink) &&
    streams_at_its_cost<tile>(three_rows, no_bias, NoSink{}) &&
    streams_at_its_cost<tile, Rule{.scale = Scale::of(1), .empty_row = EmptyRow::mean}>(three_rows,
                                                                                        no_bias,
                                                                                        NoSink{});
static_assert(all_stream_at_their_cost<1> && all_stream_at_their_cost<2> &&
                  all_stream_at_their_cost<3> && all_stream_at_their_cost<5> &&
                  all_stream_at_their_cost<8>,
              "S13: in tiles of any size");
constexpr Rule capped_after{
    .scale = Scale::of(1), .softcap = 4, .softcap_place = SoftcapPlace::after_mask};
static_assert(streams_at_its_cost<3, capped_after>(one_hidden_of_five, no_bias, NoSink{}) &&
                  streams_at_its_cost<5, capped_after>(one_hidden_of_five, no_bias, sink),
              "S13: with a softcap");

// From a cache that holds three of five tokens, and from a ring that holds the last two of three.
template <class Cache, Rule rule>
constexpr bool decodes_at_its_cost(const auto& given_sink) {
  const auto sink_of_call = as<Counted>(given_sink);
  Tally tally;
  Query<Counted, 1, 2> query;
  Key<Counted, 3, 2> key;
  Value<Counted, 3, 4> value;
  fill(query.matrix, tally), fill(key.matrix, tally), fill(value.matrix, tally);
  Cache cache;
  if constexpr (Cache::rolls)
    cache.append(key, value);
  else if (!cache.append(key, value))
    return false;
  attention<rule>(query, cache, everything, no_bias, sink_of_call);
  return is_the_cost(tally, attention_cost<rule>(query, cache, everything, no_bias, sink_of_call));
}
static_assert(
    decodes_at_its_cost<KeyValueCache<Counted, 5, 2, 4>, unscaled>(NoSink{}) &&
        decodes_at_its_cost<KeyValueCache<Counted, 5, 2, 4>,
                            Rule{.scale = Scale::of(1), .causal = true, .window_left = 1}>(sink) &&
        decodes_at_its_cost<RollingKeyValueCache<Counted, 2, 2, 4>,
                            Rule{.scale = Scale::of(1), .window_left = 1}>(NoSink{}),
    "S13: from a cache");

// In heads: each query head costs what it costs alone; sharing keys and values saves memory, and no
// operation.
constexpr bool heads_perform_what_they_cost() {
  Tally tally;
  Heads<Query<Counted, 2, 3>, 4> query;
  Heads<Key<Counted, 3, 3>, 2> key;
  Heads<Value<Counted, 3, 2>, 2> value;
  for (auto& q : query.head) fill(q.matrix, tally);
  for (auto& k : key.head) fill(k.matrix, tally);
  for (auto& v : value.head) fill(v.matrix, tally);
  const Heads masks{one_row_empty, one_row_empty, one_row_empty,
                    matrix({{true, true, true}, {true, true, true}})};
  attention<unscaled>(query, key, value, masks);
  return is_the_cost(tally, attention_cost<unscaled>(query, key, value, masks));
}
static_assert(heads_perform_what_they_cost(), "S13: in heads");

// Heads in tiles and from caches, and batches of all: the sum of what each performs.
struct TwoSequences {
  Batch<Heads<Query<Counted, 2, 3>, 4>, 2> query;
  Batch<Heads<Key<Counted, 3, 3>, 2>, 2> key;
  Batch<Heads<Value<Counted, 3, 2>, 2>, 2> value;
};
constexpr TwoSequences two_sequences(Tally& tally) {
  TwoSequences s;
  for (size_t n = 0; n < 2; ++n) {
    for (auto& q : s.query[n].head) fill(q.matrix, tally);
    for (auto& k : s.key[n].head) fill(k.matrix, tally);
    for (auto& v : s.value[n].head) fill(v.matrix, tally);
  }
  return s;
}
constexpr Batch two_masks{one_row_empty, one_hidden};
constexpr Sink counted_sink{Counted(3)};
constexpr bool batches_perform_what_they_cost() {
  Tally tally;
  const auto s = two_sequences(tally);
  attention<unscaled>(s.query, s.key, s.value, two_masks, no_bias, counted_sink);
  return is_the_cost(
      tally, attention_cost<unscaled>(s.query, s.key, s.value, two_masks, no_bias, counted_sink));
}
constexpr bool heads_and_batches_stream_at_their_cost() {
  Tally of_heads, of_batch;
  const auto one = two_sequences(of_heads).query[1];
  const auto s = two_sequences(of_heads);
  streaming_attention<2, unscaled>(one, s.key[1], s.value[1], two_masks[1], no_bias, counted_sink);
  const auto b = two_sequences(of_batch);
  streaming_attention<2, unscaled>(b.query, b.key, b.value, two_masks, no_bias, counted_sink);
  return is_the_cost(of_heads,
                     streaming_attention_cost<2, unscaled>(one, s.key[1], s.value[1], two_masks[1],
                                                           no_bias, counted_sink)) &&
         is_the_cost(of_batch, streaming_attention_cost<2, unscaled>(
                                   b.query, b.key, b.value, two_masks, no_bias, counted_sink));
}
constexpr bool heads_and_batches_decode_at_their_cost() {
  Tally of_heads, of_batch;
  using Caches = Heads<KeyValueCache<Counted, 7, 3, 2>, 2>;
  const auto s = two_sequences(of_heads), t = two_sequences(of_batch);
  Caches caches;
  Batch<Caches, 2> of_sequences;
  if (!append(caches, s.key[0], s.value[0]) || !append(caches, s.key[1], s.value[1])) return false;
  if (!append(of_sequences[0], t.key[0], t.value[0])) return false;
  for (size_t n = 0; n < 2; ++n)
    if (!append(of_sequences[1], t.key[n], t.value[n])) return false;
  attention<unscaled>(s.query[0], caches, everything, no_bias, counted_sink);
  attention<unscaled>(t.query, of_sequences, everything, no_bias, counted_sink);
  if (attention_cost<unscaled>(s.query[0], caches).state_bytes != sizeof(caches) ||
      attention_cost<unscaled>(t.query, of_sequences).state_bytes != sizeof(of_sequences) ||
      attention_cost<unscaled>(t.query, caches).state_bytes != sizeof(caches))
    return false;
  return is_the_cost(of_heads, attention_cost<unscaled>(s.query[0], caches, everything, no_bias,
                                                        counted_sink)) &&
         is_the_cost(of_batch, attention_cost<unscaled>(t.query, of_sequences, everything, no_bias,
                                                        counted_sink));
}
static_assert(batches_perform_what_they_cost(), "S13: in a batch");
static_assert(heads_and_batches_stream_at_their_cost(), "S13: in tiles");
static_assert(heads_and_batches_decode_at_their_cost(), "S13: from caches of 3 and 6 tokens");

// S13: T²·d of everything. Twice the tokens, four times the work and the score matrix, twice the
// scratch.
template <size_t T, size_t D>
constexpr Cost self_attention = attention_cost(Query<float, T, D>{}, Key<float, T, D>{},
                                               Value<float, T, D>{});

static_assert(self_attention<128, 16>.multiplications == 128 * 128 * (2 * 16 + 1),
              "S13: T^2 (2d + 1)");
static_assert(self_attention<128, 16>.exponentials == 128 * 128,
              "S13: one exponential to the pair");
static_assert(self_attention<256, 16>.multiplications ==
              4 * self_attention<128, 16>.multiplications);
static_assert(self_attention<128, 16>.score_matrix_bytes == 64 * 1024,
              "S13: 64 KiB of scores if all are kept");
static_assert(self_attention<256, 16>.score_matrix_bytes ==
              4 * self_attention<128, 16>.score_matrix_bytes);
static_assert(attention_cost(Query<float, 1, 16>{}, Key<float, 128, 16>{}, Value<float, 128, 16>{})
                      .scratch_bytes == 512,
              "S13: half a KiB if one query is answered at a time");
static_assert(self_attention<128, 16>.scratch_bytes ==
                  (queries_at_once<float> == 1 ? 512 : queries_at_once<float> * 512 + 8 * 1024),
              "S13: as much for each of several at a time, and the keys");
static_assert(self_attention<256, 16>.scratch_bytes == 2 * self_attention<128, 16>.scratch_bytes);

// S13: a causal row i sees i + 1 keys: T(T + 1)/2 pairs in all.
static_assert(attention_cost(Query<float, 6, 4>{}, Key<float, 6, 4>{}, Value<float, 6, 4>{}, causal)
                      .exponentials == 6 * 7 / 2,
              "S13: causal attention does half the work");

// By types alone, before there is a number: what static_assert holds a design to.
using Q = Query<float, 128, 16>;
using K = Key<float, 128, 16>;
using V = Value<float, 128, 16>;
static_assert(cost_of<Rule{}, Q, K, V> == self_attention<128, 16>);
static_assert(cost_of<Rule{.causal = true}, Q, K, V>.exponentials == 128 * 129 / 2);
static_assert(cost_of<Rule{}, Q, K, V, Causal, NoBias, Sink<float>>.exponentials ==
                  128 * 129 / 2 + 128,
              "with types of mask, bias and sink");
static_assert(streaming_cost_of<16, Rule{}, Q, K, V>.scratch_bytes == (16 + 16) * sizeof(float) &&
                  streaming_cost_of<16, Rule{}, Q, K, V>.state_bytes == (16 + 2) * sizeof(float),
              "S13: in tiles of 16: 128 bytes of scratch instead of 512, 72 of state");
static_assert(streaming_cost_of<16, Rule{}, Query<float, 2, 16>, Key<float, 65536, 16>,
                                Value<float, 65536, 16>>
                      .scratch_bytes == streaming_cost_of<16, Rule{}, Q, K, V>.scratch_bytes,
              "S13: it does not grow with the keys");
static_assert(streaming_cost_of<16, Rule{}, Q, K, V>.exponentials == 128 * (128 + 7),
              "S13: an exponential for each of seven merges of a row");
using Cache = KeyValueCache<float, 128, 16, 16>;
static_assert(cost_of<Rule{.causal = true}, Query<float, 1, 16>, Cache>.scratch_bytes <= 512 &&
                  cost_of<Rule{.causal = true}, Query<float, 1, 16>, Cache>.multiplications ==
                      128 * (2 * 16 + 1) &&
                  cost_of<Rule{.causal = true}, Query<float, 1, 16>, Cache>.state_bytes ==
                      sizeof(Cache),
              "S13: the longest step from a cache");
constexpr Cost grouped = cost_of<Rule{}, Heads<Q, 8>, Heads<K, 2>, Heads<V, 2>>;
static_assert(grouped.multiplications == 8 * self_attention<128, 16>.multiplications &&
                  grouped.scratch_bytes == self_attention<128, 16>.scratch_bytes,
              "S13: eight heads, one after the other");
constexpr Cost grouped_step =
    cost_of<Rule{.causal = true}, Heads<Query<float, 1, 16>, 8>, Heads<Cache, 2>>;
static_assert(grouped_step.state_bytes == 2 * sizeof(Cache) && grouped_step.exponentials == 8 * 128,
              "S13: two caches for eight query heads");
static_assert(
    cost_of<Rule{}, Heads<Q, 8>, Heads<K, 2>, Heads<V, 2>, Causal, NoBias, NoSink>.exponentials ==
        8 * 128 * 129 / 2,
    "S13: heads with the type of a mask");

// S13: a batch has the scratch of one of its sequences, and a cache of its own for each unless they
// share one.
constexpr Cost in_batch = cost_of<Rule{}, Batch<Heads<Q, 8>, 3>, Heads<K, 2>, Heads<V, 2>>;
static_assert(in_batch.multiplications == 3 * grouped.multiplications &&
                  in_batch.scratch_bytes == grouped.scratch_bytes,
              "S13: three sequences, one after the other");
using Step = Heads<Query<float, 1, 16>, 8>;
static_assert(cost_of<Rule{}, Batch<Step, 3>, Batch<Heads<Cache, 2>, 3>>.state_bytes ==
                      6 * sizeof(Cache) &&
                  cost_of<Rule{}, Batch<Step, 3>, Heads<Cache, 2>>.state_bytes ==
                      2 * sizeof(Cache) &&
                  cost_of<Rule{}, Batch<Step, 3>, Heads<Cache, 2>>.exponentials == 3 * 8 * 128,
              "S13: caches of a batch");
constexpr Cost in_tiles = streaming_cost_of<16, Rule{}, Q, K, V>;
constexpr Cost heads_in_tiles =
    streaming_cost_of<16, Rule{}, Heads<Q, 8>, Heads<K, 2>, Heads<V, 2>>;
constexpr Cost batch_in_tiles = streaming_cost_of<16, Rule{}, Batch<Q, 5>, Batch<K, 5>, V>;
static_assert(streaming_attention_cost<16>(Batch<Q, 5>{}, Batch<K, 5>{}, V{}) == batch_in_tiles &&
                  streaming_attention_cost<16>(Heads<Q, 8>{}, Heads<K, 2>{}, Heads<V, 2>{}) ==
                      heads_in_tiles,
              "S13: by types or by values");
static_assert(heads_in_tiles.exponentials == 8 * in_tiles.exponentials &&
                  batch_in_tiles.exponentials == 5 * in_tiles.exponentials &&
                  heads_in_tiles.state_bytes == in_tiles.state_bytes &&
                  batch_in_tiles.state_bytes == in_tiles.state_bytes &&
                  heads_in_tiles.scratch_bytes == in_tiles.scratch_bytes,
              "S13: tiles of heads and of a batch");

}  // namespace
