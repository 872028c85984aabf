// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Faults: the ways attention goes wrong, each as a change that can be made to any call it may
// strike, with its name, what usually causes it, and the smallest call that shows it.
//
// They diagnose (which of them returns what was got?), tell what an input could have shown, and
// test tests.
#pragma once
#include <attest/oracle/fault/arithmetic.hpp>
#include <attest/oracle/fault/cache.hpp>
#include <attest/oracle/fault/causality.hpp>
#include <attest/oracle/fault/definition.hpp>
#include <attest/oracle/fault/evaluation.hpp>
#include <attest/oracle/fault/gradient.hpp>
#include <attest/oracle/fault/heads.hpp>
#include <attest/oracle/fault/layout.hpp>
#include <attest/oracle/fault/log_sum_exp.hpp>
#include <attest/oracle/fault/mask.hpp>
#include <attest/oracle/fault/scale.hpp>
#include <attest/oracle/fault/sinks.hpp>
#include <attest/oracle/fault/softcap.hpp>
#include <attest/oracle/fault/softmax.hpp>
#include <attest/oracle/fault/tiles.hpp>
#include <attest/oracle/fault/window.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attest::oracle {

// All of them, those that are met more often first in each family.
inline const std::vector<Fault>& faults() {
  static const std::vector<Fault> all = [] {
    std::vector<Fault> result;
    using Family = std::span<const Fault>;
    for (const Family family : {Family(detail::scale_faults), Family(detail::causality_faults),
                                Family(detail::mask_faults), Family(detail::empty_row_faults),
                                Family(detail::window_faults), Family(detail::head_faults),
                                Family(detail::softcap_faults), Family(detail::sink_faults),
                                Family(detail::position_faults), Family(detail::cache_faults),
                                Family(detail::softmax_faults), Family(detail::tile_faults),
                                Family(detail::arithmetic_faults), Family(detail::layout_faults),
                                Family(detail::row_faults), Family(detail::log_sum_exp_faults),
                                Family(detail::gradient_faults)})
      result.insert(result.end(), family.begin(), family.end());
    return result;
  }();
  return all;
}

// Null: none is called so.
inline const Fault* find_fault(std::string_view name) {
  for (const Fault& fault : faults())
    if (fault.name == name) return &fault;
  return nullptr;
}

// With each of its numbers that this call gives a meaning. A call without keys or queries leaves
// nothing to do wrong.
inline std::vector<FaultCase> cases_of(const Fault& fault, const Problem& problem) {
  std::vector<FaultCase> result;
  if (problem.given_keys() == 0 || problem.query.shape[2] == 0) return result;
  for (const double setting : fault.settings(problem)) result.push_back({&fault, setting});
  return result;
}
inline bool applies(const Fault& fault, const Problem& problem) {
  return !cases_of(fault, problem).empty();
}

// The call as the fault has it computed; further faults can be added to it.
inline Implementation implementation(const Problem& problem) {
  Implementation result;
  result.problem = problem;
  result.problem.alternatives.clear();
  return result;
}
inline Implementation implementation(const Problem& problem, const FaultCase& fault) {
  Implementation result = implementation(problem);
  fault.fault->inject(result, fault.setting);
  return result;
}

// What an implementation returns that computes in `arithmetic`, every step rounded to its format:
// without a fault, and with one where `place` is.
inline Outputs evaluate(const Problem& problem, const Precision& arithmetic) {
  const Implementation right = implementation(problem);
  return evaluate(right, right, Place::everywhere(), arithmetic, true);
}
inline Outputs evaluate(const Problem& problem, const FaultCase& fault, const Place& place,
                        const Precision& arithmetic) {
  return evaluate(implementation(problem), implementation(problem, fault), place, arithmetic, true);
}

// The usual arithmetic of `inputs`: float16 and bfloat16 with products summed in float32.
inline Precision fused_precision(const NumberFormat& inputs) {
  const bool narrow = inputs.precision < formats::float32.precision;
  const NumberFormat& wide = narrow ? formats::float32 : inputs;
  return {wide, wide, wide, inputs, inputs};
}

}  // namespace attest::oracle
