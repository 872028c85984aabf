// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Attention over a window of samples on a microcontroller: weights in flash, no heap, no library,
// and the result is the one the compiler has computed.
#include <attest/attest.hpp>

#include "board.hpp"

using namespace attest;

constexpr size_t samples = 16, channels = 32, width = 16;
using Window = Matrix<float, samples, channels>;
using Weights = Matrix<float, channels, width>;
using Context = Matrix<float, samples, width>;

// Stands for what was trained, and for what was measured.
template <class M>
constexpr M made_up(uint32_t seed, float unit) {
  M result;
  for (auto& row : result.entries)
    for (auto& entry : row) {
      seed = seed * 1664525 + 1013904223;
      entry = static_cast<float>(static_cast<int32_t>(seed)) * (unit * 0x1p-31f);
    }
  return result;
}
constexpr Weights w_q = made_up<Weights>(1, 0.25f);
constexpr Weights w_k = made_up<Weights>(2, 0.25f);
constexpr Weights w_v = made_up<Weights>(3, 0.25f);
constexpr Window known_window = made_up<Window>(4, 4.f);

constexpr Context attend(const Window& window) {
  return attention(Query{window * w_q}, Key{window * w_k}, Value{window * w_v}, causal);
}

// FNV-1a of the bits.
constexpr uint64_t checksum(const Context& context) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const auto& row : context.entries)
    for (const float entry : row)
      for (int shift = 0; shift < 32; shift += 8) {
        hash ^= bits::bit_cast<uint32_t>(entry) >> shift & 255;
        hash *= 0x100000001b3;
      }
  return hash;
}

constexpr uint64_t proved = 0x84eaa2f7a67f121c;
static_assert(checksum(attend(known_window)) == proved);

static Window window;

int board::program() {
  window = known_window;
  sampled(window);

  const uint32_t before = instructions();
  const Context context = attend(window);
  sampled(context);
  const uint32_t after = instructions();
  const uint32_t stack = stack_bytes();

  const bool as_proved = checksum(context) == proved;
  print(as_proved ? "as proved" : "not as proved");
  print(", stack ");
  print_decimal(stack);
  print(", instructions ");
  print_decimal(after - before);
  print("\n");
  return as_proved ? 0 : 1;
}
