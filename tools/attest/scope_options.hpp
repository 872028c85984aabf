// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The options by which a command line says what calls an implementation is for.
#pragma once
#include <attest/oracle/needle/scope.hpp>

#include <CLI/CLI.hpp>

#include <map>
#include <string>

namespace attest::command {

class ScopeOptions {
 public:
  explicit ScopeOptions(CLI::App& command);
  // Throws oracle::BadCall where an option cannot be meant.
  oracle::Scope scope() const;

 private:
  std::string features_ = "scale,causal", dialect_ = "plain", type_ = "float32", precision_;
  std::map<std::string, std::string> extents_;
};

}  // namespace attest::command
