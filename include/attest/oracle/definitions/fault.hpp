// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The catalogue of faults, family by family.
#pragma once
#include <attest/oracle/fault.hpp>
#include <attest/oracle/fault/arithmetic.hpp>
#include <attest/oracle/fault/cache.hpp>
#include <attest/oracle/fault/causality.hpp>
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
#include <string_view>
#include <vector>

namespace attest::oracle {

ATTEST_ORACLE_INLINE const std::vector<Fault>& faults() {
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

ATTEST_ORACLE_INLINE const Fault* find_fault(std::string_view name) {
  for (const Fault& fault : faults())
    if (fault.name == name) return &fault;
  return nullptr;
}

ATTEST_ORACLE_INLINE std::vector<FaultCase> cases_of(const Fault& fault, const Problem& problem) {
  std::vector<FaultCase> result;
  if (problem.given_keys() == 0 || problem.query.shape[2] == 0) return result;
  for (const double setting : fault.settings(problem)) result.push_back({&fault, setting});
  return result;
}
ATTEST_ORACLE_INLINE Implementation implementation(const Problem& problem) {
  Implementation result;
  result.problem = problem;
  result.problem.alternatives.clear();
  return result;
}
ATTEST_ORACLE_INLINE Implementation implementation(const Problem& problem, const FaultCase& fault) {
  Implementation result = implementation(problem);
  fault.fault->inject(result, fault.setting);
  return result;
}

ATTEST_ORACLE_INLINE Outputs evaluate(const Problem& problem, const Precision& arithmetic) {
  const Implementation right = implementation(problem);
  return evaluate(right, right, Place::everywhere(), arithmetic, true);
}
ATTEST_ORACLE_INLINE Outputs evaluate(const Problem& problem, const FaultCase& fault,
                                      const Place& place, const Precision& arithmetic) {
  return evaluate(implementation(problem), implementation(problem, fault), place, arithmetic, true);
}

}  // namespace attest::oracle
