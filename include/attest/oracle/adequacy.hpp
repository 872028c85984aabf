// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Adequacy: which faults this input could have shown.
//
// Each fault that may strike a call is tried on it, with its usual numbers: it shows if it moves
// some output by more than twice what the claimed arithmetic may lose there, once for the right
// result and once for the wrong one. A test whose input does not show a fault passes with it.
#pragma once
#include <attest/oracle/diagnosis/finding.hpp>
#include <attest/oracle/linkage.hpp>
#include <attest/oracle/precision.hpp>
#include <attest/oracle/problem.hpp>
#include <attest/oracle/report.hpp>

#include <optional>

namespace attest::oracle {

// A rule of acceptance other than this library's own: |got − exact| <= absolute + relative·|exact|.
struct Allclose {
  double absolute = 0, relative = 0;
};

struct AdequacyOptions {
  double work = 0x1p28;               // about how many multiplications may be done
  std::optional<Allclose> tolerance;  // instead of what the claimed arithmetic may lose
};

// `report` may be of any verdict: it says which row to look at first.
Adequacy adequacy(const Problem& problem, const Precision& claim, const Report& report,
                  const AdequacyOptions& options = {});

}  // namespace attest::oracle

#ifndef ATTEST_ORACLE_COMPILED
#include <attest/oracle/definitions/adequacy.hpp>
#endif
