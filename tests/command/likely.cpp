// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What independent roundings reach: roundings that go together although nothing is wrong are not
// suspected, and a rounding that goes one way everywhere is, far below the worst case.
#include "catch.hpp"
#include "simulated.hpp"
#include "simulated_call.hpp"

#include <attest/oracle/likely_tolerance.hpp>
#include <attest/oracle/verdict.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace attest;
using namespace attest::test;
using oracle::Verdict;

Kernel kernel_of(const std::string& preset, Format output) {
  for (Kernel kernel : simulated_kernels())
    if (kernel.preset == preset) {
      kernel.output = output;
      return kernel;
    }
  FAIL("no such kernel");
  return {};
}

}  // namespace

TEST_CASE("weights that are all rounded the same way are no reason to suspect") {
  // two levels of scores; the lower weight lies just below the middle of two bfloat16 numbers
  Kernel kernel = kernel_of("tensor-core-bf16", Format::f32);
  kernel.array = kernel.input = Format::f32;
  const std::size_t keys = 4096, width = 64;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> slightly(-5e-6, 5e-6);
  for (const auto& [side, apart] :
       {std::pair{-2e-6, 0.0}, std::pair{2e-6, 0.0}, std::pair{-2e-5, 1.0}, std::pair{2e-5, 1.0}}) {
    const double weight = 0.5 * (1 + 0.5 * 0x1p-7) * (1 + side);
    Data data{2, keys, width, 2, {}, {}, {}};
    data.q.assign(2 * width, 0);
    data.k.assign(keys * width, 0);
    data.v.assign(keys * 2, 0);
    for (std::size_t i = 0; i < 2; ++i) {
      data.q[i * width] = static_cast<double>(static_cast<float>(8 * -std::log(weight)));
      data.q[i * width + 1] = 8;
    }
    for (std::size_t j = 0; j < keys; ++j) {
      data.k[j * width] = j % 2 ? -1 : 0;
      // scores apart, weights still on one side of the middle
      data.k[j * width + 1] = static_cast<double>(static_cast<float>(apart * slightly(random)));
      data.v[2 * j] = j % 2 ? 1 : 0.25;
      data.v[2 * j + 1] = 1;
    }
    const CallBuilder call = simulated_call(kernel, data, Simulation(kernel, data, 0).output());
    const oracle::Report report = oracle::judge(call.call);
    CAPTURE(side, apart);
    CHECK(report.verdict == Verdict::pass);
    // the same roundings one by one would not have reached so far
    const oracle::Element& worst = *report.outputs[0].worst;
    const double share = weight / (1 + weight) / (keys / 2);
    const double one_by_one = oracle::likely_reach(4) * 0x1p-8 * share * std::sqrt(keys / 2.0);
    CHECK(worst.exact.nearest(worst.got) > 2 * one_by_one);
  }
}

TEST_CASE("weights cut off instead of rounded are suspected") {
  const Kernel kernel = kernel_of("tensor-core-bf16", Format::f32);
  const Data data = data_of(Kind::offset, kernel.array, 2, 2048, 64, 8, 7);
  const std::vector<double> right = Simulation(kernel, data, 7).output();
  const std::vector<double> cut = Simulation(kernel, data, 7, {.cut_weights = true}).output();
  const CallBuilder right_call = simulated_call(kernel, data, right);
  const CallBuilder cut_call = simulated_call(kernel, data, cut);
  CHECK(oracle::judge(right_call.call).verdict == Verdict::pass);
  const oracle::Report report = oracle::judge(cut_call.call);
  REQUIRE(report.verdict == Verdict::suspect);
  const oracle::OutputReport& output = report.outputs[0];
  CHECK(output.suspected == output.elements);
  CHECK(output.failed == 0);
  CHECK(output.worst->likely < 0.25 * output.worst->allowed);
  // in blocks too
  oracle::JudgeOptions blocks;
  blocks.blocks_from = 0;
  CHECK(oracle::judge(cut_call.call, blocks).outputs[0].suspected == output.suspected);
  CHECK(oracle::judge(right_call.call, blocks).verdict == Verdict::pass);
}

TEST_CASE("the reach of independent roundings grows with the number of elements and no faster") {
  // (2 ln(2·10^6 n)/3)^½
  CHECK(std::fabs(oracle::likely_reach(1) - 3.1101) < 1e-3);
  CHECK(std::fabs(oracle::likely_reach(1'000'000) - 4.3455) < 1e-3);
  // uniform roundings: how often their sum is further off than (2 ln(2/δ)/3)^½ says for δ = 0.01
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const double reach = std::sqrt(2 * std::log(2 / 0.01) / 3);
  for (const int terms : {1, 2, 5, 50}) {
    int beyond = 0;
    for (int trial = 0; trial < 20'000; ++trial) {
      double sum = 0;
      for (int n = 0; n < terms; ++n) sum += uniform(random);
      beyond += std::fabs(sum) > reach * std::sqrt(terms);
    }
    CHECK(beyond <= 200);
  }
}

TEST_CASE("sums cut off lose no more than two and a half roundoffs each") {
  std::mt19937_64 random(2);
  double most = 0;
  for (int trial = 0; trial < 3'000; ++trial) {
    const int block = 4 << random() % 3;
    const auto n = static_cast<std::size_t>(block) * (1 + random() % 40);
    double sum = 0, exact = 0, size = 0;
    for (std::size_t begin = 0; begin < n; begin += static_cast<std::size_t>(block)) {
      std::vector<double> addends{sum};
      double largest = std::fabs(sum);
      for (int k = 0; k < block; ++k) {
        // of one sign or of both, near one size or not
        double x = static_cast<double>(random() % 4096 + 1) / 4096;
        if (trial % 3 == 1 && random() % 2) x = -x;
        if (trial % 3 == 2) x = std::ldexp(x, -static_cast<int>(random() % 20));
        x = static_cast<double>(static_cast<float>(x * 1.0000001));
        addends.push_back(x);
        exact += x;
        size += std::fabs(x);
        largest = std::max(largest, std::fabs(x));
      }
      const auto cut = [](double x, double of) {
        const double unit = std::ldexp(1.0, std::ilogb(of) - 23);
        return std::trunc(x / unit) * unit;
      };
      double total = 0;
      for (const double x : addends) total += cut(x, largest);
      sum = total == 0 ? 0 : cut(total, total);
    }
    most = std::max(most, std::fabs(sum - exact) / (static_cast<double>(n) * 0x1p-24 * size));
  }
  CHECK(most <= oracle::Precision::roundoff_when_cut);
  CHECK(most > 0.4);
}
