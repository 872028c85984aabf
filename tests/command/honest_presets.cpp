// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Kernels simulated in the arithmetic of every preset, over ten kinds of data: none is failed by
// the preset it follows, and hardly any is suspected.
#include "catch.hpp"
#include "simulated.hpp"

#include <attest/oracle/verdict.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "simulated_call.hpp"

namespace {

using namespace attest;
using namespace attest::test;
using oracle::Verdict;

struct Tally {
  std::size_t calls = 0, passed = 0, suspected = 0, elements = 0;
};

// Judges what the kernel makes of the data, by its preset.
void judge_kernel(const Kernel& kernel, Kind kind, std::size_t queries, std::size_t keys,
                  std::size_t width, std::uint64_t seed, Tally& tally) {
  const Data data = data_of(kind, kernel.array, queries, keys, width, 8, seed);
  const CallBuilder call = simulated_call(kernel, data, Simulation(kernel, data, seed).output());
  const oracle::Report report = oracle::judge(call.call);
  ++tally.calls;
  tally.passed += report.verdict == Verdict::pass;
  tally.suspected += report.outputs[0].suspected;
  tally.elements += report.outputs[0].elements;
  CAPTURE(kernel.preset, kernel.tile, static_cast<int>(kernel.output), static_cast<int>(kind), keys,
          width, seed);
  if (report.verdict == Verdict::fail || report.verdict == Verdict::suspect) {
    const oracle::Element& worst = *report.outputs[0].worst;
    CAPTURE(worst.got, worst.exact.high, worst.allowed, worst.likely);
    CHECK(report.verdict != Verdict::fail);
    if (report.verdict == Verdict::suspect) WARN("suspected");
  }
}

// `expected`: presets all of whose calls must pass; "never fail" would be kept by a judge that
// never decides.
void judge_all(const std::vector<std::size_t>& lengths, std::size_t queries, std::size_t rounds,
               std::uint64_t first_seed) {
  std::map<std::string, Tally> tallies;
  std::uint64_t seed = first_seed;
  for (const Kernel& kernel : simulated_kernels())
    for (const auto& [kind, name] : kinds)
      for (const std::size_t keys : lengths)
        for (std::size_t n = 0; n < rounds; ++n)
          judge_kernel(kernel, kind, queries, keys, n % 2 ? 128 : 64, ++seed,
                       tallies[kernel.preset]);
  std::size_t suspected = 0, elements = 0;
  for (const auto& [preset, tally] : tallies) {
    CAPTURE(preset, tally.calls, tally.passed, tally.suspected);
    suspected += tally.suspected;
    elements += tally.elements;
    const bool always = preset == "float64" || preset == "float32" || preset == "float32-exp2" ||
                        preset.starts_with("tensor-core") || preset == "fp8-e4m3" ||
                        preset == "fp8-e5m2";
    if (always && preset != "tensor-core-f16-sums") CHECK(tally.passed == tally.calls);
    // nothing is certain of sums in 16 bits over so many keys
    const bool sums_in_16_bits = preset.starts_with("all") || preset == "tensor-core-f16-sums";
    if (!sums_in_16_bits || *std::min_element(lengths.begin(), lengths.end()) < 64)
      CHECK(tally.passed > 0);
  }
  CAPTURE(elements);
  CHECK(suspected == 0);
}

}  // namespace

TEST_CASE("every preset is simulated") {
  std::set<std::string> simulated;
  for (const Kernel& kernel : simulated_kernels()) simulated.insert(kernel.preset);
  for (const oracle::PrecisionPreset& preset : oracle::precision_presets())
    CHECK(simulated.count(std::string(preset.name)) == 1);
}

TEST_CASE("kernels that follow a preset are not failed by it") {
  judge_all({4, 33, 400}, 2, 1, 1);
}

TEST_CASE("kernels that follow a preset are not failed by it, over up to 8192 keys", "[.long]") {
  const std::uint64_t seed = 1'000'000;
  judge_all({1, 2, 64, 257, 1024}, 8, 6, seed);
  judge_all({4096, 8192}, 4, 2, 2 * seed);
}
