// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Needles: few small calls that together show the faults an implementation may have, each aimed at
// where some of them begin to matter.
#pragma once
#include <attest/oracle/fault/example.hpp>
#include <attest/oracle/linkage.hpp>
#include <attest/oracle/needle/recipe.hpp>
#include <attest/oracle/needle/scope.hpp>

#include <vector>

namespace attest::oracle {

struct Needle {
  Recipe recipe;  // as far as the scope allows
  Example call;
};

// The needles for a scope, no two alike.
std::vector<Needle> needles(const Scope& scope);

// What attention may be asked for in any dialect: those of plain, and of ONNX those of a cache and
// of lengths, which plain has not.
std::vector<Needle> needles_of_the_whole_rule(const Scope& scope);

}  // namespace attest::oracle

#ifndef ATTEST_ORACLE_COMPILED
#include <attest/oracle/definitions/needle.hpp>
#endif
