// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Fuzz: laws, needles and random calls for any program that reads and writes captures. That it
// crashes, does not end or writes what is no answer is found like a wrong number.
#pragma once
#include <attest/process.hpp>
#include <attest/scope_options.hpp>

#include <CLI/CLI.hpp>

#include <string>

namespace attest::command {

class FuzzCommand {
 public:
  explicit FuzzCommand(CLI::App& app);
  bool parsed() const { return command_->parsed(); }
  // The exit code. 0: nothing found. 1: something is. 2: bad input.
  int run() const;

 private:
  CLI::App* command_;
  ScopeOptions scope_;
  ProcessLimits limits_;
  std::string subject_, save_to_ = "attest-failures";
  std::uint64_t seed_ = 1;
  int calls_ = 60, tries_ = 200;
  std::size_t failures_ = 1;
  double seconds_ = 0;
  bool persistent_ = false, no_laws_ = false, no_needles_ = false, json_ = false;
};

}  // namespace attest::command
