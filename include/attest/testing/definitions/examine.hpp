// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Examine, call by call.
#pragma once
#include <attest/oracle/diagnosis.hpp>
#include <attest/oracle/needle.hpp>
#include <attest/oracle/verdict.hpp>
#include <attest/testing/capture_file.hpp>
#include <attest/testing/examine.hpp>
#include <attest/testing/laws.hpp>
#include <attest/testing/random_recipe.hpp>
#include <attest/testing/shrink.hpp>
#include <attest/testing/subject.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attest::testing {

namespace detail {

inline std::string place_in_words(const oracle::Element& element, const std::string& output) {
  const bool by_key = output == "dk" || output == "dv" || output.starts_with("present");
  char text[320];
  std::snprintf(text, sizeof text, "%s at batch %zu, head %zu, %s %zu, column %zu: got %.9g",
                output.c_str(), element.index[0], element.index[1], by_key ? "key" : "query",
                element.index[2], element.index[3], element.got);
  std::string words = text;
  if (!element.expected.any() && element.enclosed) {
    std::snprintf(text, sizeof text, ", exact %.9g, allowed %.3g", element.exact.high,
                  element.allowed);
    words += text;
  } else if (element.expected.any()) {
    words += element.expected.nan ? ", expected NaN" : ", expected 0 or what the definition says";
  }
  return words;
}

// Where a report fails, in a line for each output.
inline std::string found_in(const oracle::Report& report) {
  std::string words;
  for (const oracle::OutputReport& output : report.outputs)
    if (output.verdict == oracle::Verdict::fail && output.worst) {
      if (!words.empty()) words += "\n";
      words += std::to_string(output.failed) + " of " + std::to_string(output.elements) +
               " elements; the worst is " + place_in_words(*output.worst, output.name);
    }
  return words;
}

inline std::string shape_in_words(const EditableCall& call) {
  std::string text =
      "q (" + std::to_string(call.extent(Axis::batch)) + ", " +
      std::to_string(call.extent(Axis::query_head)) + ", " +
      std::to_string(call.extent(Axis::query)) + ", " + std::to_string(call.extent(Axis::width)) +
      "), k (" + std::to_string(call.extent(Axis::batch)) + ", " +
      std::to_string(call.extent(Axis::key_value_head)) + ", " + std::to_string(call.all_keys()) +
      ", " + std::to_string(call.extent(Axis::width)) + ")";
  for (const auto& [name, value] : call.call.attributes)
    text += ", " + name + " " + json_value(value);
  for (const auto& [name, array] : call.arrays)
    if (const ArrayAxes* axes = find_axes(name);
        axes && !axes->is_output && name != "q" && name != "k" && name != "v")
      text += ", " + name;
  return text;
}

class Examiner {
 public:
  Examiner(const Subject& subject, const oracle::Scope& scope, Options options)
      : scope_(as_its_dialect_has_it(scope)), options_(std::move(options)) {
    if (const char* seed = std::getenv("ATTEST_SEED"))
      options_.seed = std::strtoull(seed, nullptr, 10);
    subject_ = [this, &subject](const Call& call) {
      ++result_.calls;
      return subject(call);
    };
    begun_ = Clock::now();
  }
  Examiner(const Examiner&) = delete;

  Examination run() {
    if (options_.needles)
      for (const oracle::Needle& needle : oracle::needles(scope_))
        judge_call(needle.call, "needle: " + needle.recipe.aim, needle.recipe.seed);
    if (options_.laws) {
      for (const oracle::Needle& needle : oracle::needles(small_scope()))
        ask_laws(EditableCall(needle.call.call), needle.recipe.seed);
      for (int n = 0; n < options_.law_calls; ++n) {
        const std::uint64_t seed = options_.seed + static_cast<std::uint64_t>(n);
        ask_laws(EditableCall(oracle::build(scope_, random_recipe(small_scope(), seed)).call),
                 seed);
      }
    }
    for (int n = 0; n < options_.random_calls; ++n) {
      const std::uint64_t seed = options_.seed + static_cast<std::uint64_t>(n);
      judge_call(oracle::build(scope_, random_recipe(scope_, seed)),
                 "random call of seed " + std::to_string(seed), seed);
    }
    return std::move(result_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static oracle::Scope as_its_dialect_has_it(oracle::Scope scope) {
    if (const oracle::RecipeDialect* dialect = oracle::find_recipe_dialect(scope.dialect))
      scope.one_width = scope.one_width || dialect->one_width;
    return scope;
  }
  bool done() const {
    const std::chrono::duration<double> spent = Clock::now() - begun_;
    return result_.failures.size() >= options_.most_failures ||
           (options_.seconds > 0 && spent.count() > options_.seconds);
  }
  // For laws, which ask for many calls: at most 10 queries and 19 keys.
  oracle::Scope small_scope() const {
    oracle::Scope small = scope_;
    const auto at_most = [](oracle::Extent& extent, std::size_t n) {
      extent.most = std::max(extent.nearest(1), std::min(extent.most, n));
    };
    at_most(small.queries, 10);
    at_most(small.keys, 19);
    at_most(small.query_heads, 6);
    return small;
  }

  // Why an answered call fails; nothing: it does not.
  std::optional<oracle::Report> report_of(const oracle::Example& answered) {
    const Problem problem = oracle::read_problem(answered.call);
    const oracle::Precision claim = oracle::claimed_precision(answered.call, problem);
    oracle::Report report = oracle::judge(problem, claim);
    ++result_.judged;
    result_.suspects += report.verdict == oracle::Verdict::suspect;
    if (report.verdict != oracle::Verdict::fail) return std::nullopt;
    return report;
  }

  void judge_call(const oracle::Example& call, const std::string& check, std::uint64_t seed) {
    if (done()) return;
    const Answer answer = subject_(call.call);
    if (!answer.call) {
      fail_without_answer(EditableCall(call.call), check, seed, answer.failure);
      return;
    }
    const std::optional<oracle::Report> first = report_of(*answer.call);
    if (!first) return;
    const auto fails = [&](const EditableCall& candidate) {
      return within_scope(candidate) && [&] {
        const oracle::Example asked = candidate.example();
        const Answer got = subject_(asked.call);
        return got.call && report_of(*got.call);
      }();
    };
    const EditableCall smallest = shrink(EditableCall(call.call), fails);
    Failure failure = begin(check, seed);
    failure.statement = "every output is what the claimed arithmetic can return";
    const oracle::Example asked = smallest.example();
    Answer got = subject_(asked.call);
    if (!got.call) got = answer;  // it was right at another time
    failure.call = owned(got.call->call);
    std::optional<oracle::Report> report = report_of(failure.call);
    if (!report) {
      failure.call = owned(answer.call->call);
      report = report_of(failure.call);
    }
    if (report) failure.found = found_in(*report);
    // of the whole call: the smallest tells fewer faults apart
    name(failure, *answer.call, *first);
    if (report && failure.diagnosis.empty()) name(failure, failure.call, *report);
    finish(std::move(failure));
  }

  void fail_without_answer(const EditableCall& call, const std::string& check, std::uint64_t seed,
                           const std::string& why) {
    const auto fails = [&](const EditableCall& candidate) {
      if (!within_scope(candidate)) return false;
      const oracle::Example asked = candidate.example();
      return !subject_(asked.call).call;
    };
    Failure failure = begin(check, seed);
    failure.statement = "every call is answered";
    failure.found = why;
    failure.call = shrink(call, fails).example();
    finish(std::move(failure));
  }

  void ask_laws(const EditableCall& call, std::uint64_t seed) {
    if (done() || !is_finite(call)) return;
    std::shared_ptr<const Answered> answered;
    try {
      answered = std::make_shared<Answered>(subject_, call);
    } catch (const NoAnswer& none) {
      fail_without_answer(call, "law call", seed, none.what());
      return;
    }
    for (const Law& law : laws()) {
      if (done()) return;
      if (!law.applies(call, answered->problem())) continue;
      if (const std::optional<Broken> broken = ask(law, call, answered)) fail_law(law, call, seed);
    }
  }
  static bool is_finite(const EditableCall& call) {
    for (const char* name : {"q", "k", "v"})
      for (const double x : call.at(name).numbers)
        if (!std::isfinite(x)) return false;
    return true;
  }
  std::optional<Broken> ask(const Law& law, const EditableCall& call,
                            std::shared_ptr<const Answered> answered) {
    ++result_.laws_asked;
    try {
      Trial trial(subject_, scope_, call, std::move(answered));
      law.ask(trial);
      return trial.broken;
    } catch (const BeyondScope&) {
      return std::nullopt;
    } catch (const oracle::BadCall&) {  // what the law asks for is not said in this dialect
      return std::nullopt;
    } catch (const NoAnswer& none) {
      return Broken{std::string("a call of the law is not answered: ") + none.what()};
    }
  }
  std::optional<Broken> ask(const Law& law, const EditableCall& call) {
    try {
      const auto answered = std::make_shared<Answered>(subject_, call);
      if (!law.applies(call, answered->problem())) return std::nullopt;
      return ask(law, call, answered);
    } catch (const NoAnswer&) {
      return std::nullopt;
    }
  }
  void fail_law(const Law& law, const EditableCall& call, std::uint64_t seed) {
    const auto fails = [&](const EditableCall& candidate) {
      return within_scope(candidate) && ask(law, candidate).has_value();
    };
    EditableCall smallest = shrink(call, fails);
    std::optional<Broken> broken = ask(law, smallest);
    if (!broken) {
      smallest = call;
      broken = ask(law, call);
    }
    Failure failure = begin("law: " + std::string(law.name), seed);
    failure.statement = law.statement;
    failure.found = broken ? broken->words : "not each time the same is asked";
    const oracle::Example asked = smallest.example();
    const Answer got = subject_(asked.call);
    failure.call = got.call ? owned(got.call->call) : asked;
    if (got.call)
      if (const std::optional<oracle::Report> report = report_of(*got.call))
        name(failure, *got.call, *report);
    finish(std::move(failure));
  }

  // A shrunk call must be one that the subject is for, and that can be read.
  bool within_scope(const EditableCall& candidate) const {
    if (!holds(scope_, candidate)) return false;
    try {
      const oracle::Example made = candidate.example();
      for (const auto& [name, value] : scope_.attributes)
        if (!made.call.attributes.count(name)) return false;
      const Problem p = oracle::read_problem(made.call);
      if (!scope_.features.scale && !p.rule.scale.by_width &&
          p.rule.scale.given != 1 / std::sqrt(static_cast<double>(p.width())) &&
          std::none_of(std::begin(oracle::scale_names), std::end(oracle::scale_names),
                       [&](const char* name) { return scope_.attributes.count(name) != 0; }))
        return false;
      const bool had_output = p.output.has_value();
      return had_output || p.log_sum_exp || p.has_gradients() || p.present_key;
    } catch (const oracle::BadCall&) {
      return false;
    }
  }
  template <class Fails>
  EditableCall shrink(const EditableCall& call, const Fails& fails) {
    return shrunk(
        call,
        [&](const EditableCall& candidate) {
          try {
            return fails(candidate);
          } catch (const oracle::BadCall&) {
            return false;
          } catch (const NoAnswer&) {
            return false;
          }
        },
        options_.shrink_tries);
  }

  Failure begin(const std::string& check, std::uint64_t seed) const {
    Failure failure;
    failure.check = check;
    failure.seed = seed;
    return failure;
  }
  // The faults that return what this call holds.
  void name(Failure& failure, const oracle::Example& answered, const oracle::Report& report) const {
    if (!options_.diagnose) return;
    const Problem problem = oracle::read_problem(answered.call);
    const oracle::Precision claim = oracle::claimed_precision(answered.call, problem);
    const oracle::Diagnosis diagnosis = oracle::diagnose(problem, claim, report);
    for (const oracle::Finding& finding : diagnosis.findings)
      if (failure.diagnosis.size() < 5) failure.diagnosis.push_back(finding.in_words());
    failure.hints = diagnosis.hints;
  }
  void finish(Failure failure) {
    if (!options_.save_to.empty()) {
      std::string file;
      for (const char c : failure.check)
        if (std::isalnum(static_cast<unsigned char>(c)))
          file += c;
        else if (!file.empty() && file.back() != '-' && file.size() < 40)
          file += '-';
      while (!file.empty() && file.back() == '-') file.pop_back();
      try {
        const std::filesystem::path folder(options_.save_to);
        std::filesystem::create_directories(folder);
        const std::filesystem::path path =
            folder / (file + "-" + std::to_string(result_.failures.size() + 1) + ".npz");
        save_capture(path, failure.call.call, failure.check);
        failure.saved_as = path.string();
      } catch (const std::exception&) {
        failure.saved_as.clear();  // a full disk must not hide the failure
      }
    }
    result_.failures.push_back(std::move(failure));
  }

  Subject subject_;
  const oracle::Scope scope_;
  Options options_;
  Clock::time_point begun_;
  Examination result_;
};

}  // namespace detail

ATTEST_ORACLE_INLINE Examination examine(const Subject& subject, const oracle::Scope& scope,
                                         const Options& options) {
  return detail::Examiner(subject, scope, options).run();
}

ATTEST_ORACLE_INLINE std::string in_words(const Failure& failure) {
  std::string text = failure.check + " (seed " + std::to_string(failure.seed) + ")\n";
  text += "  should hold: " + failure.statement + "\n";
  std::string found = failure.found;
  for (std::size_t n = 0; (n = found.find('\n', n)) != std::string::npos; n += 5)
    found.replace(n, 1, "\n    ");
  text += "  found: " + found + "\n";
  text += "  smallest call: " + detail::shape_in_words(EditableCall(failure.call.call)) + "\n";
  for (std::size_t n = 0; n < failure.diagnosis.size(); ++n)
    text += (n == 0 ? "  it returns what this would: " : "    or: ") + failure.diagnosis[n] + "\n";
  for (std::size_t n = 0; n < failure.hints.size(); ++n)
    text += (n == 0 ? "  no fault returns this: " : "    ") + failure.hints[n] + "\n";
  if (!failure.saved_as.empty()) text += "  saved: attest check " + failure.saved_as + "\n";
  return text;
}
ATTEST_ORACLE_INLINE std::string in_words(const Examination& examination) {
  std::string text;
  for (const Failure& failure : examination.failures) text += in_words(failure);
  text += std::to_string(examination.calls) + " calls, " + std::to_string(examination.judged) +
          " of them judged, " + std::to_string(examination.laws_asked) + " laws asked";
  if (examination.suspects)
    text += ", " + std::to_string(examination.suspects) +
            " answers further off than independent roundings are likely to be";
  return text + "\n";
}

}  // namespace attest::testing
