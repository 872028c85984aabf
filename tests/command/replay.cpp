// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Where it is known how weights are rounded, they are rounded again: simulated kernels pass by
// their own way and by a bound several times narrower, and fail by another way.
#include "catch.hpp"
#include "simulated.hpp"

#include <attest/oracle/verdict.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "../oracle/call_builder.hpp"
#include "simulated_call.hpp"

namespace {

using namespace attest;
using namespace attest::test;
using oracle::Verdict;

Kernel fused(const std::string& preset, Format weight, std::size_t tile, bool from_last) {
  for (Kernel kernel : simulated_kernels())
    if (kernel.preset == preset && kernel.weight == weight) {
      kernel.output = Format::f32;  // so that nothing hides the weights' roundings
      kernel.tile = tile;
      kernel.from_last = from_last;
      return kernel;
    }
  FAIL("no such kernel");
  return {};
}

CallBuilder claimed(const Kernel& kernel, const Data& data, const std::vector<double>& out,
                    const char* rounding, std::size_t tile) {
  CallBuilder call = simulated_call(kernel, data, out);
  call.call.precision["weight_rounding"] = std::string(rounding);
  if (rounding != std::string("normalized"))
    call.call.precision["tile"] = static_cast<std::int64_t>(tile);
  return call;
}

}  // namespace

TEST_CASE("weights rounded by a running maximum are replayed") {
  std::size_t other_order_fails = 0, other_tile_fails = 0;
  double narrower = 0;
  std::size_t calls = 0;
  for (const auto& [preset, weight] :
       {std::pair{"tensor-core-bf16", Format::bf16}, std::pair{"tensor-core-f16", Format::f16},
        std::pair{"fp8-e4m3", Format::e4m3}})
    for (const bool from_last : {false, true})
      for (const auto& [kind, name] : kinds)
        for (const std::size_t keys : {std::size_t{40}, std::size_t{300}}) {
          const Kernel kernel = fused(preset, weight, 64, from_last);
          const Data data = data_of(kind, kernel.array, 2, keys, 64, 4, ++calls);
          const std::vector<double> out = Simulation(kernel, data, calls).output();
          CAPTURE(preset, from_last, name, keys, calls);
          const char* own = from_last ? "running-maximum-from-last" : "running-maximum";
          const char* other = from_last ? "running-maximum" : "running-maximum-from-last";
          const CallBuilder replayed = claimed(kernel, data, out, own, 64);
          const oracle::Report report = oracle::judge(replayed.call);
          CHECK(report.verdict == Verdict::pass);
          CHECK(report.outputs[0].bound == oracle::Bound::replay);
          const oracle::Report ordinary = oracle::judge(simulated_call(kernel, data, out).call);
          narrower +=
              std::log(ordinary.outputs[0].worst->allowed / report.outputs[0].worst->allowed);
          other_order_fails +=
              oracle::judge(claimed(kernel, data, out, other, 64).call).verdict == Verdict::fail;
          other_tile_fails +=
              oracle::judge(claimed(kernel, data, out, own, 16).call).verdict == Verdict::fail;
        }
  // in the geometric mean
  CHECK(std::exp(narrower / static_cast<double>(calls)) > 3);
  CHECK(other_order_fails > calls / 8);  // half of the calls have one tile
  CHECK(other_tile_fails > calls / 5);
}

TEST_CASE("weights rounded once they are normalized are replayed") {
  std::size_t unnormalized_fails = 0, calls = 0;
  for (const auto& [kind, name] : kinds) {
    // scores in float32 leave the weights' roundings to be seen
    Kernel kernel = fused("tensor-core-bf16", Format::bf16, 0, false);
    kernel.normalized = true;
    const Data data = data_of(kind, kernel.array, 2, 200, 64, 4, ++calls);
    const std::vector<double> out = Simulation(kernel, data, calls).output();
    CAPTURE(name);
    CHECK(oracle::judge(claimed(kernel, data, out, "normalized", 0).call).verdict == Verdict::pass);
    kernel.normalized = false;
    const std::vector<double> other = Simulation(kernel, data, calls).output();
    unnormalized_fails +=
        oracle::judge(claimed(kernel, data, other, "normalized", 0).call).verdict == Verdict::fail;
  }
  CHECK(unnormalized_fails > calls / 3);
}

TEST_CASE("a weight in the middle of two numbers may be replayed as either") {
  Kernel kernel = fused("tensor-core-bf16", Format::bf16, 64, false);
  kernel.array = kernel.input = Format::f32;
  constexpr std::size_t keys = 64, width = 16;
  std::size_t other_way = 0;
  for (int step = -8; step <= 8; ++step) {
    const double weight = 0.5 * (1 + 0.5 * 0x1p-7) * (1 + step * 4e-8);
    Data data{1, keys, width, 1, {}, {}, {}};
    data.q.assign(width, 0);
    data.k.assign(keys * width, 0);
    data.v.assign(keys, 0.25);
    data.q[0] = static_cast<double>(static_cast<float>(4 * -std::log(weight)));
    for (std::size_t j = 1; j < keys; ++j) {
      data.k[j * width] = -1;
      data.v[j] = 1;
    }
    for (std::uint64_t manner = 0; manner < 3; ++manner) {
      const CallBuilder call =
          claimed(kernel, data, Simulation(kernel, data, manner).output(), "running-maximum", 64);
      const oracle::Report report = oracle::judge(call.call);
      CAPTURE(step, manner);
      CHECK(report.verdict == Verdict::pass);
      const oracle::Element& worst = *report.outputs[0].worst;
      other_way += worst.exact.nearest(worst.got) > 1e-4;
    }
  }
  CHECK(other_way > 0);
}

TEST_CASE("a running maximum needs to know its tiles") {
  const Kernel kernel = fused("tensor-core-bf16", Format::bf16, 64, false);
  const Data data = data_of(Kind::random, kernel.array, 1, 8, 64, 4, 1);
  CallBuilder call = simulated_call(kernel, data, Simulation(kernel, data, 1).output());
  call.call.precision["weight_rounding"] = std::string("running-maximum");
  CHECK_THROWS_AS(oracle::judge(call.call), oracle::BadCall);
  call.call.precision["weight_rounding"] = std::string("somehow");
  CHECK_THROWS_AS(oracle::judge(call.call), oracle::BadCall);
}
