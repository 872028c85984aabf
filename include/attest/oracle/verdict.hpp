// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Verdict: whether each number a subject returned can come from the arithmetic it claims.
#pragma once
#include <attest/oracle/dialect.hpp>
#include <attest/oracle/judge_options.hpp>
#include <attest/oracle/linkage.hpp>
#include <attest/oracle/precision_presets.hpp>
#include <attest/oracle/report.hpp>

namespace attest::oracle {

// Judges every output of a call that an enclosure exists for, by the problem's first rule.
Report judge_by_rule(const Problem& problem, const Precision& claim,
                     const JudgeOptions& options = {});

// Judges by each reading the dialect's text allows: each of its rules, and the softmax in the
// format the call asks for where that is coarser than the claim's, since a finer one may always be
// used. The outputs must all be right by the same reading; the mildest verdict counts, earlier
// readings first.
Report judge(const Problem& problem, const Precision& claim, const JudgeOptions& options = {});

// The whole way from a captured call to its verdict. Throws BadCall where the call cannot be meant.
Report judge(const Call& call, const JudgeOptions& options = {});

}  // namespace attest::oracle

#ifndef ATTEST_ORACLE_COMPILED
#include <attest/oracle/definitions/verdict.hpp>
#endif
