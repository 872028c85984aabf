// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Examine: everything that can be asked of a subject within a scope — needles and random calls that
// the judge looks at, and laws — and of what fails the smallest call, and a name for it.
#pragma once
#include <attest/oracle/fault/example.hpp>
#include <attest/oracle/linkage.hpp>
#include <attest/oracle/needle/scope.hpp>
#include <attest/testing/subject.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace attest::testing {

struct Options {
  bool needles = true, laws = true;
  int random_calls = 60;   // that the judge looks at
  int law_calls = 20;      // random calls that laws are asked of, beside the needles
  std::uint64_t seed = 1;  // of the random ones; the variable ATTEST_SEED counts before it
  int shrink_tries = 600;  // calls asked to find a smaller one
  std::size_t most_failures = 1;
  bool diagnose = true;  // which faults return what was found; may take a second for each failure
  double seconds = 0;    // after which nothing new is begun; 0: no limit
  std::string save_to = "attest-failures";  // folder for calls that fail; empty: none are kept
};

// One thing that is wrong.
struct Failure {
  std::string check;                   // "needle", "law" or "random call", and which
  std::string statement;               // what should hold
  std::string found;                   // where it does not
  std::vector<std::string> diagnosis;  // the faults that return this, likeliest first
  std::vector<std::string> hints;      // where there are none: what is known
  std::uint64_t seed = 0;
  oracle::Example call;  // the smallest that fails, with the subject's outputs if it gave any
  std::string saved_as;  // the capture; empty: not saved
};

struct Examination {
  std::vector<Failure> failures;
  std::size_t calls = 0, judged = 0, laws_asked = 0, suspects = 0;
  bool passed() const { return failures.empty(); }
};

Examination examine(const Subject& subject, const oracle::Scope& scope,
                    const Options& options = {});
// The message of a test.
std::string in_words(const Failure& failure);
std::string in_words(const Examination& examination);

}  // namespace attest::testing

#ifndef ATTEST_ORACLE_COMPILED
#include <attest/testing/definitions/examine.hpp>
#endif
