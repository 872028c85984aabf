// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/process.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace attest::command {
namespace {

using Clock = std::chrono::steady_clock;

// The group that is to end with this program, whatever ends it.
volatile sig_atomic_t running_group = 0;

extern "C" void end_with_group(int signal) {
  if (running_group > 0) kill(-running_group, SIGKILL);
  ::signal(signal, SIG_DFL);
  raise(signal);
}
void end_group_with_this_program() {
  static const bool once = [] {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, end_with_group);
    ::signal(SIGPIPE, SIG_IGN);  // a command that reads nothing is found to give no answer
    return true;
  }();
  static_cast<void>(once);
}

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error(std::string("no pipe: ") + std::strerror(errno));
    read = ends[0];
    write = ends[1];
    for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
  }
  ~Pipe() {
    close_read();
    close_write();
  }
  void close_read() {
    if (read >= 0) close(read);
    read = -1;
  }
  void close_write() {
    if (write >= 0) close(write);
    write = -1;
  }
};

// A child that runs the command with these streams; -1: as this program's null device.
pid_t begin(const std::string& command, int in, int out, int err, const ProcessLimits& limits) {
  end_group_with_this_program();
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error(std::string("no process: ") + std::strerror(errno));
  if (pid > 0) {
    setpgid(pid, pid);  // in both, so that neither is too late
    running_group = pid;
    return pid;
  }
  setpgid(0, 0);
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  const auto limit = [](int resource, rlim_t most) {
    struct rlimit bound;
    if (getrlimit(static_cast<__rlimit_resource_t>(resource), &bound) != 0) return;
    if (bound.rlim_max != RLIM_INFINITY && bound.rlim_max < most) most = bound.rlim_max;
    bound.rlim_cur = most;
    setrlimit(static_cast<__rlimit_resource_t>(resource), &bound);
  };
  if (limits.mebibytes) limit(RLIMIT_AS, static_cast<rlim_t>(limits.mebibytes) << 20);
  limit(RLIMIT_FSIZE, rlim_t{1} << 30);
  limit(RLIMIT_CORE, 0);
  ::signal(SIGPIPE, SIG_DFL);
  if (in < 0) in = open("/dev/null", O_RDONLY);
  dup2(in, 0);
  dup2(out, 1);
  dup2(err, 2);
  execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
  _exit(127);
}

// Ends what is left of a group and takes its first process away.
int end_group(pid_t pid) {
  kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  running_group = 0;
  return status;
}

int milliseconds_until(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return left.count() <= 0 ? 0 : static_cast<int>(std::min<long long>(left.count() + 1, 100000));
}
Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// The last bytes of what was said.
void keep_end(std::string& said) {
  constexpr std::size_t most = 4096;
  if (said.size() > 2 * most) said.erase(0, said.size() - most);
}

}  // namespace

std::string ProcessEnd::in_words() const {
  if (timed_out) return "no answer in time";
  if (signal != 0) return fmt::format("signal {} ({})", signal, strsignal(signal));
  return fmt::format("exit code {}", code);
}

ProcessEnd run_command(const std::string& command, const ProcessLimits& limits) {
  Pipe said;
  const pid_t pid = begin(command, -1, said.write, said.write, limits);
  said.close_write();
  const Clock::time_point deadline = after(limits.seconds);
  ProcessEnd end;
  int status = 0;
  bool ended = false;
  // A grandchild may hold the pipe open after the command has ended, so its end is asked for too.
  while (!ended) {
    if (waitpid(pid, &status, WNOHANG) == pid) {
      ended = true;
      break;
    }
    const int left = milliseconds_until(deadline);
    if (left == 0) break;
    struct pollfd ready {
      said.read, POLLIN, 0
    };
    const int found =
        said.read >= 0 ? poll(&ready, 1, std::min(left, 20)) : poll(nullptr, 0, std::min(left, 2));
    if (found <= 0) continue;
    char bytes[4096];
    const ssize_t count = read(said.read, bytes, sizeof bytes);
    if (count > 0) {
      end.said.append(bytes, static_cast<std::size_t>(count));
      keep_end(end.said);
    } else if (count == 0) {
      said.close_read();  // closed; the end itself follows
    }
  }
  if (ended) {
    kill(-pid, SIGKILL);  // what it left behind
    running_group = 0;
    if (said.read >= 0) {
      fcntl(said.read, F_SETFL, O_NONBLOCK);
      char bytes[4096];
      for (int n = 0; n < 64; ++n) {
        const ssize_t count = read(said.read, bytes, sizeof bytes);
        if (count <= 0) break;
        end.said.append(bytes, static_cast<std::size_t>(count));
        keep_end(end.said);
      }
    }
  } else {
    end.timed_out = true;
    status = end_group(pid);
  }
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.code = WEXITSTATUS(status);
  return end;
}

Conversation::Conversation(std::string command, ProcessLimits limits)
    : command_(std::move(command)), limits_(limits) {}

Conversation::~Conversation() {
  end();
}

void Conversation::start() {
  Pipe to, from;
  pid_ = begin(command_, to.read, from.write, 2, limits_);
  to_ = std::exchange(to.write, -1);
  from_ = std::exchange(from.read, -1);
  fcntl(to_, F_SETFL, O_NONBLOCK);
  read_.clear();
}

void Conversation::end() {
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  to_ = from_ = -1;
  if (pid_ > 0) end_group(pid_);
  pid_ = -1;
}

std::string Conversation::ask(const std::string& line, std::string& failed) {
  failed.clear();
  if (pid_ < 0) start();
  running_group = pid_;
  const Clock::time_point deadline = after(limits_.seconds);
  const std::string request = line + "\n";
  std::size_t written = 0;
  constexpr std::size_t longest_answer = 1 << 16;
  while (true) {
    const std::size_t ends = read_.find('\n');
    if (written == request.size() && ends != std::string::npos) {
      std::string answer = read_.substr(0, ends);
      read_.erase(0, ends + 1);
      return answer;
    }
    const int left = milliseconds_until(deadline);
    if (left == 0) {
      failed = fmt::format("no answer after {} s", limits_.seconds);
      break;
    }
    if (read_.size() > longest_answer) {
      failed = "an answer of more than 65536 bytes without an end of line";
      break;
    }
    struct pollfd ready[2] = {{from_, POLLIN, 0}, {to_, POLLOUT, 0}};
    const int found = poll(ready, written < request.size() ? 2 : 1, left);
    if (found < 0 && errno != EINTR) {
      failed = std::strerror(errno);
      break;
    }
    if (found <= 0) continue;
    if (written < request.size() && (ready[1].revents & (POLLOUT | POLLERR | POLLHUP))) {
      const ssize_t count = write(to_, request.data() + written, request.size() - written);
      if (count > 0)
        written += static_cast<std::size_t>(count);
      else if (count < 0 && errno != EAGAIN && errno != EINTR)
        written = request.size();  // it has ended; how, reading tells
    }
    if (ready[0].revents & (POLLIN | POLLHUP | POLLERR)) {
      char bytes[4096];
      const ssize_t count = read(from_, bytes, sizeof bytes);
      if (count > 0) {
        read_.append(bytes, static_cast<std::size_t>(count));
      } else if (count == 0) {
        ProcessEnd ended;
        // what ends it now was already under way
        int status = 0;
        for (int n = 0; n < 50 && waitpid(pid_, &status, WNOHANG) != pid_; ++n)
          poll(nullptr, 0, 10);
        if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
        if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
        failed = "ends without an answer: " + ended.in_words();
        break;
      }
    }
  }
  end();
  return {};
}

}  // namespace attest::command
