// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Inputs: calls worth testing, as captures to be run and judged, each with the faults it can show.
#pragma once
#include <attest/scope_options.hpp>

#include <CLI/CLI.hpp>

#include <string>

namespace attest::command {

class InputsCommand {
 public:
  explicit InputsCommand(CLI::App& app);
  bool parsed() const { return command_->parsed(); }
  // The exit code. 0: written. 2: bad input.
  int run() const;

 private:
  CLI::App* command_;
  ScopeOptions scope_;
  std::string folder_;
  bool every_ = false;
};

}  // namespace attest::command
