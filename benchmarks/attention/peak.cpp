// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What the processor can do at most: chains of multiplications and additions that wait only for
// themselves, enough of them for every unit, and nothing in memory. Compiled twice: with
// ATTEST_CONTRACTED each pair is one instruction, if the program may use it.
#include <algorithm>
#include <chrono>

#include "measured.hpp"

namespace {

#if defined(__AVX512F__)
constexpr int width = 16, chains = 28;  // of 32 registers
#elif defined(__AVX__)
constexpr int width = 8, chains = 13;  // of 16
#else
constexpr int width = 4, chains = 13;
#endif
typedef float Vector __attribute__((vector_size(width * sizeof(float))));

constexpr int turns = 20000;

Vector ones() {
  float one = 1;
  asm volatile("" : "+m"(one));  // not known to the compiler
  return Vector{} + one;
}

void multiply_and_add() {
  const Vector factor = ones(), summand = ones();
  Vector sum[chains];
  for (int c = 0; c < chains; ++c) sum[c] = factor;
  for (int turn = 0; turn < turns; ++turn) {
#pragma GCC unroll 32
    for (int c = 0; c < chains; ++c) sum[c] = sum[c] * factor + summand;
  }
  for (int c = 0; c < chains; ++c) asm volatile("" : : "v"(sum[c]));
}

// The shortest of many runs, divided by the numbers that went through.
double shortest() {
  double least = 1e9;
  for (int i = 0; i < 300; ++i) {
    const auto start = std::chrono::steady_clock::now();
    multiply_and_add();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    least = std::min(least, time.count());
  }
  return least / (1.0 * turns * chains * width);
}

}  // namespace

#ifdef ATTEST_CONTRACTED
double measured::seconds_of_fused_multiply_add() {
#ifdef __FMA__
  constexpr bool fuses = true;
#else
  constexpr bool fuses = false;
#endif
  return fuses ? shortest() : 0;
}
#else
double measured::seconds_of_multiply_and_add() {
  return shortest();
}
#endif
