// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Gradients through a layer: of its weights and biases, and of the tokens it was given.
#pragma once
#include <attest/gradient.hpp>
#include <attest/layer.hpp>

namespace attest {

// The gradient of something shared is the sum of those of its uses, in their order.
constexpr void add_to_gradient(NoBias&, const NoBias&) {}
constexpr void add_to_gradient(NoSink&, const NoSink&) {}
template <class T>
constexpr void add_to_gradient(T& sum, const T& number) {
  sum = sum + number;
}
template <class A, size_t H>
constexpr void add_to_gradient(Heads<A, H>& sum, const Heads<A, H>& each) {
  for (size_t h = 0; h < H; ++h) add_to_gradient(sum.head[h], each.head[h]);
}
template <class A, size_t N>
constexpr void add_to_gradient(Batch<A, N>& sum, const Batch<A, N>& each) {
  for (size_t n = 0; n < N; ++n) add_to_gradient(sum.element[n], each.element[n]);
}

template <class T, size_t R, size_t Out>
constexpr void add_bias_gradient(const Matrix<T, R, Out>&, NoBias&) {}
template <class T, size_t R, size_t Out>
constexpr void add_bias_gradient(const Matrix<T, R, Out>& d_y, Matrix<T, 1, Out>& d_bias) {
  for (size_t i = 0; i < R; ++i) axpy(T(1), d_y.entries[i], d_bias.entries[0]);
}

// The gradient of the tokens x of y = map(x), given that of y: d_x = d_y·W for W (out, in). Those
// of weight and bias, d_W = d_yᵀ·x and d_b = Σ_i d_y_i, are added to d_map, token by token. The
// bits are the same for Linear and Dense.
template <class T, size_t R, size_t In, size_t Out, class Bias>
constexpr Matrix<T, R, In> add_map_gradient(const Linear<T, In, Out, Bias>& map,
                                            const Matrix<T, R, In>& x, const Matrix<T, R, Out>& d_y,
                                            Linear<T, In, Out, Bias>& d_map) {
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < Out; ++j) axpy(d_y.entries[i][j], x.entries[i], d_map.weight.entries[j]);
  add_bias_gradient(d_y, d_map.bias);
  return d_y * map.weight;
}
template <class T, size_t R, size_t In, size_t Out, class Bias>
constexpr Matrix<T, R, In> add_map_gradient(const Dense<T, In, Out, Bias>& map,
                                            const Matrix<T, R, In>& x, const Matrix<T, R, Out>& d_y,
                                            Dense<T, In, Out, Bias>& d_map) {
  Matrix<T, R, In> d_x;
  for (size_t i = 0; i < R; ++i)
    for (size_t k = 0; k < In; ++k) {
      axpy(x.entries[i][k], d_y.entries[i], d_map.weight.entries[k]);
      d_x.entries[i][k] = dot(d_y.entries[i], map.weight.entries[k]);
    }
  add_bias_gradient(d_y, d_map.bias);
  return d_x;
}

// Of layer, the gradients of its weights and biases in their places.
template <class Layer, class X, class Y, class Z, class DBias, class DSink>
struct LayerGradient {
  Layer layer{};
  X query_tokens{};
  Y key_tokens{};
  Z value_tokens{};
  DBias bias{};
  DSink sink{};
};

template <class DOutput, class Layer, class X>
concept output_gradient_has_the_form_of_the_layer_output =
    is_same_type<DOutput, Matrix<typename X::value_type, X::rows, Layer::embedding>>;

// The gradient of a number that depends on multi_head_attention(layer, query_tokens, key_tokens,
// value_tokens, mask, bias, sink), given its derivatives with respect to the output. Projections
// and heads' outputs are computed again, nothing is kept from the forward pass but its arguments.
//
// Error: that of attention_gradient for inexact queries, keys, values and output gradients, then
// that of sums of products: of `tokens` terms for a weight or bias, of `out` terms for a token.
template <Rule rule = Rule{}, class Layer, class X, class Y, class Z, class DOutput,
          class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
requires can_attend_in_layer<Layer, X, Y, Z, Visible, Bias, Sink> &&
    output_gradient_has_the_form_of_the_layer_output<DOutput, Layer, X>
constexpr auto layer_gradient(const Layer& layer, const X& query_tokens, const Y& key_tokens,
                              const Z& value_tokens, const DOutput& d_output,
                              const Visible& mask = {}, const Bias& bias = {},
                              const Sink& sink = {}) {
  const auto heads = projected(layer, query_tokens, key_tokens, value_tokens);
  const auto joined =
      join_heads(attention<rule>(heads.query, heads.key, heads.value, mask, bias, sink));
  Layer d_layer{};
  const auto d_joined = add_map_gradient(layer.output, joined, d_output, d_layer.output);
  const auto d_heads =
      attention_gradient<rule>(heads.query, heads.key, heads.value,
                               split_heads<Layer::query_heads>(d_joined), mask, bias, sink);
  const X d_query =
      add_map_gradient(layer.query, query_tokens, join_heads(d_heads.query), d_layer.query);
  const Y d_key = add_map_gradient(layer.key, key_tokens, join_heads(d_heads.key), d_layer.key);
  const Z d_value =
      add_map_gradient(layer.value, value_tokens, join_heads(d_heads.value), d_layer.value);
  return LayerGradient<Layer, X, Y, Z, decltype(d_heads.bias), decltype(d_heads.sink)>{
      d_layer, d_query, d_key, d_value, d_heads.bias, d_heads.sink};
}

// Of what each sequence of a batch has its own, each has its own gradient; of what they share, the
// layer above all, the gradient is the sum.
template <class Part, class Gradient, size_t N>
struct GradientInBatch {
  using type = Gradient;
};
template <class A, class Gradient, size_t N>
struct GradientInBatch<Batch<A, N>, Gradient, N> {
  using type = Batch<Gradient, N>;
};
template <class Gradient>
constexpr void add_element_gradient(Gradient& sum, const Gradient& gradient, size_t) {
  add_to_gradient(sum, gradient);
}
template <class Gradient, size_t N>
constexpr void add_element_gradient(Batch<Gradient, N>& each, const Gradient& gradient, size_t n) {
  each.element[n] = gradient;
}
template <class Map>
constexpr void add_map(Map& sum, const Map& map) {
  add_to_gradient(sum.weight, map.weight);
  add_to_gradient(sum.bias, map.bias);
}
template <class Layer>
constexpr void add_layer(Layer& sum, const Layer& layer) {
  add_map(sum.query, layer.query);
  add_map(sum.key, layer.key);
  add_map(sum.value, layer.value);
  add_map(sum.output, layer.output);
}

template <Rule rule = Rule{}, class Layer, class X, size_t N, class Y, class Z, class DOutput,
          size_t M, class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
requires batch_agrees<Y, Z, Visible, Bias, Sink, N> &&
    one_output_gradient_per_element_of_the_batch<M, N>
constexpr auto layer_gradient(const Layer& layer, const Batch<X, N>& query_tokens,
                              const Y& key_tokens, const Z& value_tokens,
                              const Batch<DOutput, M>& d_output, const Visible& mask = {},
                              const Bias& bias = {}, const Sink& sink = {}) {
  const auto of_element = [&](size_t n) {
    return layer_gradient<rule>(layer, query_tokens.element[n], part_of_element(key_tokens, n),
                                part_of_element(value_tokens, n), d_output.element[n],
                                part_of_element(mask, n), part_of_element(bias, n),
                                part_of_element(sink, n));
  };
  using Element = decltype(of_element(0));
  LayerGradient<Layer, Batch<X, N>, Y, Z,
                typename GradientInBatch<Bias, decltype(Element::bias), N>::type,
                typename GradientInBatch<Sink, decltype(Element::sink), N>::type>
      gradient;
  for (size_t n = 0; n < N; ++n) {
    const Element element = of_element(n);
    add_layer(gradient.layer, element.layer);
    add_element_gradient(gradient.query_tokens, element.query_tokens, n);
    add_element_gradient(gradient.key_tokens, element.key_tokens, n);
    add_element_gradient(gradient.value_tokens, element.value_tokens, n);
    add_element_gradient(gradient.bias, element.bias, n);
    add_element_gradient(gradient.sink, element.sink, n);
  }
  return gradient;
}

// Tokens that attend to one another are queries, keys and values at once: their gradient is the sum
// of the three.
template <class Layer, class X, class DBias, class DSink>
struct SelfAttentionGradient {
  Layer layer{};
  X tokens{};
  DBias bias{};
  DSink sink{};
};
template <Rule rule = Rule{}, class Layer, class X, class DOutput, class Visible = Everything,
          class Bias = NoBias, class Sink = NoSink>
constexpr auto self_attention_gradient(const Layer& layer, const X& tokens, const DOutput& d_output,
                                       const Visible& mask = {}, const Bias& bias = {},
                                       const Sink& sink = {}) {
  const auto gradient =
      layer_gradient<rule>(layer, tokens, tokens, tokens, d_output, mask, bias, sink);
  SelfAttentionGradient<Layer, X, decltype(gradient.bias), decltype(gradient.sink)> result{
      gradient.layer, gradient.query_tokens, gradient.bias, gradient.sink};
  add_to_gradient(result.tokens, gradient.key_tokens);
  add_to_gradient(result.tokens, gradient.value_tokens);
  return result;
}

template <class Layer, class X, class Y, class DBias, class DSink>
struct CrossAttentionGradient {
  Layer layer{};
  X tokens{};
  Y others{};
  DBias bias{};
  DSink sink{};
};
template <Rule rule = Rule{}, class Layer, class X, class Y, class DOutput,
          class Visible = Everything, class Bias = NoBias, class Sink = NoSink>
constexpr auto cross_attention_gradient(const Layer& layer, const X& tokens, const Y& others,
                                        const DOutput& d_output, const Visible& mask = {},
                                        const Bias& bias = {}, const Sink& sink = {}) {
  const auto gradient =
      layer_gradient<rule>(layer, tokens, others, others, d_output, mask, bias, sink);
  CrossAttentionGradient<Layer, X, Y, decltype(gradient.bias), decltype(gradient.sink)> result{
      gradient.layer, gradient.query_tokens, gradient.key_tokens, gradient.bias, gradient.sink};
  add_to_gradient(result.others, gradient.value_tokens);
  return result;
}

}  // namespace attest
