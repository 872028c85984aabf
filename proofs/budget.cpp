// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// One constant evaluation holds the attention of 128 tokens of width 16, at the default limits of
// GCC 12 (33,554,432 operations) and clang (1,048,576 steps). That it compiles is the proof; the
// values are checked besides. A pair of tokens costs about 980 operations or 31 steps in float,
// 1,210 or 77 in double: about 185 tokens fit in float, 166 or 116 in double.
#include <attest/attention.hpp>

namespace {
using namespace attest;

// Multiples of 1/64 in [−2, 2) from a linear congruential sequence: scores have a standard
// deviation of about 1.3.
template <class T, size_t Tokens>
constexpr Matrix<T, Tokens, 16> tokens(unsigned state) {
  Matrix<T, Tokens, 16> x;
  for (auto& row : x.entries)
    for (T& entry : row) {
      state = state * 1664525u + 1013904223u;
      entry = static_cast<T>(static_cast<int>(state >> 24) - 128) / 64;
    }
  return x;
}

// Each of the three is evaluated on its own, so that the output has a budget to itself.
template <class T, size_t Tokens>
constexpr Query q{tokens<T, Tokens>(1)};
template <class T, size_t Tokens>
constexpr Key k{tokens<T, Tokens>(2)};
template <class T, size_t Tokens>
constexpr Value v{tokens<T, Tokens>(3)};
template <class T, size_t Tokens>
constexpr auto output = attention(q<T, Tokens>, k<T, Tokens>, v<T, Tokens>);

// A mean of values in [−2, 2) of which no few have all the weight: far from both ends, and not all
// alike.
constexpr bool within(const auto& means, double bound) {
  for (const auto& row : means.entries)
    for (const auto& x : row)
      if (!(x > -bound && x < bound)) return false;
  return true;
}
static_assert(within(output<float, 128>, 2), "128 tokens in float");
static_assert(!within(output<float, 128>, 0.25));
static_assert(within(output<double, 96>, 2), "96 tokens in double");
static_assert(!within(output<double, 96>, 0.25));

}  // namespace
