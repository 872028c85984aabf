// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Random: numbers that are the same for the same seed on every machine, which those of the
// standard library's distributions are not.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace attest::oracle {

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // 0 … n − 1; of 64 bits modulo a small n, as good as even.
  std::size_t below(std::size_t n) { return n == 0 ? 0 : bits() % n; }
  std::size_t between(std::size_t least, std::size_t most) {
    return least + below(most - least + 1);
  }
  bool one_in(std::size_t n) { return below(n) == 0; }
  // In [−1, 1).
  double symmetric() { return static_cast<double>(bits() >> 11) * 0x1p-52 - 1; }
  // Of variance 1 and bounded by 6: a sum of twelve even ones.
  double normal() {
    double sum = 0;
    for (int n = 0; n < 12; ++n) sum += symmetric();
    return sum / 2;
  }
  template <class T>
  const T& one_of(const std::vector<T>& things) {
    return things[below(things.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace attest::oracle
