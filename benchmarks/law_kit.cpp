// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// How long the law kit takes for a kernel that takes 10 µs for each call, beside the time that is
// its own: needles, laws and random calls, nothing failing.
#include <attest/testing/check.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

// Honest attention; returns 10 µs after it was called at the earliest.
void kernel(const attest::testing::Arguments<float>& a) {
  const auto end = Clock::now() + std::chrono::microseconds(10);
  std::vector<float> weight(a.keys);
  for (std::size_t b = 0; b < a.batches; ++b)
    for (std::size_t h = 0; h < a.query_heads; ++h) {
      const auto q = a.q_of(b, h), k = a.k_of(b, h), v = a.v_of(b, h);
      const auto to = a.out_of(b, h);
      for (std::size_t i = 0; i < a.queries; ++i) {
        const long own = static_cast<long>(i) + a.offsets[b];
        float most = -INFINITY, sum = 0;
        for (std::size_t j = 0; j < a.keys; ++j) {
          float score = 0;
          for (std::size_t t = 0; t < a.width; ++t)
            score += q[i * a.width + t] * k[j * a.width + t];
          score *= static_cast<float>(a.scale);
          if (a.softcap != 0) {
            const auto cap = static_cast<float>(a.softcap);
            score = cap * std::tanh(score / cap);
          }
          weight[j] = a.causal && static_cast<long>(j) > own ? -INFINITY : score;
          most = std::fmax(most, weight[j]);
        }
        for (float& w : weight) sum += w = most == -INFINITY ? 0 : std::exp(w - most);
        for (std::size_t t = 0; t < a.value_width; ++t) {
          float blend = 0;
          for (std::size_t j = 0; j < a.keys; ++j) blend += weight[j] * v[j * a.value_width + t];
          to[i * a.value_width + t] = sum == 0 ? 0 : blend / sum;
        }
      }
    }
  while (Clock::now() < end) {
  }
}

}  // namespace

int main() {
  attest::oracle::Scope scope;
  scope.features.causal = scope.features.bottom_right = scope.features.softcap = true;
  scope.features.scale = scope.features.grouped_heads = true;
  const auto begin = Clock::now();
  const std::clock_t processor = std::clock();
  const auto found = attest::testing::examine<float>(kernel, scope);
  const std::chrono::duration<double> clock = Clock::now() - begin;
  std::printf("%s%.2f s on the clock, %.2f s of the processor\n", in_words(found).c_str(),
              clock.count(),
              static_cast<double>(std::clock() - processor) / static_cast<double>(CLOCKS_PER_SEC));
  return found.passed() ? 0 : 1;
}
