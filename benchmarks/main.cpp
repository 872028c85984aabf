// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// attest's exp and softmax beside the C library's and gcem's, measured in one run and printed as
// ratios.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <attest/exp.hpp>
#include <attest/softmax.hpp>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#ifdef ATTEST_HAS_GCEM
#include <gcem.hpp>
#endif

#include "measured.hpp"

namespace {

// Multiples of 2^-20 in [-20, 0], the arguments that softmax gives to exp.
template <class T>
std::vector<T> arguments(std::size_t n) {
  std::vector<T> x(n);
  std::uint32_t state = 1;
  for (T& entry : x) {
    state = state * 1664525u + 1013904223u;
    entry = static_cast<T>(state >> 8) * T(-20.0 / 0x1p24);
  }
  return x;
}

constexpr std::size_t many = 4096;

// What the time of a run is divided by.
void calls(benchmark::State& state, std::size_t count) {
  state.counters["calls"] = static_cast<double>(count);
}

// How long one of many independent calls takes.
template <class T, class Loop>
void throughput(benchmark::State& state, Loop loop) {
  const std::vector<T> x = arguments<T>(many);
  std::vector<T> result(many);
  for (auto _ : state) {
    loop(x.data(), result.data(), many);
    benchmark::DoNotOptimize(result.data());
    benchmark::ClobberMemory();
  }
  calls(state, many);
}
// The same function over all of an array, the loop open to the optimiser.
template <auto function, class T>
void each(const T* x, T* result, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) result[i] = function(x[i]);
}

// How long a call takes that waits for the one before it: two bitwise operations, of which the
// compiler does not know that they change nothing, make the argument depend on the last result.
template <class T, class Function>
void latency(benchmark::State& state, Function function) {
  using Word = attest::bits::Word<T>;
  const std::vector<T> x = arguments<T>(many);
  Word nothing = 0;
  benchmark::DoNotOptimize(nothing);
  T last{};
  for (auto _ : state) {
    for (const T argument : x)
      last = function(
          std::bit_cast<T>(std::bit_cast<Word>(argument) | (std::bit_cast<Word>(last) & nothing)));
    benchmark::DoNotOptimize(last);
  }
  calls(state, many);
}

// What softmax does to a row whose largest score is 0.
void side_by_side(const float* x, float* result, std::size_t n) {
  std::memcpy(result, x, n * sizeof *x);
  for (std::size_t i = 0; i + attest::lanes <= n; i += attest::lanes)
    attest::exp_side_by_side<attest::lanes>(result + i, 0);
}

template <class T>
constexpr auto attest_exp = [](T x) { return attest::exp(x); };
template <class T>
constexpr auto libc_exp = [](T x) { return std::exp(x); };
#ifdef ATTEST_HAS_GCEM
template <class T>
constexpr auto gcem_exp = [](T x) { return gcem::exp(x); };
#endif

template <class T>
void register_exp(const std::string& type) {
  using benchmark::RegisterBenchmark;
  const auto add = [&](const char* whose, const char* what, auto run) {
    RegisterBenchmark(("exp " + type + ", " + what + "/" + whose).c_str(), run);
  };
  add("attest", "throughput", [](auto& s) { throughput<T>(s, each<attest_exp<T>, T>); });
  add("libc", "throughput", [](auto& s) { throughput<T>(s, each<libc_exp<T>, T>); });
  if constexpr (std::is_same_v<T, float>) {
    add("attest", "side by side", [](auto& s) { throughput<T>(s, side_by_side); });
    add("libc", "side by side", [](auto& s) { throughput<T>(s, each<libc_exp<T>, T>); });
  }
  add("attest", "latency", [](auto& s) { latency<T>(s, attest_exp<T>); });
  add("libc", "latency", [](auto& s) { latency<T>(s, libc_exp<T>); });
#ifdef ATTEST_HAS_GCEM
  add("gcem", "throughput", [](auto& s) { throughput<T>(s, each<gcem_exp<T>, T>); });
  add("gcem", "latency", [](auto& s) { latency<T>(s, gcem_exp<T>); });
#endif
}

void libc_softmax(float* x, std::size_t n) {
  float largest = x[0];
  for (std::size_t j = 1; j < n; ++j)
    if (x[j] > largest) largest = x[j];
  float total = 0;
  for (std::size_t j = 0; j < n; ++j) total = total + (x[j] = std::exp(x[j] - largest));
  for (std::size_t j = 0; j < n; ++j) x[j] = x[j] / total;
}

// Softmax works in place: each run begins with a copy of the scores, a hundredth of the time. It
// takes as many rows as hold 8192 numbers, so that no row waits for its own copy and no branch on a
// mask is learnt by heart.
constexpr std::size_t numbers = 8192;

template <std::size_t N, class Softmax>
void rows(benchmark::State& state, Softmax softmax) {
  const std::vector<float> scores = arguments<float>(numbers);
  alignas(64) static float x[numbers / N][N];
  for (auto _ : state) {
    std::memcpy(x, scores.data(), sizeof x);
    benchmark::DoNotOptimize(&x);
    for (std::size_t i = 0; i < numbers / N; ++i) softmax(x[i], i);
    benchmark::DoNotOptimize(&x);
    benchmark::ClobberMemory();
  }
  calls(state, numbers / N);
}

std::string padded(std::size_t n) {
  const std::string digits = std::to_string(n);
  return std::string(4 - digits.size(), ' ') + digits;
}

template <std::size_t N>
void register_softmax() {
  using Row = float(&)[N];
  static attest::Matrix<bool, numbers / N, N> pattern;
  std::uint32_t state = 2;
  for (auto& row : pattern.entries)
    for (bool& seen : row) seen = (state = state * 1664525u + 1013904223u) >> 30 != 0;
  const auto add = [](const char* what, const char* whose, auto softmax) {
    benchmark::RegisterBenchmark(
        ("softmax" + std::string(what) + ", " + padded(N) + "/" + whose).c_str(),
        [softmax](auto& s) { rows<N>(s, softmax); });
  };
  const auto plain = [](Row x, std::size_t) { measured::plain_softmax(x, N); };
  const auto libc = [](Row x, std::size_t) { libc_softmax(x, N); };
  add("", "attest", [](Row x, std::size_t) { attest::softmax_row(x, attest::everything, 0); });
  add("", "plain", plain);
  add("", "libc", libc);
  add(", causal, all seen", "attest",
      [](Row x, std::size_t) { attest::softmax_row(x, attest::causal, N - 1); });
  add(", causal, all seen", "plain", plain);
  add(", causal, all seen", "libc", libc);
  add(", mask, 3 of 4 seen", "attest",
      [](Row x, std::size_t i) { attest::softmax_row(x, pattern, i); });
  add(", mask, 3 of 4 seen", "plain",
      [](Row x, std::size_t i) { measured::plain_softmax(x, pattern[i], N); });
}

// Keeps the shortest time of each benchmark over its repetitions: what disturbs a run only makes it
// longer.
class Shortest : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      const double time = run.GetAdjustedCPUTime() / run.counters.at("calls").value;
      const std::string name = run.benchmark_name();
      const std::string what = name.substr(0, name.find('/'));
      const std::string whose =
          name.substr(what.size() + 1, name.find('/', what.size() + 1) - what.size() - 1);
      const auto [place, is_new] = times_[what].emplace(whose, time);
      if (!is_new) place->second = std::min(place->second, time);
    }
  }

  void print() const {
    std::printf("%-40s %10s %10s %10s %10s %9s %9s\n", "nanoseconds", "attest", "glibc", "gcem",
                "plain", "/glibc", "plain/");
    std::printf("%-40s %10s %10s %10s %10s %9s %9s\n", "", "", "", "", "loop", "", "attest");
    for (const auto& [what, times] : times_) {
      std::printf("%-40s", what.c_str());
      for (const char* whose : {"attest", "libc", "gcem", "plain"}) {
        const double t = time(what, whose);
        if (t > 0)
          std::printf(" %10.2f", t);
        else
          std::printf(" %10s", "-");
      }
      if (time(what, "libc") > 0)
        std::printf(" %9.2f", time(what, "attest") / time(what, "libc"));
      else
        std::printf(" %9s", "-");
      if (time(what, "plain") > 0)
        std::printf(" %9.2f", time(what, "plain") / time(what, "attest"));
      std::printf("\n");
    }
#ifndef ATTEST_HAS_GCEM
    std::printf("skipped: gcem\n");
#endif
  }

 private:
  double time(const std::string& what, const char* whose) const {
    const auto& row = times_.at(what);
    const auto found = row.find(whose);
    return found == row.end() ? 0 : found->second;
  }

  std::map<std::string, std::map<std::string, double>> times_;
};

}  // namespace

int main(int argc, char** argv) {
  register_exp<float>("float");
  register_exp<double>("double");
  register_softmax<64>();
  register_softmax<256>();
  register_softmax<1024>();
  register_softmax<4096>();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  Shortest shortest;
  benchmark::RunSpecifiedBenchmarks(&shortest);
  shortest.print();
}
