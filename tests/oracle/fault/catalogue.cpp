// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The catalogue of faults: each strikes its own smallest call so that the judge notices.
#include "catch.hpp"

#include <attest/oracle/fault.hpp>
#include <attest/oracle/verdict.hpp>

#include <set>
#include <string>

namespace {

using namespace attest::oracle;

Verdict judged(const Call& call, const Outputs& outputs) {
  const Example filled = with_outputs(call, outputs);
  return judge(filled.call).verdict;
}

}  // namespace

TEST_CASE("every fault fails on its smallest call, which passes without it") {
  for (const Fault& fault : faults()) {
    CAPTURE(fault.name);
    const Example smallest = fault.smallest();
    const Problem problem = read_problem(smallest.call);
    const Precision claim = claimed_precision(smallest.call, problem);
    CHECK(judged(smallest.call, evaluate(problem, claim)) == Verdict::pass);
    REQUIRE(applies(fault, problem));
    bool fails = false;
    for (const FaultCase& one : cases_of(fault, problem))
      fails = fails || judged(smallest.call, evaluate(problem, one, Place::everywhere(), claim)) ==
                           Verdict::fail;
    CHECK(fails);
  }
}

TEST_CASE("faults have names of their own, and say what they are") {
  std::set<std::string_view> names;
  for (const Fault& fault : faults()) {
    CAPTURE(fault.name);
    CHECK(names.insert(fault.name).second);
    CHECK(fault.what.ends_with('.'));
    CHECK(!fault.cause.empty());
    CHECK(find_fault(fault.name) == &fault);
  }
  CHECK(find_fault("none of them") == nullptr);
}
