// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/fuzz.hpp>
#include <attest/testing/capture_file.hpp>
#include <attest/testing/editable_call.hpp>

#include <attest/format/bad_input.hpp>
#include <attest/format/npz.hpp>
#include <attest/testing/examine.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <stdlib.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace attest::command {
namespace {

using Json = nlohmann::ordered_json;

// A folder that is gone with all in it when it is no longer needed.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "attest-fuzz-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error(name + ": cannot be made");
    path = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  std::filesystem::path path;
};

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}
std::string with_paths(std::string command, const std::string& in, const std::string& out) {
  for (const auto& [name, path] : {std::pair{"{in}", in}, std::pair{"{out}", out}})
    for (std::size_t at = 0; (at = command.find(name, at)) != std::string::npos;) {
      const std::string word = quoted(path);
      command.replace(at, std::string_view(name).size(), word);
      at += word.size();
    }
  return command;
}

// What a subject wrote, as the call's own outputs.
testing::Answer answer_of(const oracle::Call& call, const std::filesystem::path& out) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(out, unknown))
    return testing::Answer::failed("writes no file where its outputs are expected");
  try {
    const format::NpzArrays arrays = format::read_npz(out);
    oracle::Example filled(call.dialect);
    filled.call = call;
    for (const testing::ArrayAxes& axes : testing::array_axes()) {
      const std::string name(axes.name);
      if (!axes.is_output || !call.find(name)) continue;
      const oracle::Tensor& expected = *call.find(name);
      const auto found = arrays.find(name);
      if (found == arrays.end() && name != "out") {  // a subject need not have every output
        filled.call.arrays.erase(name);
        continue;
      }
      if (found == arrays.end()) return testing::Answer::failed("does not write out");
      const oracle::Tensor got = found->second.view();
      if (got.shape != expected.shape)
        return testing::Answer::failed(fmt::format("writes {} of shape {}, expected {}", name,
                                                   oracle::to_string(got.shape),
                                                   oracle::to_string(expected.shape)));
      const bool as_bits =
          expected.type == oracle::ElementType::bfloat16 && got.type == oracle::ElementType::uint16;
      if (got.type != expected.type && !as_bits)
        return testing::Answer::failed(fmt::format("writes {} as {}, expected {}", name,
                                                   oracle::facts(got.type).name,
                                                   oracle::facts(expected.type).name));
      oracle::Tensor view = got;
      view.type = expected.type;
      filled.array(name, expected.shape, testing::numbers_of(view), expected.type);
    }
    return testing::Answer::of(std::move(filled));
  } catch (const format::BadInput& bad) {
    return testing::Answer::failed("writes no capture: " + format::one_line(bad.what()));
  }
}

// The last line that is not empty, for messages.
std::string last_line(const std::string& said) {
  std::size_t end = said.find_last_not_of(" \n\r\t");
  if (end == std::string::npos) return {};
  const std::size_t begin = said.find_last_of('\n', end);
  return format::printable(said.substr(begin == std::string::npos ? 0 : begin + 1,
                                       end - (begin == std::string::npos ? 0 : begin + 1) + 1));
}

class ProgramSubject {
 public:
  ProgramSubject(std::string command, const ProcessLimits& limits, bool persistent)
      : command_(std::move(command)), limits_(limits) {
    if (persistent) conversation_.emplace(command_, limits);
  }

  testing::Answer operator()(const oracle::Call& call) {
    const std::filesystem::path in = folder_.path / "in.npz", out = folder_.path / "out.npz";
    std::error_code ignored;
    std::filesystem::remove_all(out, ignored);
    testing::save_capture(in, call);
    if (conversation_) {
      std::string failed;
      const std::string line = conversation_->ask(in.string() + "\t" + out.string(), failed);
      if (!failed.empty()) return testing::Answer::failed(failed);
      if (line != "ok") return testing::Answer::failed("answers: " + format::printable(line));
      return answer_of(call, out);
    }
    const ProcessEnd end = run_command(with_paths(command_, in.string(), out.string()), limits_);
    if (end.timed_out)
      return testing::Answer::failed(fmt::format("no answer after {} s", limits_.seconds));
    if (!end.fine()) {
      const std::string said = last_line(end.said);
      return testing::Answer::failed("ends with " + end.in_words() +
                                     (said.empty() ? "" : ": " + said));
    }
    return answer_of(call, out);
  }

 private:
  std::string command_;
  ProcessLimits limits_;
  ScratchFolder folder_;
  std::optional<Conversation> conversation_;
};

// An array's type and shape, an option's value as in NAME.json.
Json json_call(const oracle::Call& call) {
  Json json = {{"dialect", call.dialect}, {"options", Json::object()}, {"arrays", Json::object()}};
  for (const auto& [name, value] : call.attributes)
    json["options"][name] = Json::parse(testing::detail::json_value(value));
  for (const auto& [name, array] : call.arrays)
    json["arrays"][name] = {{"type", std::string(oracle::facts(array.type).name)},
                            {"shape", array.shape}};
  return json;
}

std::string as_json(const testing::Examination& found, const oracle::Scope& scope,
                    std::uint64_t seed) {
  Json json = {{"passed", found.passed()},
               {"dialect", scope.dialect},
               {"type", std::string(oracle::facts(scope.type).name)},
               {"seed", seed},
               {"calls", found.calls},
               {"judged", found.judged},
               {"laws_asked", found.laws_asked},
               {"suspects", found.suspects},
               {"findings", Json::array()}};
  for (const testing::Failure& failure : found.failures) {
    Json one = {{"check", failure.check},
                {"seed", failure.seed},
                {"should_hold", failure.statement},
                {"found", failure.found},
                {"faults", failure.diagnosis},
                {"hints", failure.hints},
                {"call", json_call(failure.call.call)}};
    if (!failure.saved_as.empty()) one["saved"] = failure.saved_as;
    json["findings"].push_back(std::move(one));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

FuzzCommand::FuzzCommand(CLI::App& app)
    : command_(app.add_subcommand("fuzz",
                                  "Runs a program on calls made for it. 0: nothing found, 1: "
                                  "something is, 2: bad input")),
      scope_(*command_) {
  command_
      ->add_option("--subject", subject_,
                   "a command that reads the capture {in} and writes its outputs to {out}")
      ->required()
      ->type_name("COMMAND");
  command_->add_flag("--persistent", persistent_,
                     "the command is started once: for each line IN<tab>OUT that it reads it "
                     "writes a line, ok or what went wrong");
  command_->add_option("--timeout", limits_.seconds, "seconds for one answer")
      ->check(CLI::Range(0.01, 86400.0))
      ->capture_default_str();
  command_->add_option("--memory", limits_.mebibytes, "MiB of address space; 0: no limit")
      ->check(CLI::Range(0, 1 << 24))
      ->capture_default_str();
  command_->add_option("--calls", calls_, "random calls")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  command_->add_option("--seed", seed_, "of the random calls")->capture_default_str();
  command_->add_option("--failures", failures_, "after which it ends")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command_->add_option("--shrink", tries_, "calls asked to make one that fails smaller")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  command_->add_option("--seconds", seconds_, "after which nothing new is begun; 0: no limit")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  command_->add_option("--save", save_to_, "the folder for captures of what fails")
      ->capture_default_str();
  command_->add_flag("--json", json_, "what is found as data");
  command_->add_flag("--no-laws", no_laws_, "judged calls only");
  command_->add_flag("--no-needles", no_needles_, "laws and random calls only");
}

int FuzzCommand::run() const {
  try {
    const oracle::Scope scope = scope_.scope();
    if (!persistent_ &&
        (subject_.find("{in}") == std::string::npos || subject_.find("{out}") == std::string::npos))
      throw oracle::BadCall("--subject: expected {in} and {out} in the command, or --persistent");
    testing::Options options;
    options.needles = !no_needles_;
    options.laws = !no_laws_;
    options.random_calls = calls_;
    options.seed = seed_;
    options.shrink_tries = tries_;
    options.most_failures = failures_;
    options.seconds = seconds_;
    options.save_to = save_to_;
    const auto program = std::make_shared<ProgramSubject>(subject_, limits_, persistent_);
    const testing::Subject subject = [program](const oracle::Call& call) {
      return (*program)(call);
    };
    const testing::Examination found = testing::examine(subject, scope, options);
    std::fputs((json_ ? as_json(found, scope, options.seed) : testing::in_words(found)).c_str(),
               stdout);
    return found.passed() ? 0 : 1;
  } catch (const std::exception& bad) {
    std::fputs(("attest: " + format::one_line(bad.what()) + "\n").c_str(), stderr);
    return 2;
  }
}

}  // namespace attest::command
