// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Attention in heads, a layer of it, and their gradients, written from the definitions and not from
// the headers: exact, with the error any honest program may make.
#pragma once
#include <functional>

#include "computed.hpp"

namespace tests {

// y = x·Wᵀ + b, W (out, in); no bias: an empty row.
template <class T>
struct ReferenceMap {
  Rows<T> weight;
  Row<T> bias;

  Rows<T> operator()(const Rows<T>& x) const {
    Rows<T> y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t o = 0; o < weight.size(); ++o) {
        Row<T> terms;
        for (std::size_t k = 0; k < x[i].size(); ++k)
          terms.push_back(product(x[i][k], weight[o][k]));
        if (!bias.empty()) terms.push_back(bias[o]);
        y[i].push_back(sum(terms));
      }
    return y;
  }
};

// d_W = d_yᵀ·x and d_b = Σ d_y, over all tokens of all sequences; no bias, no gradient.
template <class T>
ReferenceMap<T> map_gradient(const ReferenceMap<T>& map, const Rows<T>& x, const Rows<T>& d_y) {
  ReferenceMap<T> gradient;
  for (std::size_t o = 0; o < map.weight.size(); ++o) {
    gradient.weight.emplace_back();
    for (std::size_t k = 0; k < map.weight[o].size(); ++k) {
      Row<T> terms;
      for (std::size_t i = 0; i < x.size(); ++i) terms.push_back(product(d_y[i][o], x[i][k]));
      gradient.weight[o].push_back(sum(terms));
    }
    if (map.bias.empty()) continue;
    Row<T> terms;
    for (const auto& row : d_y) terms.push_back(row[o]);
    gradient.bias.push_back(sum(terms));
  }
  return gradient;
}

// d_x = Σ d_y·W over all maps that x goes through, as one sum.
template <class T>
struct Use {
  const ReferenceMap<T>& map;
  const Rows<T>& d_y;
};
template <class T>
Rows<T> token_gradient(const std::vector<Use<T>>& uses) {
  Rows<T> d_x(uses[0].d_y.size());
  for (std::size_t i = 0; i < d_x.size(); ++i)
    for (std::size_t k = 0; k < uses[0].map.weight[0].size(); ++k) {
      Row<T> terms;
      for (const auto& use : uses)
        for (std::size_t o = 0; o < use.map.weight.size(); ++o)
          terms.push_back(product(use.d_y[i][o], use.map.weight[o][k]));
      d_x[i].push_back(sum(terms));
    }
  return d_x;
}

template <class T>
Rows<T> columns(const Rows<T>& m, std::size_t first, std::size_t count) {
  Rows<T> part;
  for (const auto& row : m)
    part.emplace_back(row.begin() + static_cast<std::ptrdiff_t>(first),
                      row.begin() + static_cast<std::ptrdiff_t>(first + count));
  return part;
}
template <class T>
void append_columns(Rows<T>& m, const Rows<T>& more) {
  m.resize(more.size());
  for (std::size_t i = 0; i < more.size(); ++i)
    m[i].insert(m[i].end(), more[i].begin(), more[i].end());
}

// One head. The scale has two roundings; it multiplies the query before the product, or the product
// after: as many roundings of each term. Or both are multiplied by its root.
template <class T>
struct ReferenceHead {
  using Visible = std::function<bool(std::size_t, std::size_t)>;

  Rows<T> q, k, v;
  Visible visible;
  Rows<T> bias;  // empty: none
  Real scale;
  bool zero_key = false;  // one key and value of zeros more, that every query sees
  bool by_roots = false;

  Computed<T> scale_computed() const { return {scale, 2 * unit_roundoff<T> * abs(scale)}; }
  Rows<T> weights() const {
    Rows<T> p;
    const Real root = sqrt(scale);
    const Computed<T> root_computed{root, 2 * unit_roundoff<T> * root};
    for (std::size_t i = 0; i < q.size(); ++i) {
      Row<T> scores;
      std::vector<bool> seen;
      for (std::size_t j = 0; j < k.size(); ++j) {
        Row<T> terms;
        for (std::size_t t = 0; t < q[i].size(); ++t)
          terms.push_back(
              by_roots ? product(product(root_computed, q[i][t]), product(root_computed, k[j][t]))
                       : product(product(scale_computed(), q[i][t]), k[j][t]));
        Computed<T> score = sum(terms);
        if (!bias.empty()) score = sum(Row<T>{score, bias[i][j]});
        scores.push_back(score);
        seen.push_back(visible(i, j));
      }
      if (zero_key) {
        scores.push_back({});
        seen.push_back(true);
      }
      p.push_back(softmax(scores, seen));
    }
    return p;
  }
  Rows<T> output() const {
    const Rows<T> p = weights();
    Rows<T> o(q.size());
    for (std::size_t i = 0; i < q.size(); ++i)
      for (std::size_t t = 0; t < v[0].size(); ++t) {
        Row<T> terms;
        for (std::size_t j = 0; j < k.size(); ++j) terms.push_back(product(p[i][j], v[j][t]));
        o[i].push_back(sum(terms));
      }
    return o;
  }

  struct Gradient {
    Rows<T> q, k, v, bias;
  };
  Gradient gradient(const Rows<T>& d_output) const {
    const Rows<T> p = weights();
    Rows<T> d_score(q.size());
    for (std::size_t i = 0; i < q.size(); ++i) {
      Row<T> d_weight, mean;
      for (std::size_t j = 0; j < k.size(); ++j) {
        Row<T> terms;
        for (std::size_t t = 0; t < v[j].size(); ++t)
          terms.push_back(product(d_output[i][t], v[j][t]));
        d_weight.push_back(sum(terms));
        mean.push_back(product(p[i][j], d_weight[j]));
      }
      const Computed<T> level = sum(mean);
      for (std::size_t j = 0; j < k.size(); ++j)
        d_score[i].push_back(product(p[i][j], sum(Row<T>{d_weight[j], negative(level)})));
    }
    Rows<T> d_product = d_score;
    for (auto& row : d_product)
      for (auto& x : row) x = product(scale_computed(), x);
    if (by_roots)  // one rounding of each term more
      for (auto& row : d_product)
        for (auto& x : row) x.error += 3 * unit_roundoff<T> * largest_size(x);
    Gradient result;
    result.bias = d_score;
    for (std::size_t i = 0; i < q.size(); ++i) {
      result.q.emplace_back();
      for (std::size_t t = 0; t < q[i].size(); ++t) {
        Row<T> terms;
        for (std::size_t j = 0; j < k.size(); ++j)
          terms.push_back(product(d_product[i][j], k[j][t]));
        result.q[i].push_back(sum(terms));
      }
    }
    const auto over_queries = [&](const Rows<T>& a, const Rows<T>& b) {
      Rows<T> sums(k.size());
      for (std::size_t j = 0; j < k.size(); ++j)
        for (std::size_t t = 0; t < b[0].size(); ++t) {
          Row<T> terms;
          for (std::size_t i = 0; i < q.size(); ++i) terms.push_back(product(a[i][j], b[i][t]));
          sums[j].push_back(sum(terms));
        }
      return sums;
    };
    result.k = over_queries(d_product, q);
    result.v = over_queries(p, d_output);
    return result;
  }
};

// One sequence through a layer of as many key/value heads as heads.
template <class T>
struct ReferenceLayer {
  ReferenceMap<T> query, key, value, output;
  std::size_t heads;
};
template <class T>
struct ReferenceSequence {
  Rows<T> query_tokens, key_tokens, value_tokens;
  typename ReferenceHead<T>::Visible visible;
  std::vector<Rows<T>> bias;  // empty, or one for each head
  bool zero_key = false;
};
template <class T>
struct ReferenceForward {
  std::vector<ReferenceHead<T>> head;
  Rows<T> joined, output;
};
template <class T>
ReferenceForward<T> forward(const ReferenceLayer<T>& layer, const ReferenceSequence<T>& call) {
  const Rows<T> q = layer.query(call.query_tokens), k = layer.key(call.key_tokens),
                v = layer.value(call.value_tokens);
  const std::size_t d = q[0].size() / layer.heads, dv = v[0].size() / layer.heads;
  ReferenceForward<T> result;
  for (std::size_t h = 0; h < layer.heads; ++h) {
    result.head.push_back({columns(q, h * d, d), columns(k, h * d, d), columns(v, h * dv, dv),
                           call.visible, call.bias.empty() ? Rows<T>{} : call.bias[h],
                           1 / sqrt(Real(d)), call.zero_key});
    append_columns(result.joined, result.head[h].output());
  }
  result.output = layer.output(result.joined);
  return result;
}
template <class T>
struct ReferenceBackward {
  Rows<T> d_query, d_key, d_value;  // of the projections, all heads side by side
  std::vector<Rows<T>> bias;
};
template <class T>
ReferenceBackward<T> backward(const ReferenceLayer<T>& layer, const ReferenceForward<T>& forward,
                              const Rows<T>& d_output) {
  const Rows<T> d_joined = token_gradient<T>({{layer.output, d_output}});
  const std::size_t dv = d_joined[0].size() / layer.heads;
  ReferenceBackward<T> result;
  for (std::size_t h = 0; h < layer.heads; ++h) {
    const auto gradient = forward.head[h].gradient(columns(d_joined, h * dv, dv));
    append_columns(result.d_query, gradient.q);
    append_columns(result.d_key, gradient.k);
    append_columns(result.d_value, gradient.v);
    result.bias.push_back(gradient.bias);
  }
  return result;
}

}  // namespace tests
