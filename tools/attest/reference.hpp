// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Reference: writes the correctly rounded outputs of a captured call, with what certifies them.
#pragma once
#include <attest/oracle/reference.hpp>

#include <string>
#include <vector>

namespace attest::command {

struct ReferenceOptions {
  std::string dialect;  // in place of the capture's own; empty: the capture's
  std::string format;   // of out and qk_matmul_output; empty: the capture's
};

struct ReferenceOutcome {
  std::string error;  // one line; empty where the file is written
  std::string dialect;
  std::vector<oracle::ReferenceArray> arrays;
};

// Writes the archive `to`: the arrays by their names in captures, and certificate.json.
ReferenceOutcome write_reference(const std::string& capture, const std::string& to,
                                 const ReferenceOptions& options);

// The same as it stands in certificate.json.
std::string certificate_json(const ReferenceOutcome& outcome);

// A line for each array.
std::string in_words(const ReferenceOutcome& outcome);

// 0: everything certified. 2: nothing written. 3: written, but something is not certified.
int exit_code(const ReferenceOutcome& outcome);

}  // namespace attest::command
