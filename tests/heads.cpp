// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Heads and batches of random tokens: each head and each sequence is what it is alone, to the bit,
// and within the bound of attention.
#include "random_matrix.hpp"
//
#include <attest/gradient.hpp>
#include <attest/heads.hpp>
#include <attest/streaming.hpp>

#include "reference_attention.hpp"

namespace {
using namespace attest;
using namespace tests;

constexpr Rule tiled{.head_map = HeadMap::tiled};

// H of the role, each random.
template <class Role, size_t H>
Heads<Role, H> random_heads() {
  Heads<Role, H> heads;
  for (Role& role : heads.head)
    role.matrix = numbers<typename Role::value_type, Role::rows, Role::columns>();
  return heads;
}

template <class T, size_t Hq, size_t Hk, size_t Tq, size_t Tk, size_t D, size_t Dv>
void laws() {
  using Q = Query<T, Tq, D>;
  using K = Key<T, Tk, D>;
  using V = Value<T, Tk, Dv>;
  constexpr size_t group = Hq / Hk;

  rc::prop("S11: head h is the attention of query head h alone, to the bit", [] {
    const auto q = random_heads<Q, Hq>();
    const auto k = random_heads<K, Hk>();
    const auto v = random_heads<V, Hk>();
    Heads<Matrix<bool, Tq, Tk>, Hq> mask;
    for (auto& of_head : mask.head) of_head = masks<Tq, Tk>();
    const auto blocked_output = attention(q, k, v, mask);
    const auto tiled_output = attention<tiled>(q, k, v, causal);
    const auto with_log = attention_with_log_sum_exp(q, k, v, mask);
    const auto weights = attention_weights(q, k, mask);
    const auto scores = attention_scores(q, k);
    for (size_t h = 0; h < Hq; ++h) {
      const auto alone = attention(q[h], k[h / group], v[h / group], mask[h]);
      RC_ASSERT(blocked_output[h] == alone);
      RC_ASSERT(with_log[h].output == alone);
      RC_ASSERT(weights[h] == attention_weights(q[h], k[h / group], mask[h]));
      RC_ASSERT(scores[h] == attention_scores(q[h], k[h / group]));
      RC_ASSERT(tiled_output[h] == attention(q[h], k[h % Hk], v[h % Hk], causal));
    }
  });
  rc::prop("S11: every head is within the bound", [] {
    const auto q = random_heads<Q, Hq>();
    const auto k = random_heads<K, Hk>();
    const auto v = random_heads<V, Hk>();
    const auto output = attention(q, k, v, causal);
    for (size_t h = 0; h < Hq; ++h) {
      const size_t read = h / group;
      const auto exact = reference_attention(q[h].matrix, k[read].matrix, v[read].matrix, causal);
      for (size_t i = 0; i < Tq; ++i)
        for (size_t t = 0; t < Dv; ++t)
          RC_ASSERT(abs(Real(Real(output[h][i][t]) - exact.output[i][t])) <= exact.bound[i][t]);
    }
  });
  rc::prop("S11: shuffled heads give shuffled outputs, to the bit", [] {
    const auto q = random_heads<Q, Hq>();
    const auto k = random_heads<K, Hq>();
    const auto v = random_heads<V, Hq>();
    const auto order = order_of(Hq);
    auto shuffled_q = q;
    auto shuffled_k = k;
    auto shuffled_v = v;
    for (size_t h = 0; h < Hq; ++h) {
      shuffled_q[h] = q[order[h]];
      shuffled_k[h] = k[order[h]];
      shuffled_v[h] = v[order[h]];
    }
    const auto output = attention(q, k, v);
    const auto shuffled = attention(shuffled_q, shuffled_k, shuffled_v);
    for (size_t h = 0; h < Hq; ++h) RC_ASSERT(shuffled[h] == output[order[h]]);
  });
  rc::prop("S12: element n of a batch is the attention of element n, to the bit", [] {
    const Batch q{random_heads<Q, Hq>(), random_heads<Q, Hq>(), random_heads<Q, Hq>()};
    const Batch k{random_heads<K, Hk>(), random_heads<K, Hk>(), random_heads<K, Hk>()};
    const Batch v{random_heads<V, Hk>(), random_heads<V, Hk>(), random_heads<V, Hk>()};
    const Batch mask{masks<Tq, Tk>(), masks<Tq, Tk>(), masks<Tq, Tk>()};
    const auto output = attention(q, k, v, mask);
    const auto with_shared_keys = attention(q, k[0], v[0], causal);
    for (size_t n = 0; n < 3; ++n) {
      RC_ASSERT(output[n] == attention(q[n], k[n], v[n], mask[n]));
      RC_ASSERT(with_shared_keys[n] == attention(q[n], k[0], v[0], causal));
    }
  });
  rc::prop("S12: so are scores, partial results and gradients", [] {
    const Batch q{random_heads<Q, Hq>(), random_heads<Q, Hq>()};
    const Batch k{random_heads<K, Hk>(), random_heads<K, Hk>()};
    const Batch v{random_heads<V, Hk>(), random_heads<V, Hk>()};
    const Batch mask{masks<Tq, Tk>(), masks<Tq, Tk>()};
    Batch<Heads<Matrix<T, Tq, Dv>, Hq>, 2> d_output;
    for (auto& of_element : d_output.element)
      for (auto& of_head : of_element.head) of_head = numbers<T, Tq, Dv>();
    const auto scores = attention_scores(q, k);
    constexpr Rule past{.causal = true};  // looks at where a tile begins
    const auto partial = partial_attention<past>(q, k, v, 1, mask);
    const auto gradient = attention_gradient(q, k, v, d_output, mask);
    for (size_t n = 0; n < 2; ++n) {
      RC_ASSERT(scores[n] == attention_scores(q[n], k[n]));
      RC_ASSERT(partial[n] == partial_attention<past>(q[n], k[n], v[n], 1, mask[n]));
      RC_ASSERT(finish(partial)[n] == finish(partial[n]));
      const auto alone = attention_gradient(q[n], k[n], v[n], d_output[n], mask[n]);
      RC_ASSERT(gradient.query[n] == alone.query);
      RC_ASSERT(gradient.key[n] == alone.key);
      RC_ASSERT(gradient.value[n] == alone.value);
    }
    // What both share begins with what the first adds, and the second adds to that.
    auto second_unmoved = d_output;
    second_unmoved[1] = {};
    const auto of_shared = attention_gradient(q, k[0], v[0], second_unmoved, mask[0]);
    const auto of_first = attention_gradient(q[0], k[0], v[0], d_output[0], mask[0]);
    RC_ASSERT(of_shared.key == of_first.key);
    RC_ASSERT(of_shared.value == of_first.value);
  });
  rc::prop("join_heads undoes split_heads: column h·D + d is entry d of head h", [] {
    const auto joined = numbers<T, Tq, Hq * D>();
    const auto split = split_heads<Hq>(joined);
    const auto roles = split_heads<Hq>(Query{joined});
    for (size_t i = 0; i < Tq; ++i)
      for (size_t c = 0; c < Hq * D; ++c) RC_ASSERT(split[c / D][i][c % D] == joined[i][c]);
    for (size_t h = 0; h < Hq; ++h) RC_ASSERT(roles[h].matrix == split[h]);
    RC_ASSERT(join_heads(split) == joined);
  });
}

}  // namespace

TEST_CASE("heads in float", "[heads]") {
  SECTION("four query heads, two key/value heads") {
    laws<float, 4, 2, 3, 5, 4, 2>();
  }
  SECTION("three query heads, one key/value head") {
    laws<float, 3, 1, 2, 4, 3, 5>();
  }
}

TEST_CASE("heads in double", "[heads]") {
  laws<double, 6, 3, 2, 3, 2, 3>();
}
