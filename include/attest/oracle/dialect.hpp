// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Dialects: named readings of a call. Each turns a framework's arrays and options into a problem.
#pragma once
#include <attest/oracle/dialect/conventions.hpp>
#include <attest/oracle/dialect/options.hpp>
#include <attest/oracle/linkage.hpp>
#include <attest/oracle/problem.hpp>

#include <span>
#include <string_view>

namespace attest::oracle {

struct Dialect {
  std::string_view name;
  std::string_view what;    // in one line
  std::string_view source;  // the text that defines it
  Problem (*read)(const Call&);
  const Conventions* conventions;  // null: it takes every one as an option
  std::span<const Term> options;
  std::span<const Term> arrays;  // beside q, k, v and out
};

std::span<const Dialect> dialects();

// Null: nobody's.
const Dialect* find_dialect(std::string_view name);

// Reads the call by its dialect. Throws BadCall where the call cannot be meant.
Problem read_problem(const Call& call);

}  // namespace attest::oracle

#ifndef ATTEST_ORACLE_COMPILED
#include <attest/oracle/definitions/dialect.hpp>
#endif
