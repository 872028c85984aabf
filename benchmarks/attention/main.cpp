// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// How long attention takes, attest's beside others', and how near each comes to the least time the
// processor needs for the multiplications and additions alone: a table in Markdown. Every
// competitor must first give what attest gives, to within what rounding allows. Times are the
// shortest of many runs that take turns. Usage: attention [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "measured.hpp"

namespace {

using namespace measured;

template <std::size_t Tokens, std::size_t D>
struct Competitor {
  const char* name;
  void (*attend)(Problem<Tokens, D>&);
  bool fuses = true;  // multiplications with additions, where the program may
  double seconds = 1e9;
};

template <std::size_t Tokens, std::size_t D>
std::vector<Competitor<Tokens, D>> competitors() {
  return {{"attest", attest_bit_exact<Tokens, D>, false},
          {"attest, contracted", attest_contracted<Tokens, D>},
#ifdef ATTEST_HAS_EIGEN
          {"Eigen, fixed sizes", eigen_fixed<Tokens, D>},
          {"Eigen, dynamic", eigen_dynamic<Tokens, D>},
#endif
          {"tiles", tiles<Tokens, D>},
          {"plain loops", plain_loops<Tokens, D>}};
}

// Uniform in [−1, 1], queries in [−4, 4]: scores with a standard deviation of about 4/3.
template <std::size_t Tokens, std::size_t D>
void fill(Problem<Tokens, D>& problem) {
  std::uint64_t state = 1;
  const auto uniform = [&state] {
    state = state * 6364136223846793005 + 1442695040888963407;
    return static_cast<float>(static_cast<std::int32_t>(state >> 32)) * 0x1p-31f;
  };
  for (auto& row : problem.query)
    for (float& x : row) x = 4 * uniform();
  for (auto& row : problem.key)
    for (float& x : row) x = uniform();
  for (auto& row : problem.value)
    for (float& x : row) x = uniform();
}

// How far two may be apart that both add n numbers in any order: twice the bound of attention.hpp
// for |scale·q·k| ≤ 4·√d and |v| ≤ 1, with 2 units more for an approximate exponential.
double allowed(std::size_t tokens, std::size_t d) {
  const double n = static_cast<double>(tokens), width = static_cast<double>(d);
  const double score = 4 * std::sqrt(width);
  const double phi = (width + 1) * score + 2 * score + 1 + 2 * score + 2;
  return 2 * 0x1p-24 * (2 * phi + 2 * (n + 1));
}

template <std::size_t Tokens, std::size_t D>
void check(Problem<Tokens, D>& problem, const std::vector<Competitor<Tokens, D>>& all) {
  const auto wanted = std::make_unique<Problem<Tokens, D>>();
  fill(*wanted);
  attest_bit_exact(*wanted);
  for (const auto& one : all) {
    for (auto& row : problem.output)
      for (float& x : row) x = NAN;
    one.attend(problem);
    for (std::size_t i = 0; i < Tokens; ++i)
      for (std::size_t t = 0; t < D; ++t)
        if (!(std::abs(problem.output[i][t] - wanted->output[i][t]) <= allowed(Tokens, D))) {
          std::printf("%s is wrong: %g, not %g, T = %zu, d = %zu\n", one.name,
                      static_cast<double>(problem.output[i][t]),
                      static_cast<double>(wanted->output[i][t]), Tokens, D);
          std::exit(1);
        }
  }
}

constexpr double seconds_of_a_run = 30e-6;

template <std::size_t Tokens, std::size_t D>
std::vector<Competitor<Tokens, D>> timed(int rounds) {
  const auto problem = std::make_unique<Problem<Tokens, D>>();
  fill(*problem);
  auto all = competitors<Tokens, D>();
  check(*problem, all);
  // Several calls to a run where one is too short to be timed, as many for everyone.
  const int calls =
      1 + static_cast<int>(seconds_of_a_run / (1e-10 * static_cast<double>(Tokens * Tokens * D)));
  for (int round = 0; round < rounds; ++round)
    for (auto& one : all) {
      const auto start = std::chrono::steady_clock::now();
      for (int call = 0; call < calls; ++call) {
        one.attend(*problem);
        asm volatile("" : : "r"(problem.get()) : "memory");
      }
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
      one.seconds = std::min(one.seconds, time.count() / calls);
    }
  return all;
}

template <std::size_t Tokens, std::size_t D>
void row(int rounds, double separate, double fused) {
  const auto all = timed<Tokens, D>(rounds);
  constexpr double pairs = 2.0 * Tokens * Tokens * D;
  std::printf("| %zu, %zu |", Tokens, D);
  for (const auto& one : all)
    std::printf(" %.2f (%.0f %%) |", 1e6 * one.seconds,
                100 * pairs * (one.fuses && fused > 0 ? fused : separate) / one.seconds);
#ifdef ATTEST_HAS_EIGEN
  std::printf(" %.2f | %.2f |", all[0].seconds / all[2].seconds, all[1].seconds / all[2].seconds);
#endif
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 250;
  const double separate = seconds_of_multiply_and_add(), fused = seconds_of_fused_multiply_add();
  std::printf("multiplications and additions a second, at most: %.1f·10⁹", 1e-9 / separate);
  if (fused > 0) std::printf("; fused: %.1f·10⁹", 1e-9 / fused);
  const auto all = competitors<8, 16>();
  std::printf("\n\n| T, d |");
  for (const auto& one : all) std::printf(" %s |", one.name);
#ifdef ATTEST_HAS_EIGEN
  std::printf(" attest / Eigen, fixed sizes | contracted / Eigen, fixed sizes |");
#endif
  std::printf("\n|---|");
  for (std::size_t i = 0; i < all.size(); ++i) std::printf("---|");
#ifdef ATTEST_HAS_EIGEN
  std::printf("---|---|\n");
#else
  std::printf("\n");
#endif
#define ATTEST_ROW(tokens, d) row<tokens, d>(rounds, separate, fused);
  ATTEST_FOR_ALL_SIZES(ATTEST_ROW)
#ifndef ATTEST_HAS_EIGEN
  std::puts("skipped: Eigen");
#endif
}
