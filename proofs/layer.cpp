// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A layer is its maps and the attention of its heads, nothing else; and it is the same layer
// whichever way its weights are stored. With exact fractions and the weight 2^x on integer scores
// (exact.hpp) == is meant of values, in float of bits.
#include <attest/exact.hpp>
#include <attest/layer.hpp>
#include <attest/layer_gradient.hpp>
#include <type_traits>

namespace {
using namespace attest;
using Rational = small_rational;

// Integers in [−1, 1], other ones for every seed.
template <class T, size_t R, size_t C>
constexpr Matrix<T, R, C> integers(unsigned seed) {
  Matrix<T, R, C> m;
  for (auto& row : m.entries)
    for (T& x : row) {
      seed = seed * 1664525u + 1013904223u;
      x = T(static_cast<int>(seed >> 24) % 3 - 1);
    }
  return m;
}
// Numbers of 24 bits in [−1, 1): hardly a sum of products is exact.
template <size_t R, size_t C>
constexpr Matrix<float, R, C> floats(unsigned seed) {
  Matrix<float, R, C> m;
  for (auto& row : m.entries)
    for (float& x : row) {
      seed = seed * 1664525u + 1013904223u;
      x = static_cast<float>(static_cast<int>(seed >> 8) - (1 << 23)) / (1 << 23);
    }
  return m;
}

// S20: nn.Linear stores W transposed.
constexpr auto x = floats<5, 19>(1);
constexpr Linear linear{floats<7, 19>(2), floats<1, 7>(3)};
constexpr auto y = linear(x);
static_assert(std::is_same_v<decltype(linear), const Linear<float, 19, 7>> &&
                  std::is_same_v<decltype(transpose(linear)), Dense<float, 19, 7>>,
              "S20: 19 in, 7 out; the weight is (7, 19), or (19, 7)");
static_assert(y == transpose(linear)(x),
              "S20: nn.Linear stores W transposed, (out, in): x W^T + b is the same to the bit");
static_assert(y != Linear{linear.weight}(x), "the bias counts");
static_assert(Linear{linear.weight}(x) == x * transpose(linear.weight), "S20: x W^T");
static_assert(Dense{floats<19, 7>(4)}(x) == x * floats<19, 7>(4), "x W");
static_assert(transpose(transpose(linear)).weight == linear.weight &&
                  transpose(transpose(linear)).bias == linear.bias,
              "stored the other way twice is stored as before");
static_assert(Linear{matrix<int>({{1, 2, 3}, {4, 5, 6}}),
                     matrix<int>({{100, 200}})}(matrix<int>({{1, 10, 100}})) ==
                  matrix<int>({{421, 854}}),
              "1 + 20 + 300 + 100, 4 + 50 + 600 + 200");

// The layer of nn.MultiheadAttention(4, 2), from its parameters: rows 0 to 3 of in_proj_weight make
// queries, the next four keys, the last four values, and so of the bias.
constexpr auto in_proj_weight = integers<Rational, 12, 4>(1);
constexpr auto in_proj_bias = integers<Rational, 1, 12>(2);
constexpr auto out_proj_weight = integers<Rational, 4, 4>(3);
constexpr auto out_proj_bias = integers<Rational, 1, 4>(4);
constexpr auto layer =
    from_pytorch<2>(in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias);
constexpr auto tokens = integers<Rational, 3, 4>(5);
constexpr auto output = self_attention<unscaled>(layer, tokens);

// The same written out: X·Wᵀ + b of every map, entry by entry, attention of columns 0 to 1 and 2 to
// 3, their outputs side by side, mapped back.
constexpr Rational in_projection(size_t token, size_t row) {
  Rational sum = in_proj_bias[0][row];
  for (size_t k = 0; k < 4; ++k) sum = sum + in_proj_weight[row][k] * tokens[token][k];
  return sum;
}
constexpr Matrix<Rational, 3, 2> two_columns_of_projection(size_t first_row) {
  Matrix<Rational, 3, 2> columns;
  for (size_t i = 0; i < 3; ++i)
    for (size_t d = 0; d < 2; ++d) columns[i][d] = in_projection(i, first_row + d);
  return columns;
}
constexpr Matrix<Rational, 3, 4> written_out() {
  Matrix<Rational, 3, 4> joined, result;
  for (size_t h = 0; h < 2; ++h) {
    const auto head = attention<unscaled>(Query{two_columns_of_projection(2 * h)},
                                          Key{two_columns_of_projection(4 + 2 * h)},
                                          Value{two_columns_of_projection(8 + 2 * h)});
    for (size_t i = 0; i < 3; ++i)
      for (size_t d = 0; d < 2; ++d) joined[i][2 * h + d] = head[i][d];
  }
  for (size_t i = 0; i < 3; ++i)
    for (size_t e = 0; e < 4; ++e) {
      result[i][e] = out_proj_bias[0][e];
      for (size_t k = 0; k < 4; ++k)
        result[i][e] = result[i][e] + joined[i][k] * out_proj_weight[e][k];
    }
  return result;
}
static_assert(output == written_out(), "S3, S11: MultiHead(Q, K, V) = Concat(head_1, ...) W^O");
static_assert(output[0][0] != output[1][0], "and its rows differ");

// The bias of the keys adds one number, q·b, to all scores of a query, and softmax does not mind:
// without a sink the layer is the same without it. So its place is checked here.
constexpr auto without_key_bias = [] {
  auto result = layer;
  result.key.bias = {};
  return result;
}();
static_assert(layer.key.bias != without_key_bias.key.bias &&
                  self_attention<unscaled>(without_key_bias, tokens) == output,
              "b^K changes nothing");
static_assert(layer.query.bias == columns_from<0, 4>(in_proj_bias) &&
                  layer.key.bias[0][0] == in_proj_bias[0][4] &&
                  layer.key.bias[0][3] == in_proj_bias[0][7] &&
                  layer.value.bias[0][0] == in_proj_bias[0][8] &&
                  layer.value.bias[0][3] == in_proj_bias[0][11],
              "in_proj_bias is that of the queries, the keys and the values, in this order");

// Stored the other way: the layer as ONNX holds it.
constexpr auto onnx_layer = from_onnx<2>(transpose(in_proj_weight), in_proj_bias,
                                         transpose(out_proj_weight), out_proj_bias);
static_assert(self_attention<unscaled>(onnx_layer, tokens) == output,
              "S20: both conventions give the same outputs");
static_assert(std::is_same_v<decltype(transpose(layer)), std::remove_const_t<decltype(onnx_layer)>>,
              "transpose stores a layer the other way");
static_assert(onnx_layer.key.bias == layer.key.bias && onnx_layer.value.bias == layer.value.bias);
constexpr auto float_layer =
    from_pytorch<2>(floats<12, 4>(1), floats<1, 12>(2), floats<4, 4>(3), floats<1, 4>(4));
constexpr auto float_tokens = floats<3, 4>(5);
static_assert(self_attention(float_layer, float_tokens, causal) ==
                  self_attention(transpose(float_layer), float_tokens, causal),
              "S20: both conventions give the same outputs, bit for bit");
static_assert(self_attention(transpose(transpose(float_layer)), float_tokens) ==
              self_attention(float_layer, float_tokens));

// Without biases, and with keys and values made of tokens of other widths.
static_assert(
    self_attention<unscaled>(from_pytorch<2>(in_proj_weight, no_bias, out_proj_weight, no_bias),
                             tokens) ==
        self_attention<unscaled>(from_pytorch<2>(in_proj_weight, Matrix<Rational, 1, 12>{},
                                                 out_proj_weight, Matrix<Rational, 1, 4>{}),
                                 tokens),
    "no bias is a bias of zeros");
constexpr auto separate =
    from_pytorch<2>(integers<Rational, 4, 4>(6), integers<Rational, 4, 3>(7),
                    integers<Rational, 4, 5>(8), in_proj_bias, out_proj_weight, out_proj_bias);
static_assert(
    std::is_same_v<decltype(separate),
                   const MultiHeadAttention<Rational, 4, 2, 2,
                                            LayerShape{.key_tokens = 3, .value_tokens = 5}>>,
    "kdim = 3, vdim = 5");
static_assert(separate.key.bias == matrix({{in_proj_bias[0][4], in_proj_bias[0][5],
                                            in_proj_bias[0][6], in_proj_bias[0][7]}}),
              "the middle third of in_proj_bias is that of the keys");
static_assert(separate.value.bias == layer.value.bias && separate.query.bias == layer.query.bias);
constexpr auto others = multi_head_attention<unscaled>(
    separate, tokens, integers<Rational, 7, 3>(9), integers<Rational, 7, 5>(10));
static_assert(std::is_same_v<decltype(others), const Matrix<Rational, 3, 4>>,
              "S9: three queries, seven keys: three outputs");

// S9: in cross attention the queries come from another sequence; a sequence attends to itself if it
// is that other sequence.
constexpr auto memory = integers<Rational, 5, 4>(11);
constexpr auto crossed = cross_attention<unscaled>(layer, tokens, memory);
static_assert(std::is_same_v<decltype(crossed), const Matrix<Rational, 3, 4>>, "S9: (3, 4)");
static_assert(crossed != output && cross_attention<unscaled>(layer, tokens, tokens) == output,
              "S9: self attention is cross attention with oneself");

// S8, S10 and S18 hold of a layer as of attention: its maps know no order.
static_assert(self_attention<unscaled>(
                  layer, matrix({{tokens[2][0], tokens[2][1], tokens[2][2], tokens[2][3]}}),
                  everything)[0][0] != output[2][0],
              "S22: a token alone gets another answer than among others");
static_assert(self_attention<unscaled>(layer, rows_from<0, 1>(tokens), causal) ==
                  rows_from<0, 1>(self_attention<unscaled>(layer, tokens, causal)),
              "S10: the first token sees only itself");

// Grouped heads, values wider than keys: the same as each key/value head repeated for its group.
using Grouped = MultiHeadAttention<Rational, 4, 4, 2,
                                   LayerShape{.head = 2, .head_value = 3, .output_bias = false}>;
using Repeated = MultiHeadAttention<Rational, 4, 4, 4,
                                    LayerShape{.head = 2, .head_value = 3, .output_bias = false}>;
constexpr Grouped grouped{{integers<Rational, 8, 4>(12), integers<Rational, 1, 8>(13)},
                          {integers<Rational, 4, 4>(14), integers<Rational, 1, 4>(15)},
                          {integers<Rational, 6, 4>(16), integers<Rational, 1, 6>(17)},
                          {integers<Rational, 4, 12>(18), no_bias}};
// Rows of a map, `width` to a head, each head of two twice.
template <size_t width, size_t Out, size_t In>
constexpr Linear<Rational, In, 2 * Out> twice(const Linear<Rational, In, Out>& map) {
  Linear<Rational, In, 2 * Out> result;
  for (size_t row = 0; row < 2 * Out; ++row) {
    const size_t from = row / (2 * width) * width + row % width;
    for (size_t k = 0; k < In; ++k) result.weight[row][k] = map.weight[from][k];
    result.bias[0][row] = map.bias[0][from];
  }
  return result;
}
constexpr Repeated repeated{grouped.query, twice<2>(grouped.key), twice<3>(grouped.value),
                            grouped.output};
static_assert(self_attention<unscaled>(grouped, tokens) ==
                  self_attention<unscaled>(repeated, tokens),
              "grouped heads share maps to keys and values");

// PyTorch's add_zero_attn appends a key and a value of zeros to each head: a sink of score 0.
constexpr auto heads = projected(layer, tokens, tokens, tokens);
template <class Role>
constexpr auto with_zeros(const Heads<Role, 2>& each) {
  Heads<decltype(Key{Matrix<Rational, 4, 2>{}}), 2> keys;
  for (size_t h = 0; h < 2; ++h)
    for (size_t j = 0; j < 3; ++j)
      for (size_t d = 0; d < 2; ++d) keys[h].matrix[j][d] = each[h].matrix[j][d];
  return keys;
}
constexpr auto zero_keys = with_zeros(heads.key), zero_values = with_zeros(heads.value);
static_assert(self_attention<unscaled>(layer, tokens, everything, no_bias, Sink{Rational(0)}) ==
                  layer.output(join_heads(attention<unscaled>(
                      heads.query, zero_keys,
                      Heads{Value{zero_values[0].matrix}, Value{zero_values[1].matrix}}))),
              "add_zero_attn is a sink of score 0");

// S12: a batch changes nothing of what happens to each sequence; what is no Batch is shared.
constexpr Batch batch{tokens, integers<Rational, 3, 4>(19)};
static_assert(self_attention<unscaled>(layer, batch, causal) ==
                  Batch{self_attention<unscaled>(layer, batch[0], causal),
                        self_attention<unscaled>(layer, batch[1], causal)},
              "S12: each sequence of a batch is what it is alone");
static_assert(cross_attention<unscaled>(layer, batch, memory) ==
                  Batch{crossed, cross_attention<unscaled>(layer, batch[1], memory)},
              "S12: others that are no Batch are shared");
constexpr Batch memories{memory, integers<Rational, 5, 4>(24)};
static_assert(cross_attention<unscaled>(layer, batch, memories)[1] ==
                  cross_attention<unscaled>(layer, batch[1], memories[1]),
              "S12: others of a Batch are each sequence's own");

// Gradients. The derivatives of Σ d_output·output are differences where it is linear in what is
// changed: in the map to the output, in the map to the values, in the tokens that values are made
// of.
// Scores are kept between −2 and 2 by maps of few ones, and fractions small enough for long long.
constexpr auto quiet = [] {
  auto result = layer;
  result.query.weight = matrix<Rational>({{1, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 1, 0}, {0, 1, 0, 0}});
  result.key.weight = matrix<Rational>({{0, 1, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 0, 0}});
  result.query.bias = matrix<Rational>({{0, 1, 0, 0}});
  result.key.bias = matrix<Rational>({{0, 0, 0, 1}});
  return result;
}();
constexpr auto d_output = integers<Rational, 3, 4>(20);
constexpr auto memory_of_values = integers<Rational, 5, 4>(21);
template <class Layer>
constexpr Rational loss(const Layer& of, const Matrix<Rational, 3, 4>& queries,
                        const Matrix<Rational, 5, 4>& keys, const Matrix<Rational, 5, 4>& values) {
  const auto out = multi_head_attention<unscaled>(of, queries, keys, values);
  Rational sum;
  for (size_t i = 0; i < 3; ++i) sum = sum + dot(out[i], d_output[i]);
  return sum;
}
constexpr auto gradient =
    layer_gradient<unscaled>(quiet, tokens, memory, memory_of_values, d_output);
constexpr Rational now = loss(quiet, tokens, memory, memory_of_values);
constexpr bool differences_are_gradients(auto&& part, auto&& part_gradient) {
  for (size_t i = 0; i < 4; ++i)
    for (size_t k = 0; k < 4; ++k) {
      auto changed = quiet;
      auto& entry = part(changed).weight[i][k];
      entry = entry + Rational(1);
      if (loss(changed, tokens, memory, memory_of_values) - now != part_gradient.weight[i][k])
        return false;
    }
  for (size_t i = 0; i < 4; ++i) {
    auto changed = quiet;
    auto& entry = part(changed).bias[0][i];
    entry = entry + Rational(1);
    if (loss(changed, tokens, memory, memory_of_values) - now != part_gradient.bias[0][i])
      return false;
  }
  return true;
}
static_assert(differences_are_gradients(
                  [](auto& l) -> auto& { return l.output; }, gradient.layer.output),
              "d W^O = d_output^T concat(heads), d b^O = sum of d_output");
static_assert(differences_are_gradients(
                  [](auto& l) -> auto& { return l.value; }, gradient.layer.value),
              "d W^V = d_value^T x, d b^V = sum of d_value");
constexpr bool value_tokens_have_their_gradient() {
  for (size_t i = 0; i < 5; ++i)
    for (size_t k = 0; k < 4; ++k) {
      auto changed = memory_of_values;
      changed[i][k] = changed[i][k] + Rational(1);
      if (loss(quiet, tokens, memory, changed) - now != gradient.value_tokens[i][k]) return false;
    }
  return true;
}
static_assert(value_tokens_have_their_gradient(), "d x = d_value W^V");
// The map to the keys goes through softmax as keys do: attention_gradient is proved in
// gradient.cpp.
constexpr auto projected_once = projected(quiet, tokens, memory, memory_of_values);
constexpr auto d_heads =
    attention_gradient<unscaled>(projected_once.query, projected_once.key, projected_once.value,
                                 split_heads<2>(d_output* out_proj_weight));
static_assert(gradient.layer.key.weight == transpose(join_heads(d_heads.key)) * memory &&
                  gradient.key_tokens == join_heads(d_heads.key) * quiet.key.weight,
              "d W^K = d_key^T x, d x = d_key W^K");
static_assert(gradient.layer.query.weight == transpose(join_heads(d_heads.query)) * tokens &&
                  gradient.query_tokens == join_heads(d_heads.query) * quiet.query.weight,
              "d W^Q = d_query^T x, d x = d_query W^Q");
static_assert(gradient.key_tokens != Matrix<Rational, 5, 4>{} &&
              gradient.query_tokens != Matrix<Rational, 3, 4>{});

// Tokens with several roles have the sum of the gradients, in cross attention and in self
// attention.
constexpr auto in_turn = layer_gradient<unscaled>(quiet, tokens, tokens, tokens, d_output, causal);
static_assert(self_attention_gradient<unscaled>(quiet, tokens, d_output, causal).tokens ==
                  in_turn.query_tokens + in_turn.key_tokens + in_turn.value_tokens,
              "queries, keys and values of one sequence");
constexpr auto to_others = layer_gradient<unscaled>(quiet, tokens, memory, memory, d_output);
constexpr auto cross_gradient = cross_attention_gradient<unscaled>(quiet, tokens, memory, d_output);
static_assert(cross_gradient.others == to_others.key_tokens + to_others.value_tokens &&
                  cross_gradient.tokens == to_others.query_tokens,
              "keys and values of one sequence, queries of another");

// Both conventions, to the bit.
constexpr auto float_d_output = floats<3, 4>(22);
constexpr auto one_way = self_attention_gradient(float_layer, float_tokens, float_d_output);
constexpr auto other_way =
    self_attention_gradient(transpose(float_layer), float_tokens, float_d_output);
static_assert(one_way.tokens == other_way.tokens &&
                  one_way.layer.query.weight == transpose(other_way.layer.query.weight) &&
                  one_way.layer.output.weight == transpose(other_way.layer.output.weight) &&
                  one_way.layer.key.bias == other_way.layer.key.bias,
              "S20: both conventions have the same gradients, bit for bit");

// Of a batch: weights, and whatever is shared, have the sum.
constexpr Batch d_outputs{d_output, integers<Rational, 3, 4>(23)};
constexpr auto first = cross_attention_gradient<unscaled>(quiet, batch[0], memory, d_outputs[0]);
constexpr auto second = cross_attention_gradient<unscaled>(quiet, batch[1], memory, d_outputs[1]);
constexpr auto of_batch = cross_attention_gradient<unscaled>(quiet, batch, memory, d_outputs);
static_assert(of_batch.layer.query.weight == first.layer.query.weight + second.layer.query.weight &&
                  of_batch.layer.key.weight == first.layer.key.weight + second.layer.key.weight &&
                  of_batch.layer.value.weight ==
                      first.layer.value.weight + second.layer.value.weight &&
                  of_batch.layer.output.bias ==
                      first.layer.output.bias + second.layer.output.bias &&
                  of_batch.others == first.others + second.others &&
                  of_batch.tokens == Batch{first.tokens, second.tokens},
              "S12: a shared part has the sum of the gradients, an own part its own");

// Shapes.
using X = Matrix<float, 3, 4>;
using FloatLayer = MultiHeadAttention<float, 4, 2>;
static_assert(layer_accepts_tokens<FloatLayer, X, X, X>);
static_assert(!layer_accepts_tokens<FloatLayer, Matrix<float, 3, 5>, X, X>, "tokens of width 5");
static_assert(!layer_accepts_tokens<FloatLayer, X, Matrix<float, 3, 5>, X>, "keys of width 5");
static_assert(!layer_accepts_tokens<FloatLayer, X, X, Matrix<float, 2, 4>>, "a value is missing");
static_assert(!layer_accepts_tokens<FloatLayer, X, X, Matrix<double, 3, 4>>, "float and double");
static_assert(!can_attend_in_layer<FloatLayer, X, X, X, Matrix<bool, 3, 4>, NoBias, NoSink>,
              "a mask has a column per key");
static_assert(
    !embedding_is_a_multiple_of_heads_or_their_width_is_given<4, 3, LayerShape{}> &&
    embedding_is_a_multiple_of_heads_or_their_width_is_given<4, 3, LayerShape{.head = 2}>);
static_assert(!query_key_and_value_maps_are_packed<12, 6>);
static_assert(std::is_trivially_copyable_v<FloatLayer>, "a layer can be baked into flash");

}  // namespace
