// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What attention promises, each promise once: predicates over any attention, to be proved by
// static_assert, tried on random input, or asked of someone else's implementation.
#pragma once
#include <attest/error_bound.hpp>
#include <attest/exp.hpp>
#include <attest/heads.hpp>
#include <attest/mask.hpp>
#include <attest/roles.hpp>
#include <attest/roundoff.hpp>

// Every law takes an attention under test: anything that is called with (query, key, value) and
// returns the matrix of outputs, mask, bias, rule and number type being its own affair. Where its
// number type rounds, the law also asks how far the output may be from the exact one, entry by
// entry (a Matrix<double>, attention_error_bound for instance); two results agree if they differ by
// no more than both together may. Exact numbers agree only if they are equal. Where a law says that
// sums or products of inputs are exact, choose inputs for which they are: small integers, or few
// bits.
namespace attest::laws {

// An attention under test whose outputs may have an error.
template <class Attend, class Error>
struct Within {
  Attend attend;
  Error error;

  constexpr auto operator()(const auto& q, const auto& k, const auto& v) const {
    return attend(q, k, v);
  }
};
template <class Attend, class Error>
Within(Attend, Error) -> Within<Attend, Error>;

// An output, and how far each of its entries may be from the exact one.
template <class M>
struct Observed {
  M output;
  Matrix<double, M::rows, M::columns> error;
};
template <class Attend, class Q, class K, class V>
constexpr auto observe(const Attend& attention, const Q& q, const K& k, const V& v) {
  using M = decltype(attention(q, k, v));
  if constexpr (requires { attention.error(q, k, v); })
    return Observed<M>{attention(q, k, v), attention.error(q, k, v)};
  else
    return Observed<M>{attention(q, k, v), {}};
}

constexpr double magnitude(double x) {
  return x < 0 ? -x : x;
}

// Whether two numbers are the same, or no further apart than `allowed`. Equal numbers agree, so
// that infinities do. A NaN agrees with nothing: who returns NaN everywhere keeps no law.
template <class T>
constexpr bool agree(const T& a, const T& b, double allowed) {
  if (a == b) return true;
  if constexpr (is_exact<T>)
    return false;
  else
    return magnitude(static_cast<double>(a) - static_cast<double>(b)) <= allowed * (1 + 0x1p-50);
}
template <class M>
constexpr bool rows_agree(const Observed<M>& a, size_t row_of_a, const Observed<M>& b,
                          size_t row_of_b) {
  for (size_t t = 0; t < M::columns; ++t)
    if (!agree(a.output.entries[row_of_a][t], b.output.entries[row_of_b][t],
               a.error.entries[row_of_a][t] + b.error.entries[row_of_b][t]))
      return false;
  return true;
}
template <class M>
constexpr bool agree(const Observed<M>& a, const Observed<M>& b) {
  for (size_t i = 0; i < M::rows; ++i)
    if (!rows_agree(a, i, b, i)) return false;
  return true;
}

// Row i of the result is row order[i] of the argument.
template <class T, size_t R, size_t C>
constexpr Matrix<T, R, C> rows_in_order(const Matrix<T, R, C>& m, const size_t (&order)[R]) {
  Matrix<T, R, C> result;
  for (size_t i = 0; i < R; ++i)
    for (size_t t = 0; t < C; ++t) result.entries[i][t] = m.entries[order[i]][t];
  return result;
}
template <template <class, size_t, size_t> class Role, class T, size_t R, size_t C>
constexpr Role<T, R, C> rows_in_order(const Role<T, R, C>& m, const size_t (&order)[R]) {
  return {rows_in_order(m.matrix, order)};
}

// S21, S2. The weights of a row are a probability distribution over the keys it sees: they sum to
// one, and if it sees none, to zero. In floating point each row of n weights sums to one within
// min(n, ⌈N/32⌉ + 5)·u (softmax.hpp), in fixed point within n half units, one for each division;
// the sum taken here, in double, adds (n − 1)·2^-53.
template <class T, size_t R, size_t C, class Visible = Everything>
constexpr bool rows_sum_to_one(const Matrix<T, R, C>& weights, const Visible& visible = {}) {
  for (size_t i = 0; i < R; ++i) {
    size_t n = 0;
    for (size_t j = 0; j < C; ++j) n += sees(visible, i, j);
    const T expected = T(n > 0 ? 1 : 0);
    if constexpr (is_exact<T>) {
      T sum{};
      for (size_t j = 0; j < C; ++j) sum = sum + weights.entries[i][j];
      if (!(sum == expected)) return false;
    } else {
      double sum = 0;
      for (size_t j = 0; j < C; ++j) sum = sum + static_cast<double>(weights.entries[i][j]);
      constexpr double u = unit_roundoff<T>;
      constexpr double each = 0x1p-53 + smallest_number<T> + half_unit<T>;
      const double count = static_cast<double>(n);
      const double additions = n < C / 32 + 6 ? count : static_cast<double>(C / 32 + 6);
      const double bound = additions * u * (1 + additions * u) + count * each;
      if (!(magnitude(sum - static_cast<double>(expected)) <= bound)) return false;
    }
  }
  return true;
}

// S17. No weight is negative, a hidden key has none, and in exact numbers a visible key has some:
// softmax is soft. In floating point a weight may underflow to zero.
template <class T, size_t R, size_t C, class Visible = Everything>
constexpr bool weights_are_positive(const Matrix<T, R, C>& weights, const Visible& visible = {}) {
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < C; ++j) {
      const T& weight = weights.entries[i][j];
      const bool right = !sees(visible, i, j) ? weight == T(0)
                         : is_exact<T>        ? weight > T(0)
                                              : weight >= T(0);
      if (!right) return false;
    }
  return true;
}

// S21. Coordinate by coordinate an output lies between the least and the greatest visible value; an
// output of no key is for the rule to say and is not looked at.
template <class Attend, class Q, class K, class V, class Visible = Everything>
constexpr bool outputs_lie_in_the_convex_hull(const Attend& attention, const Q& q, const K& k,
                                              const V& v, const Visible& visible = {}) {
  const auto seen = observe(attention, q, k, v);
  for (size_t i = 0; i < Q::rows; ++i)
    for (size_t t = 0; t < V::columns; ++t) {
      bool any = false, above = false, below = false;
      const auto& o = seen.output.entries[i][t];
      for (size_t j = 0; j < K::rows; ++j) {
        if (!sees(visible, i, j)) continue;
        const auto& value = v.matrix.entries[j][t];
        const bool close = agree(o, value, seen.error.entries[i][t]);
        any = true;
        above = above || close || o > value;
        below = below || close || value > o;
      }
      if (any && !(above && below)) return false;
    }
  return true;
}

// One vector added to every key shifts all scores of a query alike, which softmax does not notice.
// The sums are exact. Not with a softcap: it is no longer a shift.
template <class Attend, class Q, class K, class V, class T, size_t D>
constexpr bool shift_invariance(const Attend& attention, const Q& q, const K& k, const V& v,
                                const T (&shift)[D]) {
  K shifted = k;
  for (auto& row : shifted.matrix.entries)
    for (size_t t = 0; t < D; ++t) row[t] = row[t] + shift[t];
  return agree(observe(attention, q, k, v), observe(attention, q, shifted, v));
}

// S8. Queries in another order give their outputs in that order. Not with positions, nor with a
// mask that treats queries differently.
template <class Attend, class Q, class K, class V, size_t N>
constexpr bool permutation_equivariance(const Attend& attention, const Q& q, const K& k, const V& v,
                                        const size_t (&order)[N]) {
  const auto before = observe(attention, q, k, v);
  const auto after = observe(attention, rows_in_order(q, order), k, v);
  for (size_t i = 0; i < N; ++i)
    if (!rows_agree(after, i, before, order[i])) return false;
  return true;
}

// S8. Keys in another order, their values with them, change nothing. Not with positions, nor with a
// mask that treats keys differently.
template <class Attend, class Q, class K, class V, size_t N>
constexpr bool key_value_permutation_invariance(const Attend& attention, const Q& q, const K& k,
                                                const V& v, const size_t (&order)[N]) {
  return agree(observe(attention, q, k, v),
               observe(attention, q, rows_in_order(k, order), rows_in_order(v, order)));
}

// What a query may not see does not matter: for each query, its hidden keys and values become those
// of another call, and its output stays.
template <class Attend, class Q, class K, class V, class Visible>
constexpr bool hidden_keys_change_nothing(const Attend& attention, const Q& q, const K& k,
                                          const V& v, const K& other_k, const V& other_v,
                                          const Visible& visible) {
  const auto before = observe(attention, q, k, v);
  for (size_t i = 0; i < Q::rows; ++i) {
    K changed_k = k;
    V changed_v = v;
    for (size_t j = 0; j < K::rows; ++j) {
      if (sees(visible, i, j)) continue;
      for (size_t t = 0; t < K::columns; ++t)
        changed_k.matrix.entries[j][t] = other_k.matrix.entries[j][t];
      for (size_t t = 0; t < V::columns; ++t)
        changed_v.matrix.entries[j][t] = other_v.matrix.entries[j][t];
    }
    if (!rows_agree(observe(attention, q, changed_k, changed_v), i, before, i)) return false;
  }
  return true;
}

// S10. Changing the future changes nothing in the past; query i stands at position i + offset.
template <class Attend, class Q, class K, class V>
constexpr bool causality(const Attend& attention, const Q& q, const K& k, const V& v,
                         const K& other_k, const V& other_v, long offset = 0) {
  return hidden_keys_change_nothing(attention, q, k, v, other_k, other_v,
                                    [offset](size_t i, size_t j) {
                                      return static_cast<long>(j) <= static_cast<long>(i) + offset;
                                    });
}

// Changing what lies outside a query's window changes nothing: `left` keys before its position and
// `right` after it are inside.
template <class Attend, class Q, class K, class V>
constexpr bool window_locality(const Attend& attention, const Q& q, const K& k, const V& v,
                               const K& other_k, const V& other_v, long left, long right,
                               long offset = 0) {
  return hidden_keys_change_nothing(
      attention, q, k, v, other_k, other_v, [left, right, offset](size_t i, size_t j) {
        const long ahead = static_cast<long>(j) - static_cast<long>(i) - offset;
        return -left <= ahead && ahead <= right;
      });
}

// S22. Each value reaches every query that sees it, in one step: change it by one, and the output
// moves, by more than rounding explains. For weights that are not tiny.
template <class Attend, class Q, class K, class V, class Visible = Everything>
constexpr bool every_visible_key_matters(const Attend& attention, const Q& q, const K& k,
                                         const V& v, const Visible& visible = {}) {
  using T = typename V::value_type;
  const auto before = observe(attention, q, k, v);
  for (size_t j = 0; j < K::rows; ++j) {
    V changed = v;
    for (T& entry : changed.matrix.entries[j]) entry = entry + T(1);
    const auto after = observe(attention, q, k, changed);
    for (size_t i = 0; i < Q::rows; ++i)
      if (sees(visible, i, j) && rows_agree(after, i, before, i)) return false;
  }
  return true;
}

// S1. Where all scores are equal, attention is plain averaging. Here because the queries are zero;
// without bias and sink.
template <class Attend, class Q, class K, class V, class Visible = Everything>
constexpr bool zero_scores_average(const Attend& attention, const Q&, const K& k, const V& v,
                                   const Visible& visible = {}) {
  using T = typename V::value_type;
  const auto blend = observe(attention, Q{}, k, v);
  for (size_t i = 0; i < Q::rows; ++i)
    for (size_t t = 0; t < V::columns; ++t) {
      int n = 0;
      if constexpr (is_exact<T>) {
        T sum{};
        for (size_t j = 0; j < K::rows; ++j)
          if (sees(visible, i, j)) sum = sum + v.matrix.entries[j][t], ++n;
        if (n > 0 && !(blend.output.entries[i][t] == sum / T(n))) return false;
      } else {
        double sum = 0, size = 0;
        for (size_t j = 0; j < K::rows; ++j) {
          if (!sees(visible, i, j)) continue;
          const auto value = static_cast<double>(v.matrix.entries[j][t]);
          sum = sum + value, size = size + magnitude(value), ++n;
        }
        if (n > 0 && !(magnitude(static_cast<double>(blend.output.entries[i][t]) - sum / n) <=
                       blend.error.entries[i][t] + 0x1p-53 * (size + magnitude(sum / n))))
          return false;
      }
    }
  return true;
}

// Attention is linear in the values: that of a·v + b·w is a·(that of v) + b·(that of w). The values
// a·v + b·w are exact.
template <class Attend, class Q, class K, class V, class T>
constexpr bool linearity_in_values(const Attend& attention, const Q& q, const K& k, const V& v,
                                   const V& w, const T& a, const T& b) {
  V both = v;
  for (size_t j = 0; j < V::rows; ++j)
    for (size_t t = 0; t < V::columns; ++t)
      both.matrix.entries[j][t] = a * v.matrix.entries[j][t] + b * w.matrix.entries[j][t];
  const auto of_v = observe(attention, q, k, v), of_w = observe(attention, q, k, w);
  const auto of_both = observe(attention, q, k, both);
  for (size_t i = 0; i < Q::rows; ++i)
    for (size_t t = 0; t < V::columns; ++t) {
      const auto& x = of_v.output.entries[i][t];
      const auto& y = of_w.output.entries[i][t];
      if constexpr (is_exact<T>) {
        if (!(of_both.output.entries[i][t] == a * x + b * y)) return false;
      } else {
        const double ax = static_cast<double>(a) * static_cast<double>(x);
        const double by = static_cast<double>(b) * static_cast<double>(y);
        const auto times = [](const T& c, double error) {  // 0·∞ is 0
          return c == T(0) ? 0 : magnitude(static_cast<double>(c)) * error;
        };
        const double allowed = of_both.error.entries[i][t] + times(a, of_v.error.entries[i][t]) +
                               times(b, of_w.error.entries[i][t]) +
                               3 * 0x1p-53 * (magnitude(ax) + magnitude(by));
        if (!(magnitude(static_cast<double>(of_both.output.entries[i][t]) - (ax + by)) <= allowed))
          return false;
      }
    }
  return true;
}

// Streaming is whole for every tiling, a cache is whole, nn.Linear's layout is the other one
// transposed: two ways to one result. Here one is measured by the other, so where both return NaN,
// as a rule may ask of rows without keys, they agree.
template <class A, class B, class Q, class K, class V>
constexpr bool two_ways_agree(const A& one, const B& other, const Q& q, const K& k, const V& v) {
  const auto a = observe(one, q, k, v);
  const auto b = observe(other, q, k, v);
  for (size_t i = 0; i < Q::rows; ++i)
    for (size_t t = 0; t < V::columns; ++t) {
      const auto &x = a.output.entries[i][t], &y = b.output.entries[i][t];
      const bool both_are_nan = !(x == x) && !(y == y);
      if (!both_are_nan && !agree(x, y, a.error.entries[i][t] + b.error.entries[i][t]))
        return false;
    }
  return true;
}

// S17. The larger the scale, the nearer attention is to hard attention, the mean h of the values
// whose keys a query resembles most. At scale c > 0, with n such keys and the product of query and
// key j lower by g_j than with those, it is within Σ_j e^{−c·g_j}·|v_j − h|/n of h (hard.hpp); of
// exact numbers, whose weight is 2^x, within the same with 2. Products and their sums are exact;
// without softcap, bias and sink.
template <class Attend, class Q, class K, class V, class Visible = Everything>
constexpr bool hard_attention_is_the_limit(const Attend& attention, const Q& q, const K& k,
                                           const V& v, const typename Q::value_type& c,
                                           const Visible& visible = {}) {
  using T = typename Q::value_type;
  const auto wide = [](const T& x) {
    if constexpr (is_exact<T>)
      return x;
    else
      return static_cast<double>(x);
  };
  using Wide = decltype(wide(c));
  const auto apart = [](const Wide& a, const Wide& b) { return a > b ? a - b : b - a; };
  const auto sharp = observe(attention, q, k, v);
  for (size_t i = 0; i < Q::rows; ++i) {
    Wide product[K::rows]{}, highest{};
    int n = 0;
    for (size_t j = 0; j < K::rows; ++j) {
      if (!sees(visible, i, j)) continue;
      for (size_t t = 0; t < Q::columns; ++t)
        product[j] = product[j] + wide(q.matrix.entries[i][t]) * wide(k.matrix.entries[j][t]);
      if (n == 0 || product[j] > highest) highest = product[j], n = 0;
      if (product[j] == highest) ++n;
    }
    if (n == 0) continue;
    for (size_t t = 0; t < V::columns; ++t) {
      Wide h{}, off{}, size{};
      for (size_t j = 0; j < K::rows; ++j)
        if (sees(visible, i, j) && product[j] == highest) {
          h = h + wide(v.matrix.entries[j][t]) / Wide(n);
          size = size + apart(wide(v.matrix.entries[j][t]), Wide(0));
        }
      for (size_t j = 0; j < K::rows; ++j)
        if (sees(visible, i, j) && !(product[j] == highest))
          off = off + exp(wide(c) * (product[j] - highest)) *
                          apart(wide(v.matrix.entries[j][t]), h) / Wide(n);
      const Wide distance = apart(wide(sharp.output.entries[i][t]), h);
      if constexpr (is_exact<T>) {
        if (distance > off) return false;
      } else {
        const double rounding = (K::rows + 4) * 0x1p-52 * (size + off + distance);
        if (!(distance <= off + sharp.error.entries[i][t] + rounding)) return false;
      }
    }
  }
  return true;
}

// Only the product of scale and queries counts: c·q under `unit` is q under `scaled`, whose scale
// is c times that of `unit`. The products c·q are exact.
template <class Unit, class Scaled, class Q, class K, class V>
constexpr bool scale_law(const Unit& unit, const Scaled& scaled, const Q& q, const K& k, const V& v,
                         const typename Q::value_type& c) {
  Q enlarged = q;
  for (auto& row : enlarged.matrix.entries)
    for (auto& entry : row) entry = c * entry;
  return agree(observe(unit, enlarged, k, v), observe(scaled, q, k, v));
}

// S11. A head's output is that of the head alone: `several` is called with Heads, `alone` with one
// query head and the key/value head it reads. That heads do not touch each other follows, and that
// grouped heads are repeated ones.
template <Rule rule = Rule{}, class Several, class Alone, class Q, size_t Hq, class K, size_t Hk,
          class V>
constexpr bool head_independence(const Several& several, const Alone& alone, const Heads<Q, Hq>& q,
                                 const Heads<K, Hk>& k, const Heads<V, Hk>& v) {
  const auto together = several(q, k, v);
  for (size_t h = 0; h < Hq; ++h) {
    const size_t read = key_value_head(rule.head_map, h, Hq, Hk);
    const auto expected = observe(alone, q.head[h], k.head[read], v.head[read]);
    if (!agree({together.head[h], expected.error}, expected)) return false;
  }
  return true;
}

// Grouped heads are as many key/value heads, each repeated for every query head that reads it.
template <Rule rule = Rule{}, class Grouped, class Full, class Q, size_t Hq, class K, size_t Hk,
          class V>
constexpr bool grouped_heads_are_repeated_heads(const Grouped& grouped, const Full& full,
                                                const Heads<Q, Hq>& q, const Heads<K, Hk>& k,
                                                const Heads<V, Hk>& v) {
  Heads<K, Hq> repeated_k;
  Heads<V, Hq> repeated_v;
  for (size_t h = 0; h < Hq; ++h) {
    repeated_k.head[h] = k.head[key_value_head(rule.head_map, h, Hq, Hk)];
    repeated_v.head[h] = v.head[key_value_head(rule.head_map, h, Hq, Hk)];
  }
  return grouped(q, k, v) == full(q, repeated_k, repeated_v);
}

// S12. Sequence n of a batch is answered as if it were alone.
template <class Batched, class Alone, class Q, size_t N, class K, class V>
constexpr bool batch_independence(const Batched& batched, const Alone& alone, const Batch<Q, N>& q,
                                  const Batch<K, N>& k, const Batch<V, N>& v) {
  const auto together = batched(q, k, v);
  for (size_t n = 0; n < N; ++n)
    if (!(together.element[n] == alone(q.element[n], k.element[n], v.element[n]))) return false;
  return true;
}

// Merging is associative and commutative, so that tiles may be met in any order: of three partial
// results, whatever `merge` and `finish` make of them.
template <class Merge, class Partial>
constexpr bool merge_is_associative(const Merge& merge, const Partial& a, const Partial& b,
                                    const Partial& c) {
  return merge(merge(a, b), c) == merge(a, merge(b, c));
}
template <class Merge, class Partial>
constexpr bool merge_is_commutative(const Merge& merge, const Partial& a, const Partial& b) {
  return merge(a, b) == merge(b, a);
}

// S7. The dot product of independent entries of variance 1 has variance d_k, and scaled by 1/√d_k
// it has variance 1: exactly, over all queries and keys of entries ±1. `score(q, k)` is of two
// vectors; D is small.
template <class T, size_t D, class Score>
constexpr T variance_over_signs(const Score& score) {
  T sum{}, sum_of_squares{};
  const size_t patterns = size_t{1} << D;
  for (size_t a = 0; a < patterns; ++a)
    for (size_t b = 0; b < patterns; ++b) {
      T q[D]{}, k[D]{};
      for (size_t t = 0; t < D; ++t) {
        q[t] = T(a >> t & 1 ? 1 : -1);
        k[t] = T(b >> t & 1 ? 1 : -1);
      }
      const T s = score(q, k);
      sum = sum + s;
      sum_of_squares = sum_of_squares + s * s;
    }
  const T n = T(static_cast<int>(patterns * patterns));
  return sum_of_squares / n - (sum / n) * (sum / n);
}

// A gradient is what a finite difference sees: for each entry of `at`, (f(x + h) − f(x − h))/2h
// agrees with it within `tolerance`, which must cover h²/6 times the third derivative and the
// rounding of f over h.
template <class Function, class M>
constexpr bool gradient_is_finite_difference(const Function& f, const M& at, const M& gradient,
                                             double h, double tolerance) {
  using T = typename M::value_type;
  for (size_t i = 0; i < M::rows; ++i)
    for (size_t t = 0; t < M::columns; ++t) {
      M above = at, below = at;
      above.entries[i][t] = above.entries[i][t] + T(h);
      below.entries[i][t] = below.entries[i][t] - T(h);
      const double difference =
          (static_cast<double>(f(above)) - static_cast<double>(f(below))) / (2 * h);
      if (!(magnitude(difference - static_cast<double>(gradient.entries[i][t])) <= tolerance))
        return false;
    }
  return true;
}

}  // namespace attest::laws
