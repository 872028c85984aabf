// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Maps of random tokens: their error against a hundred digits, and the same bits whichever way the
// weights are stored. Layers are held to PyTorch in tests/pytorch.
#include "random_matrix.hpp"
//
#include <attest/layer_gradient.hpp>

#include "reference_attention.hpp"

namespace {
using namespace attest;
using namespace tests;

template <class T, size_t R, size_t In, size_t Out>
void maps() {
  rc::prop("the error of a map is within the bound", [] {
    const auto x = numbers<T, R, In>();
    const Linear map{numbers<T, Out, In>(), numbers<T, 1, Out>()};
    const auto y = map(x);
    for (size_t i = 0; i < R; ++i)
      for (size_t j = 0; j < Out; ++j) {
        Real exact = Real(map.bias[0][j]), size;
        for (size_t k = 0; k < In; ++k) {
          const Real term = Real(x[i][k]) * Real(map.weight[j][k]);
          exact += term;
          size += abs(term);
        }
        RC_ASSERT(abs(Real(Real(y[i][j]) - exact)) <=
                  unit_roundoff<T> * (In * size + abs(Real(y[i][j]))) + In * smallest<T>);
      }
  });
  rc::prop("S20: x W^T + b is the same to the bit whichever way W is stored", [] {
    const auto x = numbers<T, R, In>();
    const Linear map{numbers<T, Out, In>(), numbers<T, 1, Out>()};
    RC_ASSERT(map(x) == transpose(map)(x));
    RC_ASSERT(Linear{map.weight}(x) == x * transpose(map.weight));
  });
  rc::prop("S20: gradients are the same to the bit whichever way W is stored", [] {
    const auto x = numbers<T, R, In>();
    const auto d_y = numbers<T, R, Out>();
    const Linear map{numbers<T, Out, In>(), numbers<T, 1, Out>()};
    const auto dense = transpose(map);
    std::remove_const_t<decltype(map)> d_map;
    std::remove_const_t<decltype(dense)> d_dense;
    RC_ASSERT(add_map_gradient(map, x, d_y, d_map) == add_map_gradient(dense, x, d_y, d_dense));
    RC_ASSERT(d_map.weight == transpose(d_dense.weight));
    RC_ASSERT(d_map.bias == d_dense.bias);
    RC_ASSERT(d_map.weight == transpose(d_y) * x);
  });
}

template <class T>
void layers() {
  using Layer = MultiHeadAttention<T, 6, 4, 2, LayerShape{.head = 3, .head_value = 2}>;
  const auto any_layer = [] {
    return Layer{{numbers<T, 12, 6>(), numbers<T, 1, 12>()},
                 {numbers<T, 6, 6>(), numbers<T, 1, 6>()},
                 {numbers<T, 4, 6>(), numbers<T, 1, 4>()},
                 {numbers<T, 6, 8>(), numbers<T, 1, 6>()}};
  };
  rc::prop("S20: a layer of grouped heads is the same to the bit whichever way it is stored", [&] {
    const auto layer = any_layer();
    const auto x = numbers<T, 5, 6>();
    RC_ASSERT(self_attention(layer, x, causal) == self_attention(transpose(layer), x, causal));
  });
  rc::prop("S10: in a causal layer what comes later changes nothing, to the bit", [&] {
    const auto layer = any_layer();
    const auto x = numbers<T, 5, 6>();
    const auto t = index_below(5);
    auto later = numbers<T, 5, 6>();
    for (size_t i = 0; i <= t; ++i)
      for (size_t k = 0; k < 6; ++k) later[i][k] = x[i][k];
    const auto a = self_attention(layer, x, causal), b = self_attention(layer, later, causal);
    for (size_t i = 0; i <= t; ++i)
      for (size_t k = 0; k < 6; ++k) RC_ASSERT(a[i][k] == b[i][k]);
  });
}

}  // namespace

TEST_CASE("maps of a layer in float", "[layer]") {
  SECTION("3 tokens, 11 in, 5 out") {
    maps<float, 3, 11, 5>();
  }
  SECTION("1 token, 1 in, 1 out") {
    maps<float, 1, 1, 1>();
  }
}
TEST_CASE("maps of a layer in double", "[layer]") {
  maps<double, 2, 19, 4>();
}
TEST_CASE("layers", "[layer]") {
  SECTION("float") {
    layers<float>();
  }
  SECTION("double") {
    layers<double>();
  }
}
