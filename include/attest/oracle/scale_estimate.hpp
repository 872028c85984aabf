// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The scale an output fits: a matched filter over many rows.
//
// Notation as in enclosure.hpp. With the scale c the output of a row is o(c), and
//   g = ∂o/∂c = Σ p_j r_j (v_j − o),  r_j = q·k_j cap'(c q·k_j).
// A subject that took another scale returns o(c) + (c' − c) g + …. Of all sums that weigh the
// differences y − o(c), the one by g/σ² tells c' − c best from roundings of size σ: least squares,
//   c' − c = Σ g (y − o)/σ² / Σ g²/σ²,
// repeated at c' until it stands still (Gauss and Newton), from the best of a ladder of scales.
// Roundings of one row may depend on each other, those of different rows do so less; so the
// standard error is taken from the sums of whole rows.
//
// A fit is an estimate, computed in double. `estimate_scale` says more: by its own scale the output
// was certainly wrong or suspect, and by the other one all of it passes. Right outputs never have
// one.
#pragma once
#include <attest/oracle/judge_options.hpp>
#include <attest/oracle/linkage.hpp>
#include <attest/oracle/precision.hpp>
#include <attest/oracle/problem.hpp>
#include <attest/oracle/report.hpp>

#include <optional>
#include <string>

namespace attest::oracle {

// "the output fits a scale of 0.0883883 = 1/√128 instead of 0.125 = 1/√64"
std::string in_words(const ScaleEstimate& estimate);

// The scale that the output fits best; none where no row's output depends on it.
std::optional<ScaleFit> fit_scale(const Problem& problem, const Precision& claim);

// The scale by which an output is right that is wrong or suspect by its rule's own: `report` says
// so of it.
std::optional<ScaleEstimate> estimate_scale(const Problem& problem, const Precision& claim,
                                            const Report& report, const JudgeOptions& options = {});

}  // namespace attest::oracle

#ifndef ATTEST_ORACLE_COMPILED
#include <attest/oracle/definitions/scale_estimate.hpp>
#endif
