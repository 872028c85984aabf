// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The test of the tests: every fault of the catalogue in an honest implementation, and which of
// them laws alone and needles alone find.
#include "catch.hpp"

#include <attest/oracle/needle.hpp>
#include <attest/testing/examine.hpp>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "faulty.hpp"

namespace {

using namespace attest;
using testing::Options;

// A fault with one of the numbers it can have in some needle, and whether a needle shows it.
struct Mutant {
  const oracle::Fault* fault;
  double setting;
  std::string words;
};

std::vector<oracle::Scope> scopes_of(oracle::ElementType type) {
  // a cache and lengths are ONNX's
  return {test::whole_scope(type), test::whole_scope(type, "onnx-24")};
}

std::vector<Mutant> mutants(oracle::ElementType type, bool all_settings) {
  std::vector<std::vector<oracle::Needle>> needles;
  std::vector<oracle::Problem> problems;
  for (const oracle::Scope& scope : scopes_of(type)) needles.push_back(oracle::needles(scope));
  for (const auto& of_scope : needles)
    for (const oracle::Needle& needle : of_scope)
      problems.push_back(oracle::read_problem(needle.call.call));
  std::vector<Mutant> found;
  for (const oracle::Fault& fault : oracle::faults()) {
    std::set<double> settings;
    for (const oracle::Problem& problem : problems)
      for (const double setting : fault.settings(problem)) {
        if (!settings.empty() && !all_settings) break;
        if (settings.insert(setting).second)
          found.push_back({&fault, setting, oracle::FaultCase{&fault, setting}.in_words()});
      }
  }
  return found;
}

bool caught(const Mutant& mutant, oracle::ElementType type, Options options) {
  options.save_to.clear();
  options.shrink_tries = 0;
  options.diagnose = false;
  for (const oracle::Scope& scope : scopes_of(type))
    if (!testing::examine(test::faulty_subject(*mutant.fault, mutant.setting), scope, options)
             .passed())
      return true;
  return false;
}

Options needles_alone() {
  Options options;
  options.laws = false;
  options.random_calls = 0;
  return options;
}
Options laws_alone() {
  Options options;
  options.needles = false;
  options.random_calls = 0;
  return options;
}

struct Score {
  std::size_t mutants = 0, by_needles = 0, by_laws = 0;
  std::vector<std::string> by_none;
};

// Laws cost more than needles: asked of every `one_in`-th mutant.
Score score(oracle::ElementType type, bool all_settings, std::size_t one_in) {
  const bool shows = std::getenv("ATTEST_SHOW_MUTANTS") != nullptr;
  Score result;
  std::size_t n = 0;
  for (const Mutant& mutant : mutants(type, all_settings)) {
    const bool by_needles = caught(mutant, type, needles_alone());
    const bool asks = n++ % one_in == 0;
    const bool by_laws = (asks || !by_needles) && caught(mutant, type, laws_alone());
    if (asks) ++result.mutants, result.by_laws += by_laws, result.by_needles += by_needles;
    if (!by_needles && !by_laws) result.by_none.push_back(mutant.words);
    if (shows && !by_needles) std::printf("  needles alone miss: %s\n", mutant.words.c_str());
    if (shows && asks && !by_laws) std::printf("  laws alone miss: %s\n", mutant.words.c_str());
  }
  std::printf("%-9s %4zu mutants, by needles alone %4zu, by laws alone %4zu, by none %zu\n",
              std::string(oracle::facts(type).name).c_str(), result.mutants, result.by_needles,
              result.by_laws, result.by_none.size());
  for (const std::string& words : result.by_none) std::printf("  by none: %s\n", words.c_str());
  return result;
}

using Words = std::vector<std::string>;

// What no input shows, and why.
//
// An exponential off by at most ε changes an output by at most ε Σ p_j |v_j − o|. Where 8 units in
// the last place (9.5·10⁻⁷) are claimed of each the tolerance holds 9.5·10⁻⁷ Σ p_j |v_j − o| for
// them, and 2⁻²⁴ Σ p_j |v_j − o| at least for rounding each product with a value: more than
// ε = 10⁻⁶ does.
const Words unseen_in_float32{"exponential inaccurate: relative error about 1e-6"};
// Weights are at most 1 and values at most 65504: of n keys the sum before the division is at most
// 65504 n, and float32, in which it is accumulated, holds that for n up to 5·10³³.
const Words unseen_in_float16{"values accumulated before the division"};

}  // namespace

TEST_CASE("every fault that an input can show is caught in float32") {
  const Score found = score(oracle::ElementType::float32, false, 24);
  CHECK(found.by_none == unseen_in_float32);
}

TEST_CASE("every fault with every number it can have is caught in float32", "[.long]") {
  const Score found = score(oracle::ElementType::float32, true, 1);
  CHECK(found.mutants == 547);
  CHECK(found.by_needles == 545);
  CHECK(found.by_laws == 485);
  CHECK(found.by_none == unseen_in_float32);
}

TEST_CASE("every fault with every number it can have is caught in float16", "[.long]") {
  const Score found = score(oracle::ElementType::float16, true, 1);
  CHECK(found.mutants == 533);
  CHECK(found.by_needles == 526);
  CHECK(found.by_laws == 451);
  CHECK(found.by_none == unseen_in_float16);
}

TEST_CASE("every fault with every number it can have is caught in bfloat16", "[.long]") {
  const Score found = score(oracle::ElementType::bfloat16, true, 1);
  CHECK(found.mutants == 527);
  CHECK(found.by_needles == 525);
  CHECK(found.by_laws == 446);
  CHECK(found.by_none == Words{});
}
