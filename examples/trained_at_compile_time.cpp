// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The compiler trains a layer of attention: of each letter of a word it returns the one before it.
// The program holds the trained weights and nothing of the training.
#include <attest/attest.hpp>
#include <cstdio>

using namespace attest;

constexpr size_t length = 5, letters = 3;
constexpr const char* words[] = {"abcab", "bbacc", "caabb", "acbba",
                                 "bacca", "ccbac", "aabcb", "cbcba"};

constexpr size_t number(char letter) {
  return static_cast<size_t>(letter - 'a');
}
constexpr auto tokens(const char* word) {  // a row per letter: which it is, where it stands
  Matrix<float, length, letters + length> x;
  for (size_t i = 0; i < length; ++i) x[i][number(word[i])] = x[i][letters + i] = 1;
  return x;
}
constexpr auto wanted(const char* word) {
  Matrix<float, length, letters> y;
  for (size_t i = 0; i < length; ++i) y[i][number(word[i == 0 ? 0 : i - 1])] = 1;
  return y;
}

struct Model {
  Matrix<float, letters + length, 4> w_q, w_k;
  Matrix<float, letters + length, letters> w_v;
};
constexpr Model untrained() {  // any small numbers
  Model m;
  unsigned state = 1;
  const auto fill = [&](auto& w) {
    for (auto& row : w.entries)
      for (float& x : row)
        x = static_cast<float>((state = state * 1664525u + 1013904223u) >> 24) / 256 - 0.5f;
  };
  fill(m.w_q), fill(m.w_k), fill(m.w_v);
  return m;
}
constexpr Model after(const Model& m, const char* word) {  // one step of gradient descent
  constexpr float rate = 0.25;
  const auto x = tokens(word);
  const Query q{x * m.w_q};
  const Key k{x * m.w_k};
  const Value v{x * m.w_v};
  const auto error = attention(q, k, v, causal) - wanted(word);
  const auto d = attention_gradient(q, k, v, error, causal);
  return {m.w_q - rate * (transpose(x) * d.query), m.w_k - rate * (transpose(x) * d.key),
          m.w_v - rate * (transpose(x) * d.value)};
}
constexpr Model after_all(Model m) {
  for (const char* word : words) m = after(m, word);
  return m;
}
// Each pass over the words is a constant of its own: the compiler's limits are for one of them.
template <int passes>
constexpr Model trained = after_all(trained<passes - 1>);
template <>
constexpr Model trained<0> = untrained();

struct Text {
  char letter[length + 1]{};
  constexpr bool operator==(const char* other) const {
    for (size_t i = 0; i <= length; ++i)
      if (letter[i] != other[i]) return false;
    return true;
  }
};
constexpr Text read(const Model& m, const char* word) {
  const auto x = tokens(word);
  const auto output = attention(Query{x * m.w_q}, Key{x * m.w_k}, Value{x * m.w_v}, causal);
  Text text;
  for (size_t i = 0; i < length; ++i) {
    const auto& [a, b, c] = output[i];
    text.letter[i] = a > b && a > c ? 'a' : b > c ? 'b' : 'c';
  }
  return text;
}
static_assert(!(read(trained<0>, "cabba") == "ccabb"), "untrained");
static_assert(read(trained<20>, "cabba") == "ccabb", "a word that was not among the eight");

int main() {
  static constexpr Model m = trained<20>;
  for (size_t i = 0; i < m.w_q.rows; ++i) {
    for (float w : m.w_q[i]) std::printf("% .3f ", double(w));
    for (float w : m.w_k[i]) std::printf("% .3f ", double(w));
    for (float w : m.w_v[i]) std::printf("% .3f ", double(w));
    std::puts("");
  }
  const Text text = read(m, "bcaac");
  std::printf("bcaac -> %s\n", text.letter);
  return text == "bbcaa" ? 0 : 1;
}
