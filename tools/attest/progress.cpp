// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/progress.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace attest::command {

Progress::Progress(std::string what)
    : what_(std::move(what)),
      terminal_(isatty(STDERR_FILENO) == 1),
      next_(Clock::now() + std::chrono::seconds(1)) {}

void Progress::tell(double part) {
  if (!terminal_ || Clock::now() < next_) return;
  next_ = Clock::now() + std::chrono::milliseconds(100);
  written_ = true;
  // to the line's beginning, and away with what stood there
  std::fputs(fmt::format("\r\x1b[K{}: {:.0f} %", what_, 100 * part).c_str(), stderr);
  std::fflush(stderr);
}

void Progress::end() {
  if (!written_) return;
  written_ = false;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

}  // namespace attest::command
