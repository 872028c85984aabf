// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What it takes to compare a constant with the same computation at run time.
#pragma once
#include <attest/matrix.hpp>
#include <cstddef>
#include <cstring>

namespace tests {

using attest::Matrix;
using std::size_t;

// Numbers in [−2, 2), other ones for every state.
template <class T, size_t R, size_t C>
constexpr Matrix<T, R, C> sample(unsigned state) {
  Matrix<T, R, C> x;
  for (auto& row : x.entries)
    for (T& entry : row) {
      state = state * 1664525u + 1013904223u;
      entry = static_cast<T>(static_cast<int>(state >> 8) - (1 << 23)) / static_cast<T>(1 << 22);
    }
  return x;
}

// What the optimiser cannot know before the program runs.
template <class A>
A from_outside(const A& a) {
  unsigned char bytes[sizeof(A)];
  std::memcpy(bytes, &a, sizeof(A));
  for (auto& b : bytes) {
    volatile unsigned char seen = b;
    b = seen;
  }
  A result;
  std::memcpy(&result, bytes, sizeof(A));
  return result;
}

}  // namespace tests
