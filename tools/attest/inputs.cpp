// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/inputs.hpp>

#include <attest/format/bad_input.hpp>
#include <attest/oracle/needle.hpp>
#include <attest/oracle/needle/coverage.hpp>
#include <attest/progress.hpp>
#include <attest/testing/capture_file.hpp>
#include <attest/testing/editable_call.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace attest::command {
namespace {

// What a needle shows, each fault with its number as in words.
struct Shown {
  std::vector<std::string> faults;
  std::size_t applicable = 0;
};

Shown shown_by(const oracle::Needle& needle) {
  const oracle::CallCoverage call(needle.call.call);
  Shown shown;
  for (const oracle::Fault& fault : oracle::faults())
    for (const oracle::FaultCase& one : oracle::cases_of(fault, call.problem())) {
      ++shown.applicable;
      if (call.shows(one)) shown.faults.push_back(one.in_words());
    }
  return shown;
}

// The needles of a greedy cover: each shows most of what those before it leave.
std::vector<std::size_t> cover(const std::vector<Shown>& shown) {
  std::vector<std::size_t> chosen;
  std::set<std::string> left;
  for (const Shown& one : shown) left.insert(one.faults.begin(), one.faults.end());
  while (!left.empty()) {
    std::size_t best = 0, most = 0;
    for (std::size_t n = 0; n < shown.size(); ++n) {
      const auto count = static_cast<std::size_t>(
          std::count_if(shown[n].faults.begin(), shown[n].faults.end(),
                        [&](const std::string& fault) { return left.count(fault) != 0; }));
      if (count > most) {
        most = count;
        best = n;
      }
    }
    chosen.push_back(best);
    for (const std::string& fault : shown[best].faults) left.erase(fault);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

// Outputs are NaN until somebody computes them.
oracle::Example unanswered(const oracle::Example& call) {
  testing::EditableCall open(call.call);
  for (const testing::ArrayAxes& axes : testing::array_axes())
    if (axes.is_output && open.has(std::string(axes.name)))
      std::fill(open[std::string(axes.name)].numbers.begin(),
                open[std::string(axes.name)].numbers.end(),
                std::numeric_limits<double>::quiet_NaN());
  return open.example();
}

}  // namespace

InputsCommand::InputsCommand(CLI::App& app)
    : command_(app.add_subcommand(
          "inputs", "Calls worth testing, as captures whose outputs are to be filled in")),
      scope_(*command_) {
  command_->add_option("-o,--output", folder_, "the folder to write to")
      ->required()
      ->type_name("DIR");
  command_->add_flag("--every", every_,
                     "also those that show nothing that no other shows: a fault confined to a row "
                     "may be seen in them alone");
}

int InputsCommand::run() const {
  try {
    const std::vector<oracle::Needle> needles = oracle::needles(scope_.scope());
    std::vector<Shown> shown;
    Progress progress("looking at what each call shows");
    for (std::size_t n = 0; n < needles.size(); ++n) {
      shown.push_back(shown_by(needles[n]));
      progress.tell(static_cast<double>(n + 1) / static_cast<double>(needles.size()));
    }
    progress.end();
    std::vector<std::size_t> chosen = cover(shown);
    if (every_) chosen = testing::counted(needles.size());
    const std::filesystem::path folder(folder_);
    std::filesystem::create_directories(folder);
    std::set<std::string> all;
    std::string list;
    for (std::size_t n = 0; n < chosen.size(); ++n) {
      const oracle::Needle& needle = needles[chosen[n]];
      const std::string name = fmt::format("input-{:02}.npz", n + 1);
      testing::save_capture(folder / name, unanswered(needle.call).call, needle.recipe.aim);
      std::vector<std::string> faults = shown[chosen[n]].faults;
      std::sort(faults.begin(), faults.end());
      all.insert(faults.begin(), faults.end());
      list += fmt::format("{}: {}\n  shows {} of {} faults that it may strike:\n", name,
                          needle.recipe.aim, faults.size(), shown[chosen[n]].applicable);
      for (const std::string& fault : faults) list += "    " + fault + "\n";
      std::fputs(
          fmt::format("{}: {}, shows {} faults\n", name, needle.recipe.aim, faults.size()).c_str(),
          stdout);
    }
    testing::detail::write_file(folder / "shows.txt", list);
    std::fputs(
        fmt::format("{} calls show {} faults; which, says shows.txt\n", chosen.size(), all.size())
            .c_str(),
        stdout);
    return 0;
  } catch (const std::exception& bad) {
    std::fputs(("attest: " + format::one_line(bad.what()) + "\n").c_str(), stderr);
    return 2;
  }
}

}  // namespace attest::command
