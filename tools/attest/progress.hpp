// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Progress: a line on a terminal for work that takes longer than a second; nothing where standard
// error is no terminal.
#pragma once
#include <chrono>
#include <string>

namespace attest::command {

class Progress {
 public:
  explicit Progress(std::string what);
  // Which part is done, from 0 to 1. Writes at most ten times a second.
  void tell(double part);
  // Takes the line away.
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  bool terminal_;
  bool written_ = false;
  Clock::time_point next_;
};

}  // namespace attest::command
