// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Process: a command of somebody else's, run so that it can neither hang nor outlive this program:
// in a process group of its own that is ended after a time, within a bound of memory.
#pragma once
#include <chrono>
#include <cstddef>
#include <string>

namespace attest::command {

struct ProcessLimits {
  double seconds = 10;           // for one answer
  std::size_t mebibytes = 8192;  // of address space for each process; 0: no limit
};

// How a command ended.
struct ProcessEnd {
  bool timed_out = false;
  int code = 0;                  // of exit; meaningful where no signal ended it
  int signal = 0;                // that ended it; 0: none
  std::string said;              // the end of what it wrote to both streams
  std::string in_words() const;  // "exit code 3", "signal 11", "no answer after 10 s"
  bool fine() const { return !timed_out && signal == 0 && code == 0; }
};

// Runs a command line by the shell and waits for its end.
ProcessEnd run_command(const std::string& command, const ProcessLimits& limits);

// A command that stays: it reads one line for each request and answers with one line.
class Conversation {
 public:
  Conversation(std::string command, ProcessLimits limits);
  ~Conversation();
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  // The answer's line, without its end. Nothing else may come before it. Where there is none,
  // `failed` says why and the command is started anew for the next request.
  std::string ask(const std::string& line, std::string& failed);

 private:
  void start();
  void end();
  std::string command_;
  ProcessLimits limits_;
  int pid_ = -1, to_ = -1, from_ = -1;
  std::string read_;
};

}  // namespace attest::command
