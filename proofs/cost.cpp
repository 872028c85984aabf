// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// S13: attention costs O(T²·d) operations, and what it performs is what cost.hpp says: attention is
// run on numbers that count their own operations.
#include <attest/cost.hpp>

namespace {
using namespace attest;

struct Tally {
  size_t multiplications = 0, additions = 0, exponentials = 0, divisions = 0;
};

// A number that reports every operation to the tally it was made with.
struct Counted {
  int value = 0;
  Tally* tally = nullptr;

  constexpr Counted() = default;
  constexpr Counted(int v) : value(v) {}
  explicit constexpr Counted(double v) : value(static_cast<int>(v)) {}
  constexpr Counted(int v, Tally* t) : value(v), tally(t) {}
  constexpr Counted(const Counted&) = default;
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
    ++either(x, y)->divisions;
    return {y.value == 0 ? 0 : x.value / y.value, either(x, y)};
  }
  friend constexpr Counted exp(const Counted& x) {
    ++x.tally->exponentials;
    return {x.value >= 0 ? 1 : 0, x.tally};
  }
  friend constexpr bool operator>(const Counted& x, const Counted& y) { return x.value > y.value; }
};

template <size_t Tq, size_t Tk, size_t D, size_t Dv, class Visible>
constexpr bool performs_what_it_costs(const Visible& visible) {
  Tally tally;
  Query<Counted, Tq, D> query;
  Key<Counted, Tk, D> key;
  Value<Counted, Tk, Dv> value;
  const auto numbers = [&](auto& matrix) {
    int next = 0;
    for (auto& row : matrix.entries)
      for (Counted& x : row) x = Counted(next = (next * 5 + 3) % 7, &tally);
  };
  numbers(query.matrix), numbers(key.matrix), numbers(value.matrix);
  attention<unscaled>(query, key, value, visible);
  const Cost cost = attention_cost(query, key, value, visible);
  return tally.multiplications == cost.multiplications && tally.additions == cost.additions &&
         tally.exponentials == cost.exponentials && tally.divisions == cost.divisions;
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
static_assert(self_attention<128, 16>.scratch_bytes == 512,
              "S13: half a KiB if one query is answered at a time");
static_assert(self_attention<256, 16>.scratch_bytes == 2 * self_attention<128, 16>.scratch_bytes);

// S13: a causal row i sees i + 1 keys: T(T + 1)/2 pairs in all.
static_assert(attention_cost(Query<float, 6, 4>{}, Key<float, 6, 4>{}, Value<float, 6, 4>{}, causal)
                      .exponentials == 6 * 7 / 2,
              "S13: causal attention does half the work");

}  // namespace
