// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// How long each elementary function takes beside the C library's, as a table in Markdown:
// nanoseconds a call in a loop over 4096 arguments, the shortest of many runs that take turns.
// 1/std::sqrt(x) stands for rsqrt.
#include <algorithm>
#include <array>
#include <attest/exp.hpp>
#include <attest/log.hpp>
#include <attest/sincos.hpp>
#include <attest/sqrt.hpp>
#include <attest/tanh.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace {

constexpr std::size_t many = 4096;
template <class T>
using Numbers = std::array<T, many>;

// Uniform between low and high.
template <class T>
Numbers<T> arguments(double low, double high) {
  Numbers<T> x;
  std::uint64_t state = 1;
  for (T& entry : x) {
    state = state * 6364136223846793005 + 1442695040888963407;
    entry = static_cast<T>(low + (high - low) * 0x1p-53 * static_cast<double>(state >> 11));
  }
  return x;
}

template <class T, class Function>
double nanoseconds(const Numbers<T>& x, Function function) {
  static Numbers<T> result;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < many; ++i) result[i] = function(x[i]);
  asm volatile("" : : "r"(result.data()) : "memory");  // all of the results are wanted
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  return time.count() / many;
}

template <class T, class Attest, class Library>
void compare(const char* name, const char* type, double low, double high, Attest attest,
             Library library) {
  const Numbers<T> x = arguments<T>(low, high);
  double ours = 1e9, theirs = 1e9;
  for (int run = 0; run < 500; ++run) {
    ours = std::min(ours, nanoseconds<T>(x, attest));
    theirs = std::min(theirs, nanoseconds<T>(x, library));
  }
  std::printf("| %s, %s | %g to %g | %.2f | %.2f | %.2f |\n", name, type, low, high, ours, theirs,
              ours / theirs);
}

template <class Attest, class Library>
void both(const char* name, double low, double high, Attest attest, Library library) {
  compare<float>(name, "float", low, high, attest, library);
  compare<double>(name, "double", low, high, attest, library);
}
}  // namespace

int main() {
  std::puts(
      "| ns per call | arguments | attest | glibc | attest / glibc |\n"
      "|---|---|---|---|---|");
  both(
      "exp", -20, 0, [](auto x) { return attest::exp(x); }, [](auto x) { return std::exp(x); });
  both(
      "exp2", -20, 0, [](auto x) { return attest::exp2(x); }, [](auto x) { return std::exp2(x); });
  both(
      "log", 0, 100, [](auto x) { return attest::log(x); }, [](auto x) { return std::log(x); });
  both(
      "log2", 0, 100, [](auto x) { return attest::log2(x); }, [](auto x) { return std::log2(x); });
  both(
      "sqrt", 0, 100, [](auto x) { return attest::sqrt(x); }, [](auto x) { return std::sqrt(x); });
  both(
      "rsqrt", 0, 100, [](auto x) { return attest::rsqrt(x); },
      [](auto x) { return 1 / std::sqrt(x); });
  both(
      "tanh", -10, 10, [](auto x) { return attest::tanh(x); }, [](auto x) { return std::tanh(x); });
  both(
      "sin", -4, 4, [](auto x) { return attest::sin(x); }, [](auto x) { return std::sin(x); });
  both(
      "cos", -4, 4, [](auto x) { return attest::cos(x); }, [](auto x) { return std::cos(x); });
}
