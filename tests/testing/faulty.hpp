// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Subjects that compute in the claimed arithmetic, honestly or with a fault.
#pragma once
#include <attest/oracle/fault.hpp>
#include <attest/oracle/needle/scope.hpp>
#include <attest/oracle/verdict.hpp>
#include <attest/testing/subject.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace attest::test {

inline testing::Subject honest_subject() {
  return [](const oracle::Call& call) {
    const oracle::Problem problem = oracle::read_problem(call);
    return testing::Answer::of(oracle::with_outputs(
        call, oracle::evaluate(problem, oracle::claimed_precision(call, problem))));
  };
}
// With the fault where the call has something it could strike, with this setting if it may have it.
inline testing::Subject faulty_subject(const oracle::Fault& fault, double setting,
                                       const oracle::Place& place = {}) {
  return [&fault, setting, place](const oracle::Call& call) {
    const oracle::Problem problem = oracle::read_problem(call);
    const oracle::Precision claim = oracle::claimed_precision(call, problem);
    const std::vector<double> settings = fault.settings(problem);
    const bool may = std::find(settings.begin(), settings.end(), setting) != settings.end();
    return testing::Answer::of(
        oracle::with_outputs(call, may ? oracle::evaluate(problem, {&fault, setting}, place, claim)
                                       : oracle::evaluate(problem, claim)));
  };
}

// Everything that plain can ask for; float16 and bfloat16 with scores in float32.
inline oracle::Scope whole_scope(oracle::ElementType type, const std::string& dialect = "plain") {
  oracle::Scope scope;
  scope.dialect = dialect;
  scope.type = type;
  scope.features = oracle::Features::all();
  if (oracle::facts(type).format->precision < 24)
    scope.precision["scores"] = std::string("float32");
  return scope;
}

}  // namespace attest::test
