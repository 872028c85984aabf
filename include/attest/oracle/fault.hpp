// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Faults: the ways attention goes wrong, each as a change that can be made to any call it may
// strike, with its name, what usually causes it, and the smallest call that shows it.
//
// They diagnose (which of them returns what was got?), tell what an input could have shown, and
// test tests.
#pragma once
#include <attest/oracle/fault/definition.hpp>
#include <attest/oracle/fault/evaluation.hpp>
#include <attest/oracle/linkage.hpp>

#include <string_view>
#include <vector>

namespace attest::oracle {

// All of them, those that are met more often first in each family.
const std::vector<Fault>& faults();

// Null: none is called so.
const Fault* find_fault(std::string_view name);

// With each of its numbers that this call gives a meaning. A call without keys or queries leaves
// nothing to do wrong.
std::vector<FaultCase> cases_of(const Fault& fault, const Problem& problem);

inline bool applies(const Fault& fault, const Problem& problem) {
  return !cases_of(fault, problem).empty();
}

// The call as the fault has it computed; further faults can be added to it.
Implementation implementation(const Problem& problem);
Implementation implementation(const Problem& problem, const FaultCase& fault);

// What an implementation returns that computes in `arithmetic`, every step rounded to its format:
// without a fault, and with one where `place` is.
Outputs evaluate(const Problem& problem, const Precision& arithmetic);
Outputs evaluate(const Problem& problem, const FaultCase& fault, const Place& place,
                 const Precision& arithmetic);

// The usual arithmetic of `inputs`: float16 and bfloat16 with products summed in float32.
inline Precision fused_precision(const NumberFormat& inputs) {
  const bool narrow = inputs.precision < formats::float32.precision;
  const NumberFormat& wide = narrow ? formats::float32 : inputs;
  return {wide, wide, wide, inputs, inputs};
}

}  // namespace attest::oracle

#ifndef ATTEST_ORACLE_COMPILED
#include <attest/oracle/definitions/fault.hpp>
#endif
