// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// PyTorch's nn.MultiheadAttention and scaled_dot_product_attention, their weights imported: outputs
// and gradients, PyTorch's and ours, are both within the error that the arithmetic allows of the
// exact ones.
#include "catch.hpp"
//
#include <attest/layer_gradient.hpp>
#include <string>
#include <type_traits>

#include "arrays.hpp"
#include "reference_layer.hpp"

namespace {
using namespace attest;
using namespace tests;

template <class T, size_t R, size_t C>
Rows<T> exact(const Matrix<T, R, C>& m) {
  Rows<T> rows(R);
  for (size_t i = 0; i < R; ++i)
    for (T x : m.entries[i]) rows[i].push_back({Real(x), Real()});
  return rows;
}
template <class T, size_t In, size_t Out>
ReferenceMap<T> exact(const Linear<T, In, Out>& map) {
  return {exact(map.weight), exact(map.bias)[0]};
}
template <class T, size_t In, size_t Out>
ReferenceMap<T> exact(const Linear<T, In, Out, NoBias>& map) {
  return {exact(map.weight), {}};
}
template <class Layer>
auto exact_layer(const Layer& layer) {
  return ReferenceLayer<typename Layer::value_type>{exact(layer.query), exact(layer.key),
                                                    exact(layer.value), exact(layer.output),
                                                    Layer::query_heads};
}

// Both are within the bound. Of the bound at least a hundredth is used by either somewhere: a
// bound that nothing comes near would hold whatever was computed.
template <class T>
class Comparison {
 public:
  template <size_t R, size_t C>
  void operator()(const std::string& what, const Matrix<T, R, C>& ours,
                  const Matrix<T, R, C>& pytorch, const Rows<T>& reference) {
    INFO(what);
    REQUIRE(reference.size() == R);
    for (size_t i = 0; i < R; ++i) {
      REQUIRE(reference[i].size() == C);
      for (size_t j = 0; j < C; ++j) {
        const auto& x = reference[i][j];
        const Real our_error = abs(Real(Real(ours[i][j]) - x.value));
        const Real their_error = abs(Real(Real(pytorch[i][j]) - x.value));
        CAPTURE(i, j, ours[i][j], pytorch[i][j], x.value, x.error);
        CHECK(our_error <= x.error);
        CHECK(their_error <= x.error);
        if (x.error > 0) {
          closest_ = std::max(closest_, Real(our_error / x.error));
          their_closest_ = std::max(their_closest_, Real(their_error / x.error));
        }
      }
    }
  }
  ~Comparison() {
    UNSCOPED_INFO("of the bound at most: we " << static_cast<double>(closest_) << ", PyTorch "
                                              << static_cast<double>(their_closest_));
    CHECK(closest_ > Real(0.01));
    CHECK(their_closest_ > Real(0.01));
  }
  Comparison() = default;
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

 private:
  Real closest_, their_closest_;
};

template <class T, size_t E, class OutBias>
auto projection_bias(const Arrays<T>& arrays) {
  if constexpr (std::is_same_v<OutBias, NoBias>)
    return no_bias;
  else
    return arrays.template matrix<1, 3 * E>("in_proj_bias");
}
template <class T, size_t E, bool biased>
auto output_bias(const Arrays<T>& arrays) {
  if constexpr (biased)
    return arrays.template matrix<1, E>("out_proj.bias");
  else
    return no_bias;
}
template <class T, size_t E, size_t H, bool biased = true>
auto packed_layer(const Arrays<T>& arrays) {
  const auto out_bias = output_bias<T, E, biased>(arrays);
  return from_pytorch<H>(arrays.template matrix<3 * E, E>("in_proj_weight"),
                         projection_bias<T, E, std::remove_const_t<decltype(out_bias)>>(arrays),
                         arrays.template matrix<E, E>("out_proj.weight"), out_bias);
}

template <class T, size_t In, size_t Out, class Bias>
void compare_map(Comparison<T>& compare, const std::string& name,
                 const Linear<T, In, Out, Bias>& gradient, const Matrix<T, Out, In>& pytorch_weight,
                 const Bias& pytorch_bias, const ReferenceMap<T>& reference) {
  compare(name + ".weight", gradient.weight, pytorch_weight, reference.weight);
  if constexpr (!std::is_same_v<Bias, NoBias>)
    compare(name + ".bias", gradient.bias, pytorch_bias, Rows<T>{reference.bias});
}

// The gradients of a layer's maps, over the projections and tokens of all sequences.
template <class T>
struct MapGradients {
  Rows<T> x_query, x_key, x_value, d_query, d_key, d_value, joined, d_output;

  void add(const ReferenceSequence<T>& call, const ReferenceForward<T>& forward,
           const ReferenceBackward<T>& backward, const Rows<T>& d_out) {
    const auto append = [](Rows<T>& all, const Rows<T>& more) {
      all.insert(all.end(), more.begin(), more.end());
    };
    append(x_query, call.query_tokens), append(d_query, backward.d_query);
    append(x_key, call.key_tokens), append(d_key, backward.d_key);
    append(x_value, call.value_tokens), append(d_value, backward.d_value);
    append(joined, forward.joined), append(d_output, d_out);
  }
};
template <class T, size_t E, size_t H, bool biased, class Layer>
void compare_packed(Comparison<T>& compare, const Arrays<T>& arrays, const Layer& gradient,
                    const ReferenceLayer<T>& layer, const MapGradients<T>& maps) {
  const auto in = arrays.template matrix<3 * E, E>("d_in_proj_weight");
  const auto part_of_bias = [&]<size_t first>() {
    if constexpr (biased)
      return columns_from<first, E>(arrays.template matrix<1, 3 * E>("d_in_proj_bias"));
    else
      return no_bias;
  };
  compare_map(compare, "d query", gradient.query, rows_from<0, E>(in),
              part_of_bias.template operator()<0>(),
              map_gradient(layer.query, maps.x_query, maps.d_query));
  compare_map(compare, "d key", gradient.key, rows_from<E, E>(in),
              part_of_bias.template operator()<E>(),
              map_gradient(layer.key, maps.x_key, maps.d_key));
  compare_map(compare, "d value", gradient.value, rows_from<2 * E, E>(in),
              part_of_bias.template operator()<2 * E>(),
              map_gradient(layer.value, maps.x_value, maps.d_value));
  const auto out_bias = [&] {
    if constexpr (biased)
      return arrays.template matrix<1, E>("d_out_proj.bias");
    else
      return no_bias;
  }();
  compare_map(compare, "d output", gradient.output,
              arrays.template matrix<E, E>("d_out_proj.weight"), out_bias,
              map_gradient(layer.output, maps.joined, maps.d_output));
}

template <class T, size_t E, size_t H, size_t N, bool biased, class Visible, class Sink>
void self(const std::string& name, const Visible& mask, const Sink& sink) {
  const Arrays<T> arrays(name);
  const auto layer = packed_layer<T, E, H, biased>(arrays);
  const auto x = arrays.template matrix<N, E>("query");
  const auto d_output = arrays.template matrix<N, E>("d_output");
  const auto reference = exact_layer(layer);
  const ReferenceSequence<T> call{exact(x), exact(x),
                                  exact(x), [&](size_t i, size_t j) { return sees(mask, i, j); },
                                  {},       !std::is_same_v<Sink, NoSink>};
  const auto there = forward(reference, call);
  const auto back = backward(reference, there, exact(d_output));

  Comparison<T> compare;
  compare("output", self_attention(layer, x, mask, no_bias, sink),
          arrays.template matrix<N, E>("output"), there.output);
  const auto heads = projected(layer, x, x, x);
  const auto weights = attention_weights(heads.query, heads.key, mask, no_bias, sink);
  if constexpr (std::is_same_v<Sink, NoSink>)
    for (size_t h = 0; h < H; ++h)
      compare("weights", weights[h], arrays.template matrix<N, N>("weights", h),
              there.head[h].weights());
  const auto gradient = self_attention_gradient(layer, x, d_output, mask, no_bias, sink);
  compare("d_query", gradient.tokens, arrays.template matrix<N, E>("d_query"),
          token_gradient<T>({{reference.query, back.d_query},
                             {reference.key, back.d_key},
                             {reference.value, back.d_value}}));
  MapGradients<T> maps;
  maps.add(call, there, back, exact(d_output));
  compare_packed<T, E, H, biased>(compare, arrays, gradient.layer, reference, maps);
}

// key_padding_mask says True of what is hidden.
template <class T>
void self_in_a_batch() {
  constexpr size_t E = 8, H = 4, N = 4;
  const Arrays<T> arrays("self_batch");
  const auto layer = packed_layer<T, E, H>(arrays);
  const auto reference = exact_layer(layer);
  Batch<Matrix<T, N, E>, 2> x, d_output;
  Batch<Matrix<bool, N, N>, 2> mask;
  for (size_t n = 0; n < 2; ++n) {
    x[n] = arrays.template matrix<N, E>("query", n);
    d_output[n] = arrays.template matrix<N, E>("d_output", n);
    const auto hidden = arrays.template matrix<1, N, bool>("key_padding_mask", n);
    for (size_t i = 0; i < N; ++i)
      for (size_t j = 0; j < N; ++j) mask[n][i][j] = !hidden[0][j];
  }
  const auto output = self_attention(layer, x, mask);
  const auto gradient = self_attention_gradient(layer, x, d_output, mask);
  Comparison<T> compare;
  MapGradients<T> maps;
  for (size_t n = 0; n < 2; ++n) {
    const ReferenceSequence<T> call{exact(x[n]),
                                    exact(x[n]),
                                    exact(x[n]),
                                    [&, n](size_t i, size_t j) { return mask[n][i][j]; },
                                    {}};
    const auto there = forward(reference, call);
    const auto back = backward(reference, there, exact(d_output[n]));
    compare("output", output[n], arrays.template matrix<N, E>("output", n), there.output);
    compare("d_query", gradient.tokens[n], arrays.template matrix<N, E>("d_query", n),
            token_gradient<T>({{reference.query, back.d_query},
                               {reference.key, back.d_key},
                               {reference.value, back.d_value}}));
    maps.add(call, there, back, exact(d_output[n]));
  }
  compare_packed<T, E, H, true>(compare, arrays, gradient.layer, reference, maps);
}

// Keys and values of tokens of other widths: kdim, vdim.
template <class T>
void cross() {
  constexpr size_t E = 8, H = 2, Tq = 4, Tk = 7, Ek = 6, Ev = 5;
  const Arrays<T> arrays("cross");
  const auto layer = from_pytorch<H>(arrays.template matrix<E, E>("q_proj_weight"),
                                     arrays.template matrix<E, Ek>("k_proj_weight"),
                                     arrays.template matrix<E, Ev>("v_proj_weight"),
                                     arrays.template matrix<1, 3 * E>("in_proj_bias"),
                                     arrays.template matrix<E, E>("out_proj.weight"),
                                     arrays.template matrix<1, E>("out_proj.bias"));
  const auto x = arrays.template matrix<Tq, E>("query");
  const auto y = arrays.template matrix<Tk, Ek>("key");
  const auto z = arrays.template matrix<Tk, Ev>("value");
  const auto d_output = arrays.template matrix<Tq, E>("d_output");
  const auto reference = exact_layer(layer);
  const ReferenceSequence<T> call{
      exact(x), exact(y), exact(z), [](size_t, size_t) { return true; }, {}};
  const auto there = forward(reference, call);
  const auto back = backward(reference, there, exact(d_output));

  Comparison<T> compare;
  compare("output", multi_head_attention(layer, x, y, z), arrays.template matrix<Tq, E>("output"),
          there.output);
  const auto gradient = layer_gradient(layer, x, y, z, d_output);
  compare("d_query", gradient.query_tokens, arrays.template matrix<Tq, E>("d_query"),
          token_gradient<T>({{reference.query, back.d_query}}));
  compare("d_key", gradient.key_tokens, arrays.template matrix<Tk, Ek>("d_key"),
          token_gradient<T>({{reference.key, back.d_key}}));
  compare("d_value", gradient.value_tokens, arrays.template matrix<Tk, Ev>("d_value"),
          token_gradient<T>({{reference.value, back.d_value}}));
  const auto bias = arrays.template matrix<1, 3 * E>("d_in_proj_bias");
  compare_map(compare, "d query", gradient.layer.query,
              arrays.template matrix<E, E>("d_q_proj_weight"), columns_from<0, E>(bias),
              map_gradient(reference.query, call.query_tokens, back.d_query));
  compare_map(compare, "d key", gradient.layer.key,
              arrays.template matrix<E, Ek>("d_k_proj_weight"), columns_from<E, E>(bias),
              map_gradient(reference.key, call.key_tokens, back.d_key));
  compare_map(compare, "d value", gradient.layer.value,
              arrays.template matrix<E, Ev>("d_v_proj_weight"), columns_from<2 * E, E>(bias),
              map_gradient(reference.value, call.value_tokens, back.d_value));
  compare_map(compare, "d output", gradient.layer.output,
              arrays.template matrix<E, E>("d_out_proj.weight"),
              arrays.template matrix<1, E>("d_out_proj.bias"),
              map_gradient(reference.output, there.joined, exact(d_output)));
}

// An additive mask for each head, and its gradient.
template <class T>
void cross_masked() {
  constexpr size_t E = 6, H = 2, Tq = 4, Tk = 5;
  const Arrays<T> arrays("cross_masked");
  const auto layer = packed_layer<T, E, H>(arrays);
  const auto x = arrays.template matrix<Tq, E>("query");
  const auto y = arrays.template matrix<Tk, E>("key");
  const auto z = arrays.template matrix<Tk, E>("value");
  const auto d_output = arrays.template matrix<Tq, E>("d_output");
  Heads<Matrix<T, Tq, Tk>, H> bias;
  for (size_t h = 0; h < H; ++h) bias[h] = arrays.template matrix<Tq, Tk>("attn_mask", h);
  const auto reference = exact_layer(layer);
  const ReferenceSequence<T> call{exact(x),
                                  exact(y),
                                  exact(z),
                                  [](size_t, size_t) { return true; },
                                  {exact(bias[0]), exact(bias[1])}};
  const auto there = forward(reference, call);
  const auto back = backward(reference, there, exact(d_output));

  Comparison<T> compare;
  compare("output", multi_head_attention(layer, x, y, z, everything, bias),
          arrays.template matrix<Tq, E>("output"), there.output);
  const auto gradient = layer_gradient(layer, x, y, z, d_output, everything, bias);
  for (size_t h = 0; h < H; ++h)
    compare("d_attn_mask", gradient.bias[h], arrays.template matrix<Tq, Tk>("d_attn_mask", h),
            back.bias[h]);
  compare("d_key", gradient.key_tokens, arrays.template matrix<Tk, E>("d_key"),
          token_gradient<T>({{reference.key, back.d_key}}));
  MapGradients<T> maps;
  maps.add(call, there, back, exact(d_output));
  compare_packed<T, E, H, true>(compare, arrays, gradient.layer, reference, maps);
}

// scaled_dot_product_attention, of Hq heads over Hk: heads repeated in blocks, and in the gradient
// added.
template <Rule rule, class T, size_t Hq, size_t Hk, size_t Tq, size_t Tk, size_t D, size_t Dv,
          class Visible>
void product_in_heads(const std::string& name, const Visible& mask) {
  const Arrays<T> arrays(name);
  Heads<Query<T, Tq, D>, Hq> q;
  Heads<Key<T, Tk, D>, Hk> k;
  Heads<Value<T, Tk, Dv>, Hk> v;
  Heads<Matrix<T, Tq, Dv>, Hq> d_output;
  for (size_t h = 0; h < Hq; ++h) {
    q[h] = {arrays.template matrix<Tq, D>("query", h)};
    d_output[h] = arrays.template matrix<Tq, Dv>("d_output", h);
  }
  for (size_t h = 0; h < Hk; ++h) {
    k[h] = {arrays.template matrix<Tk, D>("key", h)};
    v[h] = {arrays.template matrix<Tk, Dv>("value", h)};
  }
  const auto output = attention<rule>(q, k, v, mask);
  const auto gradient = attention_gradient<rule>(q, k, v, d_output, mask);
  Comparison<T> compare;
  constexpr size_t group = Hq / Hk;
  for (size_t read = 0; read < Hk; ++read) {
    std::vector<Rows<T>> d_keys, d_values;
    for (size_t h = read * group; h < (read + 1) * group; ++h) {
      ReferenceHead<T> head{exact(q[h].matrix),
                            exact(k[read].matrix),
                            exact(v[read].matrix),
                            [&](size_t i, size_t j) { return sees(mask, i, j); },
                            {},
                            rule.scale.by_width ? 1 / sqrt(Real(D)) : Real(rule.scale.given)};
      head.by_roots = true;
      compare("output", output[h], arrays.template matrix<Tq, Dv>("output", h), head.output());
      const auto exact_gradient = head.gradient(exact(d_output[h]));
      compare("d_query", gradient.query[h], arrays.template matrix<Tq, D>("d_query", h),
              exact_gradient.q);
      d_keys.push_back(exact_gradient.k);
      d_values.push_back(exact_gradient.v);
    }
    const auto added = [](const std::vector<Rows<T>>& parts) {
      Rows<T> total = parts[0];
      for (size_t i = 0; i < total.size(); ++i)
        for (size_t t = 0; t < total[i].size(); ++t) {
          Row<T> terms;
          for (const auto& part : parts) terms.push_back(part[i][t]);
          total[i][t] = sum(terms);
          // We add every query's term to the sum of the heads before, one after the other: as many
          // roundings more, for each term, as there are queries.
          for (const auto& part : parts)
            total[i][t].error += Tq * unit_roundoff<T> * largest_size(part[i][t]);
        }
      return total;
    };
    compare("d_key", gradient.key[read], arrays.template matrix<Tk, D>("d_key", read),
            added(d_keys));
    compare("d_value", gradient.value[read], arrays.template matrix<Tk, Dv>("d_value", read),
            added(d_values));
  }
}

template <class T>
void products() {
  product_in_heads<Rule{}, T, 2, 2, 5, 5, 6, 4>("product_causal", causal);
  const auto mask = Arrays<T>("product_grouped").template matrix<4, 6, bool>("attn_mask");
  product_in_heads<Rule{.scale = Scale::of(0.7)}, T, 4, 2, 4, 6, 6, 6>("product_grouped", mask);
}

}  // namespace

TEST_CASE("nn.MultiheadAttention, self attention", "[pytorch]") {
  self<float, 8, 2, 5, true>("self", everything, NoSink{});
  self<double, 8, 2, 5, true>("self", everything, NoSink{});
}
// attn_mask says True of what is hidden: the upper triangle without the diagonal.
TEST_CASE("nn.MultiheadAttention, causal, without biases", "[pytorch]") {
  const auto hidden = Arrays<float>("self_causal").matrix<6, 6, bool>("attn_mask");
  for (size_t i = 0; i < 6; ++i)
    for (size_t j = 0; j < 6; ++j) REQUIRE(hidden[i][j] == !sees(causal, i, j));
  self<float, 12, 3, 6, false>("self_causal", causal, NoSink{});
  self<double, 12, 3, 6, false>("self_causal", causal, NoSink{});
}
TEST_CASE("nn.MultiheadAttention, add_zero_attn is a sink of score 0", "[pytorch]") {
  self<float, 8, 2, 3, true>("self_zero", everything, Sink{0.f});
  self<double, 8, 2, 3, true>("self_zero", everything, Sink{0.});
}
TEST_CASE("nn.MultiheadAttention, a batch with key_padding_mask", "[pytorch]") {
  self_in_a_batch<float>();
  self_in_a_batch<double>();
}
TEST_CASE("nn.MultiheadAttention, cross attention, kdim and vdim", "[pytorch]") {
  cross<float>();
  cross<double>();
}
TEST_CASE("nn.MultiheadAttention, cross attention with an additive mask per head", "[pytorch]") {
  cross_masked<float>();
  cross_masked<double>();
}
TEST_CASE("scaled_dot_product_attention, causal and grouped", "[pytorch]") {
  products<float>();
  products<double>();
}
