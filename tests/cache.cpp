// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Random tokens through a cache and through a ring, longer than the lanes of softmax are many: the
// rows of the whole sequence, to the bit.
#include "random_matrix.hpp"
//
#include <attest/cache.hpp>
#include <limits>

namespace {
using namespace attest;
using namespace tests;

template <size_t length, class T, size_t R, size_t C>
Matrix<T, length, C> rows_from(const Matrix<T, R, C>& m, size_t first) {
  Matrix<T, length, C> part;
  for (size_t i = 0; i < length; ++i)
    for (size_t t = 0; t < C; ++t) part[i][t] = m[first + i][t];
  return part;
}

constexpr Rule causally{.causal = true};

// What has not been stored yet, or must not be read, would show.
template <class Cache>
Cache full_of_nan() {
  Cache cache;
  using T = typename Cache::number_type;
  for (auto& row : cache.key.matrix.entries)
    for (T& x : row) x = std::numeric_limits<T>::quiet_NaN();
  for (auto& row : cache.value.matrix.entries)
    for (T& x : row) x = std::numeric_limits<T>::quiet_NaN();
  return cache;
}

template <class T, size_t Tokens, size_t D, size_t Dv>
struct Sequence {
  Matrix<T, Tokens, D> q = numbers<T, Tokens, D>();
  Matrix<T, Tokens, D> k = numbers<T, Tokens, D>();
  Matrix<T, Tokens, Dv> v = numbers<T, Tokens, Dv>();
  T sink = numbers<T, 1, 1>()[0][0];
};

template <Rule rule, size_t portion, class Cache, class T, size_t Tokens, size_t D, size_t Dv>
void is_the_whole(const Sequence<T, Tokens, D, Dv>& s) {
  const auto whole = attention_with_log_sum_exp<rule>(Query{s.q}, Key{s.k}, Value{s.v}, everything,
                                                      no_bias, Sink{s.sink});
  auto cache = full_of_nan<Cache>();
  for (size_t first = 0; first + portion <= Tokens; first += portion) {
    const Key keys{rows_from<portion>(s.k, first)};
    const Value values{rows_from<portion>(s.v, first)};
    if constexpr (Cache::rolls)
      cache.append(keys, values);
    else
      RC_ASSERT(cache.append(keys, values));
    const Query newest{rows_from<portion>(s.q, first)};
    const auto result =
        attention_with_log_sum_exp<rule>(newest, cache, everything, no_bias, Sink{s.sink});
    RC_ASSERT(result.output == rows_from<portion>(whole.output, first));
    RC_ASSERT(result.output == attention<rule>(newest, cache, everything, no_bias, Sink{s.sink}));
    for (size_t i = 0; i < portion; ++i)
      RC_ASSERT(result.log_sum_exp[i] == whole.log_sum_exp[first + i]);
  }
}

template <class T>
void laws() {
  constexpr size_t D = 3, Dv = 2;
  rc::prop("cache = whole, one at a time and in portions", [] {
    const Sequence<T, 45, D, Dv> s;
    is_the_whole<causally, 1, KeyValueCache<T, 45, D, Dv>>(s);
    is_the_whole<causally, 7, KeyValueCache<T, 60, D, Dv>>(s);
  });
  rc::prop("under ALiBi, a softcap and a window to the left", [] {
    const Sequence<T, 12, D, Dv> s;
    is_the_whole<Rule{.softcap = 3, .alibi = true, .causal = true, .window_left = 4}, 2,
                 KeyValueCache<T, 12, D, Dv>>(s);
  });
  rc::prop("a ring of W = whole with a window of W - 1", [] {
    const Sequence<T, 100, D, Dv> s;
    is_the_whole<Rule{.causal = true, .window_left = 6}, 1, RollingKeyValueCache<T, 7, D, Dv>>(s);
    is_the_whole<Rule{.causal = true, .window_left = 31}, 1, RollingKeyValueCache<T, 32, D, Dv>>(s);
    is_the_whole<Rule{.causal = true, .window_left = 70}, 1, RollingKeyValueCache<T, 71, D, Dv>>(s);
    is_the_whole<Rule{.alibi = true, .causal = true, .window_left = 10}, 4,
                 RollingKeyValueCache<T, 14, D, Dv>>(s);
  });
  rc::prop("column j of a mask is the j-th token held", [] {
    const Sequence<T, 9, D, Dv> s;
    const auto mask = masks<1, 5>();
    RollingKeyValueCache<T, 5, D, Dv> ring;
    ring.append(Key{s.k}, Value{s.v});
    const Query newest{rows_from<1>(s.q, 8)};
    constexpr Rule windowed{.window_left = 4};
    const auto output = attention<windowed>(newest, ring, mask);
    const auto last_five = attention(newest, Key{s.k}, Value{s.v},
                                     [&](size_t, size_t j) { return j >= 4 && mask[0][j - 4]; });
    RC_ASSERT(output == last_five);
  });
  rc::prop("append stores all or nothing", [] {
    const Sequence<T, 9, D, Dv> s;
    KeyValueCache<T, 11, D, Dv> cache;
    RC_ASSERT(cache.append(Key{s.k}, Value{s.v}));
    const auto before = cache;
    RC_ASSERT(!cache.append(Key{rows_from<3>(s.k, 0)}, Value{rows_from<3>(s.v, 0)}));
    RC_ASSERT(cache.length == 9u);
    RC_ASSERT(cache.key.matrix == before.key.matrix);
    RC_ASSERT(cache.value.matrix == before.value.matrix);
  });
}

}  // namespace

TEST_CASE("a cache in float", "[cache]") {
  laws<float>();
}
TEST_CASE("a cache in double", "[cache]") {
  laws<double>();
}
