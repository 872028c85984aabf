// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Diagnosis: which faults return what a subject returned.
//
// A fault explains an output if it gives every number of it within what the claimed arithmetic may
// lose, and the right ones too that are right. Each fault of the catalogue is tried with each of
// its numbers: everywhere; then where the failing rows are; then for some keys only; then two
// together. More than one may be left: then this input does not tell them apart.
#pragma once
#include <attest/oracle/diagnosis/finding.hpp>
#include <attest/oracle/linkage.hpp>
#include <attest/oracle/precision.hpp>
#include <attest/oracle/problem.hpp>
#include <attest/oracle/report.hpp>

namespace attest::oracle {

struct DiagnosisOptions {
  double work = 0x1p31;      // about how many multiplications may be done
  double row_work = 0x1p26;  // of them for choosing rows; a call of fewer is looked at as a whole
};

// `report`: of the call by the same problem and claim. One that fails is diagnosed; of a suspect one
// hints say what is usual; any other has no diagnosis.
Diagnosis diagnose(const Problem& problem, const Precision& claim, const Report& report,
                   const DiagnosisOptions& options = {});

}  // namespace attest::oracle

#ifndef ATTEST_ORACLE_COMPILED
#include <attest/oracle/definitions/diagnosis.hpp>
#endif
