// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A layer of attention learns while this file is compiled. Words of five letters a, b, c; what each
// place is to return is the letter before it (the first place: its own). Letter and place of a
// token are one-hot; three learned maps make query, key and value of it, by gradient descent on
// half the squared error, one word after the other. That is learnt when each query has found the
// key of the place before and the values have forgotten the places.
//
// One pass over the eight words it learns from is one constant, and so has a budget of its own.
#include <stdint.h>

#include <attest/attention.hpp>
#include <attest/gradient.hpp>

namespace {
using namespace attest;

constexpr size_t letters = 3, length = 5, width = letters + length, head = 4;
using Word = size_t[length];

constexpr Word lessons[] = {{0, 1, 2, 0, 1}, {1, 1, 0, 2, 2}, {2, 0, 0, 1, 1}, {0, 2, 1, 1, 0},
                            {1, 0, 2, 2, 0}, {2, 2, 1, 0, 2}, {0, 0, 1, 2, 1}, {2, 1, 2, 1, 0}};

constexpr auto tokens(const Word& word) {
  Matrix<float, length, width> x;
  for (size_t i = 0; i < length; ++i) x[i][word[i]] = x[i][letters + i] = 1;
  return x;
}
constexpr auto letters_before(const Word& word) {
  Matrix<float, length, letters> y;
  for (size_t i = 0; i < length; ++i) y[i][word[i == 0 ? 0 : i - 1]] = 1;
  return y;
}

struct Model {
  Matrix<float, width, head> w_q, w_k;
  Matrix<float, width, letters> w_v;
};

template <Rule rule>
constexpr auto output(const Model& m, const Word& word) {
  const auto x = tokens(word);
  return attention<rule>(Query{x * m.w_q}, Key{x * m.w_k}, Value{x * m.w_v});
}

template <Rule rule>
constexpr Model after(const Model& m, const Word& word) {
  constexpr float rate = 0.25;
  const auto x = tokens(word);
  const Query q{x * m.w_q};
  const Key k{x * m.w_k};
  const Value v{x * m.w_v};
  const auto error = attention<rule>(q, k, v) - letters_before(word);
  const auto d = attention_gradient<rule>(q, k, v, error);
  return {m.w_q - rate * (transpose(x) * d.query), m.w_k - rate * (transpose(x) * d.key),
          m.w_v - rate * (transpose(x) * d.value)};
}

// Multiples of 1/256 in [−1/2, 1/2).
constexpr Model untrained() {
  Model m;
  uint32_t state = 1;
  const auto fill = [&](auto& w) {
    for (auto& row : w.entries)
      for (float& x : row) {
        state = state * 1664525u + 1013904223u;
        x = static_cast<float>(static_cast<int>(state >> 24) - 128) / 256;
      }
  };
  fill(m.w_q), fill(m.w_k), fill(m.w_v);
  return m;
}

template <Rule rule>
constexpr Model after_all(Model m) {
  for (const Word& word : lessons) m = after<rule>(m, word);
  return m;
}
template <Rule rule, int passes>
constexpr Model trained = after_all<rule>(trained<rule, passes - 1>);
template <Rule rule>
constexpr Model trained<rule, 0> = untrained();

// The squared error of the eight words, all places together.
template <Rule rule>
constexpr float loss_of(const Model& m) {
  float sum = 0;
  for (const Word& word : lessons) {
    const auto error = output<rule>(m, word) - letters_before(word);
    for (const auto& row : error.entries) sum += dot(row, row);
  }
  return sum;
}
template <Rule rule, int passes>
constexpr float loss = loss_of<rule>(trained<rule, passes>);

template <Rule rule, int passes>
constexpr bool falls_with_each_pass() {
  if constexpr (passes == 0)
    return true;
  else
    return loss<rule, passes> < loss<rule, passes - 1> && falls_with_each_pass<rule, passes - 1>();
}

constexpr Rule past{.causal = true};
constexpr int passes = 30;
static_assert(loss<past, 0> > 25, "untrained: 28 in all for 40 letters");
static_assert(falls_with_each_pass<past, passes>(), "the loss falls with each pass");
static_assert(loss<past, passes> < 0.2f, "trained: 0.2, a 140th of it");

// What is trained is a constant: the same bits from every compiler.
constexpr uint64_t bits_of(const Model& m) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, 32 bits at a time
  const auto add = [&](const auto& w) {
    for (const auto& row : w.entries)
      for (const float& x : row) hash = (hash ^ __builtin_bit_cast(uint32_t, x)) * 0x100000001b3;
  };
  add(m.w_q), add(m.w_k), add(m.w_v);
  return hash;
}
static_assert(bits_of(trained<past, passes>) == 6359842844030932024u,
              "the bits of the trained weights");
static_assert(bits_of(trained<past, passes>) != bits_of(trained<past, passes - 1>));

// Whether the largest output of each place is that of the letter before, for every word that starts
// with the letter: 81 words, 8 of all 243 learnt from.
constexpr bool reads(const auto& out, const Word& word) {
  for (size_t i = 0; i < length; ++i)
    for (size_t c = 0; c < letters; ++c) {
      const size_t right = word[i == 0 ? 0 : i - 1];
      if (c != right && !(out[i][c] < out[i][right])) return false;
    }
  return true;
}
template <Rule rule, int passes>
constexpr int words_read(size_t first) {
  int count = 0;
  for (size_t code = 0; code < 81; ++code) {
    const Word word{first, code % 3, code / 3 % 3, code / 9 % 3, code / 27};
    count += reads(output<rule>(trained<rule, passes>, word), word);
  }
  return count;
}
template <Rule rule, int passes, size_t first>
constexpr int read_of_81 = words_read<rule, passes>(first);
static_assert(read_of_81<past, passes, 0> == 81 && read_of_81<past, passes, 1> == 81 &&
                  read_of_81<past, passes, 2> == 81,
              "it reads every word, the 235 it has never seen too");
static_assert(read_of_81<past, 0, 0> < 10, "untrained, it does not");

// What it found: every query puts nearly all its weight on the place before.
constexpr auto weights =
    attention_weights<past>(Query{tokens(lessons[0]) * trained<past, passes>.w_q},
                            Key{tokens(lessons[0]) * trained<past, passes>.w_k});
static_assert(weights[1][0] > 0.9f && weights[2][1] > 0.9f && weights[3][2] > 0.9f &&
                  weights[4][3] > 0.9f,
              "each place looks at the one before");

// S14: the scale of the embedding's width, C^(-1/2) with C = 8 where d_k = 4, trains as well: no
// loss and no accuracy will tell.
constexpr Rule wrong{.scale = Scale::of(inverse_root<double, width>), .causal = true};
static_assert(falls_with_each_pass<wrong, passes>() && loss<wrong, passes> < loss<wrong, 0> / 90,
              "S14: with the wrong constant the loss falls just the same");
static_assert(read_of_81<wrong, passes, 0> == 81 && read_of_81<wrong, passes, 1> == 81 &&
                  read_of_81<wrong, passes, 2> == 81,
              "S14: and every word is read");

// What tells is the definition. The scores and the output are off by more than they may round: with
// q and k below 4, d_k = 4 and values below 2 the bound of attention.hpp is below 800·u < 2^-14.
constexpr const Model& misled = trained<wrong, passes>;
constexpr auto x = tokens(lessons[0]);
constexpr Query q{x * misled.w_q};
constexpr Key k{x * misled.w_k};
constexpr Value v{x * misled.w_v};
constexpr float largest_entry(const auto& m) {
  float largest = 0;
  for (const auto& row : m.entries)
    for (const float& entry : row) {
      const float size = entry < 0 ? -entry : entry;
      largest = size > largest ? size : largest;
    }
  return largest;
}
static_assert(attention_scores<past>(q, k) == 0.5f * (q.matrix * transpose(k.matrix)),
              "the definition: q k^T / sqrt(4)");
static_assert(!(attention_scores<wrong>(q, k) == attention_scores<past>(q, k)),
              "S14: caught: the scores are others");
static_assert(largest_entry(q.matrix) < 4 && largest_entry(k.matrix) < 4 &&
              largest_entry(v.matrix) < 2);
static_assert(largest_entry(attention<wrong>(q, k, v) - attention<past>(q, k, v)) > 0x1p-6f,
              "S14: caught: the output is another");

// And a law: attention sees the embedding through query, key and value alone. Two columns of zeros
// more change none of the three, and so must not change the output; the wrong constant does.
template <size_t columns>
constexpr auto attention_scaled_by =
    attention<Rule{.scale = Scale::of(inverse_root<double, columns>), .causal = true}>(q, k, v);
static_assert(attention<past>(q, k, v) == attention_scaled_by<head>,
              "S14: the scale is of the vectors in the dot product");
static_assert(!(attention_scaled_by<width + 2> == attention_scaled_by<width>),
              "S14: caught: a wider embedding of the same tokens changes the output");

}  // namespace
