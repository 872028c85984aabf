// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Check: judges captures, each by itself; one that cannot be read spoils none of the others.
#pragma once
#include <attest/oracle/diagnosis/finding.hpp>
#include <attest/oracle/verdict.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace attest::command {

// What the command line says in place of the captures' own options; empty: nothing.
struct CheckOptions {
  std::string dialect;
  std::map<std::string, oracle::Attribute> precision;  // a preset takes the place of all
  oracle::JudgeOptions judging;
};

// What became of one capture: a report, or the reason why there is none.
struct Outcome {
  std::string capture;  // its path as given
  std::string subject;
  std::string dialect;
  std::string error;  // one line; empty where there is a report
  oracle::Report report;
  oracle::Diagnosis diagnosis;  // of one that fails
  oracle::Adequacy adequacy;
};

Outcome check(const std::string& capture, const CheckOptions& options);

// 0: pass. 1: fail. 3: undecided. 4: suspect.
int exit_code(oracle::Verdict verdict);

// The gravest of them, in the order 1, 4, 3, 0. 2: one could not be read, whatever the others.
int exit_code(const std::vector<Outcome>& outcomes);

}  // namespace attest::command
