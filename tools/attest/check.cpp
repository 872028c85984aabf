// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/check.hpp>
#include <attest/format/bad_input.hpp>
#include <attest/format/capture.hpp>
#include <attest/oracle/adequacy.hpp>
#include <attest/oracle/diagnosis.hpp>

#include <algorithm>
#include <exception>
#include <new>

namespace attest::command {

Outcome check(const std::string& capture, const CheckOptions& options) {
  Outcome outcome;
  outcome.capture = capture;
  try {
    format::Capture loaded = format::load_capture(capture);
    if (!options.dialect.empty()) loaded.call.dialect = options.dialect;
    if (options.precision.count("preset")) loaded.call.precision.clear();
    for (const auto& [step, claim] : options.precision) loaded.call.precision[step] = claim;
    outcome.subject = loaded.call.subject;
    outcome.dialect = loaded.call.dialect;
    outcome.report = oracle::judge(loaded.call, options.judging);
    const oracle::Problem problem = oracle::read_problem(loaded.call);
    const oracle::Precision claim = oracle::claimed_precision(loaded.call, problem);
    outcome.diagnosis = oracle::diagnose(problem, claim, outcome.report);
    outcome.adequacy = oracle::adequacy(problem, claim, outcome.report);
  } catch (const format::BadInput& bad) {
    outcome.error = bad.what();
  } catch (const oracle::BadCall& bad) {
    outcome.error = format::printable_path(capture) + ": " + format::one_line(bad.what());
  } catch (const std::bad_alloc&) {
    outcome.error = format::printable_path(capture) + ": not enough memory to judge it";
  } catch (const std::exception& unforeseen) {  // the captures after it are still judged
    outcome.error = format::printable_path(capture) + ": " + format::one_line(unforeseen.what());
  }
  return outcome;
}

int exit_code(oracle::Verdict verdict) {
  using oracle::Verdict;
  switch (verdict) {
    case Verdict::pass:
      return 0;
    case Verdict::fail:
      return 1;
    case Verdict::no_certificate:
      return 3;
    case Verdict::suspect:
      return 4;
  }
  return 2;
}

int exit_code(const std::vector<Outcome>& outcomes) {
  using oracle::Verdict;
  const auto any_unreadable =
      std::any_of(outcomes.begin(), outcomes.end(),
                  [](const Outcome& outcome) { return !outcome.error.empty(); });
  if (any_unreadable) return 2;
  Verdict gravest = Verdict::pass;
  for (const Outcome& outcome : outcomes) gravest = std::max(gravest, outcome.report.verdict);
  return exit_code(gravest);
}

}  // namespace attest::command
