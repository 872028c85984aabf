// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Multi-head attention as a layer: learned maps from tokens to queries, keys and values, and from
// what the heads return back to tokens.
#pragma once
#include <attest/algebra.hpp>
#include <attest/heads.hpp>

namespace attest {

// A map takes tokens of one width.
template <size_t TokenWidth, size_t MapWidth>
concept token_width_equals_input_width = TokenWidth == MapWidth;
template <class Bias, class T, size_t Out>
concept bias_is_a_row_of_outputs_or_absent =
    is_same_type<Bias, NoBias> || is_same_type<Bias, Matrix<T, 1, Out>>;

template <class T, size_t R, size_t C>
constexpr void add_to_each_row(Matrix<T, R, C>&, const NoBias&) {}
template <class T, size_t R, size_t C>
constexpr void add_to_each_row(Matrix<T, R, C>& m, const Matrix<T, 1, C>& row) {
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < C; ++j) m.entries[i][j] = m.entries[i][j] + row.entries[0][j];
}

// y = x·Wᵀ + b, W stored (out, in): PyTorch's nn.Linear.
//
// Dense and Linear add the same products in the same order, from left to right, and b last: their
// outputs are the same to the bit. |computed y − y| ≤ in·u·Σ|x_k W_k| + u·|computed y|, and half
// the smallest subnormal for each product.
template <class T, size_t In, size_t Out, class Bias = Matrix<T, 1, Out>>
requires bias_is_a_row_of_outputs_or_absent<Bias, T, Out>
struct Linear {
  using value_type = T;
  using bias_type = Bias;
  static constexpr size_t inputs = In;
  static constexpr size_t outputs = Out;

  Matrix<T, Out, In> weight{};
  Bias bias{};

  template <class U, size_t R, size_t C>
  requires same_number_type<U, T> && token_width_equals_input_width<C, In>
  constexpr Matrix<T, R, Out> operator()(const Matrix<U, R, C>& x) const {
    Matrix<T, R, Out> y;
    for (size_t i = 0; i < R; ++i)
      for (size_t j = 0; j < Out; ++j) y.entries[i][j] = dot(x.entries[i], weight.entries[j]);
    add_to_each_row(y, bias);
    return y;
  }
};
template <class T, size_t Out, size_t In>
Linear(Matrix<T, Out, In>) -> Linear<T, In, Out, NoBias>;
template <class T, size_t Out, size_t In, class Bias>
Linear(Matrix<T, Out, In>, Bias) -> Linear<T, In, Out, Bias>;

// y = x·W + b, W stored (in, out): as mathematics writes it, the kernel of Keras' and Flax's Dense,
// the second input of ONNX's MatMul.
template <class T, size_t In, size_t Out, class Bias = Matrix<T, 1, Out>>
requires bias_is_a_row_of_outputs_or_absent<Bias, T, Out>
struct Dense {
  using value_type = T;
  using bias_type = Bias;
  static constexpr size_t inputs = In;
  static constexpr size_t outputs = Out;

  Matrix<T, In, Out> weight{};
  Bias bias{};

  template <class U, size_t R, size_t C>
  requires same_number_type<U, T> && token_width_equals_input_width<C, In>
  constexpr Matrix<T, R, Out> operator()(const Matrix<U, R, C>& x) const {
    Matrix<T, R, Out> y = x * weight;
    add_to_each_row(y, bias);
    return y;
  }
};
template <class T, size_t In, size_t Out>
Dense(Matrix<T, In, Out>) -> Dense<T, In, Out, NoBias>;
template <class T, size_t In, size_t Out, class Bias>
Dense(Matrix<T, In, Out>, Bias) -> Dense<T, In, Out, Bias>;

// The same map, its weight stored the other way.
template <class T, size_t In, size_t Out, class Bias>
constexpr Dense<T, In, Out, Bias> transpose(const Linear<T, In, Out, Bias>& map) {
  return {transpose(map.weight), map.bias};
}
template <class T, size_t In, size_t Out, class Bias>
constexpr Linear<T, In, Out, Bias> transpose(const Dense<T, In, Out, Bias>& map) {
  return {transpose(map.weight), map.bias};
}

// What a layer may have otherwise than nn.MultiheadAttention(embed, heads) has it.
struct LayerShape {
  size_t key_tokens = 0;    // width of the tokens that become keys, PyTorch's kdim; 0: embed
  size_t value_tokens = 0;  // width of the tokens that become values, vdim; 0: embed
  size_t head = 0;          // d_k, width of a head's queries and keys; 0: embed/heads
  size_t head_value = 0;    // d_v, width of a head's values; 0: as d_k
  bool bias = true;         // of the maps to queries, keys and values
  bool output_bias = true;

  friend constexpr bool operator==(const LayerShape&, const LayerShape&) = default;
};

template <bool present, class T, size_t Out>
struct OptionalBias {
  using type = NoBias;
};
template <class T, size_t Out>
struct OptionalBias<true, T, Out> {
  using type = Matrix<T, 1, Out>;
};

template <size_t Embed, size_t H, LayerShape shape>
concept embedding_is_a_multiple_of_heads_or_their_width_is_given = H >
0 && (shape.head > 0 || Embed % H == 0);

// H query heads over Hk key/value heads (Vaswani et al. 2017, section 3.2.2; grouped where Hk < H).
// Map is Linear or Dense. Head h of a map's output is columns h·d … h·d + d − 1, as in PyTorch and
// ONNX.
template <class T, size_t Embed, size_t H, size_t Hk = H, LayerShape shape = LayerShape{},
          template <class, size_t, size_t, class> class Map = Linear>
requires embedding_is_a_multiple_of_heads_or_their_width_is_given<Embed, H, shape> &&
    query_heads_are_a_multiple_of_key_value_heads<H, Hk>
struct MultiHeadAttention {
  using value_type = T;
  static constexpr size_t embedding = Embed;
  static constexpr size_t query_heads = H;
  static constexpr size_t key_value_heads = Hk;
  static constexpr size_t head_width = shape.head > 0 ? shape.head : Embed / H;
  static constexpr size_t value_width = shape.head_value > 0 ? shape.head_value : head_width;
  static constexpr size_t key_tokens = shape.key_tokens > 0 ? shape.key_tokens : Embed;
  static constexpr size_t value_tokens = shape.value_tokens > 0 ? shape.value_tokens : Embed;

  template <size_t In, size_t Out, bool has_bias>
  using MapOf = Map<T, In, Out, typename OptionalBias<has_bias, T, Out>::type>;

  MapOf<Embed, H * head_width, shape.bias> query{};
  MapOf<key_tokens, Hk * head_width, shape.bias> key{};
  MapOf<value_tokens, Hk * value_width, shape.bias> value{};
  MapOf<H * value_width, Embed, shape.output_bias> output{};
};

template <class T, size_t E, size_t H, size_t Hk, LayerShape shape>
constexpr MultiHeadAttention<T, E, H, Hk, shape, Dense> transpose(
    const MultiHeadAttention<T, E, H, Hk, shape, Linear>& layer) {
  return {transpose(layer.query), transpose(layer.key), transpose(layer.value),
          transpose(layer.output)};
}
template <class T, size_t E, size_t H, size_t Hk, LayerShape shape>
constexpr MultiHeadAttention<T, E, H, Hk, shape, Linear> transpose(
    const MultiHeadAttention<T, E, H, Hk, shape, Dense>& layer) {
  return {transpose(layer.query), transpose(layer.key), transpose(layer.value),
          transpose(layer.output)};
}

// Rows, or columns, from `First` on.
template <size_t First, size_t Rows, class T, size_t R, size_t C>
constexpr Matrix<T, Rows, C> rows_from(const Matrix<T, R, C>& m) {
  Matrix<T, Rows, C> part;
  for (size_t i = 0; i < Rows; ++i)
    for (size_t j = 0; j < C; ++j) part.entries[i][j] = m.entries[First + i][j];
  return part;
}
template <size_t First, size_t Columns, class T, size_t R, size_t C>
constexpr Matrix<T, R, Columns> columns_from(const Matrix<T, R, C>& m) {
  Matrix<T, R, Columns> part;
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < Columns; ++j) part.entries[i][j] = m.entries[i][First + j];
  return part;
}
template <size_t First, size_t Columns>
constexpr NoBias columns_from(const NoBias&) {
  return {};
}

template <size_t PackedWidth, size_t Embed>
concept query_key_and_value_maps_are_packed = PackedWidth == 3 * Embed;
template <class Bias, class T, size_t Embed>
concept packed_bias_has_a_row_of_outputs_or_is_absent =
    bias_is_a_row_of_outputs_or_absent<Bias, T, 3 * Embed>;

// The layer made of the parameters of nn.MultiheadAttention(E, H): in_proj_weight (3E, E),
// in_proj_bias (1, 3E), out_proj.weight (E, E), out_proj.bias (1, E); no_bias twice for bias=False.
// PyTorch's boolean attn_mask and key_padding_mask say what is hidden, masks here what is visible.
// Its add_zero_attn is Sink{0}.
template <size_t H, class T, size_t Packed, size_t E, class Bias, class OutBias>
requires query_key_and_value_maps_are_packed<Packed, E> &&
    packed_bias_has_a_row_of_outputs_or_is_absent<Bias, T, E> &&
    bias_is_a_row_of_outputs_or_absent<OutBias, T, E>
constexpr auto from_pytorch(const Matrix<T, Packed, E>& in_proj_weight, const Bias& in_proj_bias,
                            const Matrix<T, E, E>& out_proj_weight, const OutBias& out_proj_bias) {
  constexpr LayerShape shape{.bias = !is_same_type<Bias, NoBias>,
                             .output_bias = !is_same_type<OutBias, NoBias>};
  return MultiHeadAttention<T, E, H, H, shape>{
      {rows_from<0, E>(in_proj_weight), columns_from<0, E>(in_proj_bias)},
      {rows_from<E, E>(in_proj_weight), columns_from<E, E>(in_proj_bias)},
      {rows_from<2 * E, E>(in_proj_weight), columns_from<2 * E, E>(in_proj_bias)},
      {out_proj_weight, out_proj_bias}};
}

// The same where keys and values are made of tokens of their own width (kdim, vdim):
// q_proj_weight (E, E), k_proj_weight (E, kdim), v_proj_weight (E, vdim), and in_proj_bias (1, 3E).
template <size_t H, class T, size_t E, size_t KeyTokens, size_t ValueTokens, class Bias,
          class OutBias>
requires packed_bias_has_a_row_of_outputs_or_is_absent<Bias, T, E> &&
    bias_is_a_row_of_outputs_or_absent<OutBias, T, E>
constexpr auto from_pytorch(const Matrix<T, E, E>& q_proj_weight,
                            const Matrix<T, E, KeyTokens>& k_proj_weight,
                            const Matrix<T, E, ValueTokens>& v_proj_weight,
                            const Bias& in_proj_bias, const Matrix<T, E, E>& out_proj_weight,
                            const OutBias& out_proj_bias) {
  constexpr LayerShape shape{.key_tokens = KeyTokens,
                             .value_tokens = ValueTokens,
                             .bias = !is_same_type<Bias, NoBias>,
                             .output_bias = !is_same_type<OutBias, NoBias>};
  return MultiHeadAttention<T, E, H, H, shape>{
      {q_proj_weight, columns_from<0, E>(in_proj_bias)},
      {k_proj_weight, columns_from<E, E>(in_proj_bias)},
      {v_proj_weight, columns_from<2 * E, E>(in_proj_bias)},
      {out_proj_weight, out_proj_bias}};
}

// The layer made of weights as ONNX models hold them, (in, out): the packed weights (E, 3E) and
// bias (1, 3E) of com.microsoft's Attention operator, then MatMul and Add.
template <size_t H, class T, size_t E, size_t Packed, class Bias, class OutBias>
requires query_key_and_value_maps_are_packed<Packed, E> &&
    packed_bias_has_a_row_of_outputs_or_is_absent<Bias, T, E> &&
    bias_is_a_row_of_outputs_or_absent<OutBias, T, E>
constexpr auto from_onnx(const Matrix<T, E, Packed>& weights, const Bias& bias,
                         const Matrix<T, E, E>& output_weight, const OutBias& output_bias) {
  constexpr LayerShape shape{.bias = !is_same_type<Bias, NoBias>,
                             .output_bias = !is_same_type<OutBias, NoBias>};
  return MultiHeadAttention<T, E, H, H, shape, Dense>{
      {columns_from<0, E>(weights), columns_from<0, E>(bias)},
      {columns_from<E, E>(weights), columns_from<E, E>(bias)},
      {columns_from<2 * E, E>(weights), columns_from<2 * E, E>(bias)},
      {output_weight, output_bias}};
}

// The queries, keys and values that a layer makes of tokens, head by head: what a rotary embedding
// turns, and what a cache keeps.
template <class Q, class K, class V>
struct Projected {
  Q query{};
  K key{};
  V value{};
};
template <class Q, class K, class V>
Projected(Q, K, V) -> Projected<Q, K, V>;

// What a layer asks of the tokens that become queries, keys and values.
template <class Layer, class X, class Y, class Z>
concept layer_accepts_tokens =
    same_number_type<typename X::value_type, typename Layer::value_type> &&
    same_number_type<typename Y::value_type, typename Layer::value_type> &&
    same_number_type<typename Z::value_type, typename Layer::value_type> &&
    token_width_equals_input_width<X::columns, Layer::embedding> &&
    token_width_equals_input_width<Y::columns, Layer::key_tokens> &&
    token_width_equals_input_width<Z::columns, Layer::value_tokens> &&
    one_value_row_per_key_row<Y::rows, Z::rows>;

template <class Layer, class X, class Y, class Z>
requires layer_accepts_tokens<Layer, X, Y, Z>
constexpr auto projected(const Layer& layer, const X& query_tokens, const Y& key_tokens,
                         const Z& value_tokens) {
  return Projected{split_heads<Layer::query_heads>(Query{layer.query(query_tokens)}),
                   split_heads<Layer::key_value_heads>(Key{layer.key(key_tokens)}),
                   split_heads<Layer::key_value_heads>(Value{layer.value(value_tokens)})};
}

template <class Layer, class X, class Y, class Z, class Visible, class Bias, class Sink>
concept can_attend_in_layer = layer_accepts_tokens<Layer, X, Y, Z> && can_attend_in_heads<
    Heads<Query<typename X::value_type, X::rows, Layer::head_width>, Layer::query_heads>,
    Heads<Key<typename X::value_type, Y::rows, Layer::head_width>, Layer::key_value_heads>,
    Heads<Value<typename X::value_type, Y::rows, Layer::value_width>, Layer::key_value_heads>,
    Visible, Bias, Sink>;

// Attention between tokens: each row of query_tokens becomes a query of each head, each row of
// key_tokens and of value_tokens a key and a value, and the heads' outputs are joined and mapped
// back. Mask, bias and sink as in heads.hpp, shared by all heads or one for each.
//
// Error: the maps' own (Linear) makes each query, key and value inexact by δq, δk, δv before
// attention adds what is stated there; a score inherits |scale|·Σ(|δq||k| + |q||δk| + |δq||δk|),
// and an output Σ p_j |δv_j|. The last map multiplies by |W| and adds its own.
template <Rule rule = Rule{}, class Layer, class X, class Y, class Z, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
requires can_attend_in_layer<Layer, X, Y, Z, Visible, Bias, Sink>
constexpr auto multi_head_attention(const Layer& layer, const X& query_tokens, const Y& key_tokens,
                                    const Z& value_tokens, const Visible& mask = {},
                                    const Bias& bias = {}, const Sink& sink = {}) {
  const auto heads = projected(layer, query_tokens, key_tokens, value_tokens);
  return layer.output(
      join_heads(attention<rule>(heads.query, heads.key, heads.value, mask, bias, sink)));
}

// Each sequence of a batch on its own. Whatever is no Batch is shared by all of them.
template <Rule rule = Rule{}, class Layer, class X, size_t N, class Y, class Z,
          class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
requires batch_agrees<Y, Z, Visible, Bias, Sink, N>
constexpr auto multi_head_attention(const Layer& layer, const Batch<X, N>& query_tokens,
                                    const Y& key_tokens, const Z& value_tokens,
                                    const Visible& mask = {}, const Bias& bias = {},
                                    const Sink& sink = {}) {
  return for_each_element(
      [&](const auto&... parts) { return multi_head_attention<rule>(layer, parts...); },
      query_tokens, key_tokens, value_tokens, mask, bias, sink);
}

// Tokens attend to one another.
template <Rule rule = Rule{}, class Layer, class X, class Visible = Everything, class Bias = NoBias,
          class Sink = NoSink>
constexpr auto self_attention(const Layer& layer, const X& tokens, const Visible& mask = {},
                              const Bias& bias = {}, const Sink& sink = {}) {
  return multi_head_attention<rule>(layer, tokens, tokens, tokens, mask, bias, sink);
}

// Tokens attend to those of another sequence, of another length: an encoder's, for instance.
template <Rule rule = Rule{}, class Layer, class X, class Y, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
constexpr auto cross_attention(const Layer& layer, const X& tokens, const Y& others,
                               const Visible& mask = {}, const Bias& bias = {},
                               const Sink& sink = {}) {
  return multi_head_attention<rule>(layer, tokens, others, others, mask, bias, sink);
}

}  // namespace attest
