// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/check.hpp>
#include <attest/format/bad_input.hpp>
#include <attest/format/onnx.hpp>
#include <attest/onnx.hpp>
#include <attest/oracle/reference.hpp>
#include <attest/oracle/verdict.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <new>
#include <system_error>

namespace attest::command {
namespace {

namespace fs = std::filesystem;
using oracle::Certificate;
using oracle::ReferenceArray;
using oracle::ReferenceElement;
using oracle::Verdict;

constexpr const char* model_name = "model.onnx";

bool is_there(const fs::path& path) {
  std::error_code unknown;
  return fs::exists(path, unknown);
}

// The folders of `folder` that `wanted` accepts, in order of their names.
template <class Wanted>
std::vector<fs::path> folders_of(const fs::path& folder, Wanted wanted) {
  std::vector<fs::path> result;
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code unknown;
    if (entry->is_directory(unknown) && wanted(entry->path())) result.push_back(entry->path());
  }
  if (error) format::fail(format::printable_path(folder), "cannot be read as a folder");
  std::sort(result.begin(), result.end());
  return result;
}

std::string number(double value) {
  const auto narrow = static_cast<float>(value);
  return static_cast<double>(narrow) == value ? fmt::format("{}", narrow)
                                              : fmt::format("{}", value);
}

std::string place(std::size_t element, const oracle::Shape& shape) {
  oracle::Shape index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; element /= shape[axis])
    index[axis] = element % shape[axis];
  return oracle::to_string(index);
}

// The expected outputs beside the correctly rounded ones.
void compare(const oracle::Call& call, const std::string& where, OnnxOutcome& outcome) {
  const auto add = [&](Verdict verdict, const std::string& text) {
    outcome.verdict = std::max(outcome.verdict, verdict);
    outcome.detail += (outcome.detail.empty() ? "" : "; ") + text + where;
  };
  for (const ReferenceArray& array : oracle::reference(call)) {
    const oracle::Tensor* expected = call.find(array.name);
    if (!expected) continue;
    if (expected->type != array.type) {
      add(Verdict::fail,
          fmt::format("{} is {}, not {}", array.name, oracle::facts(expected->type).name,
                      oracle::facts(array.type).name));
      continue;
    }
    const std::size_t bytes = oracle::facts(array.type).bytes;
    std::size_t differing = 0, first = 0, open = 0;
    for (std::size_t i = 0; i < array.elements.size(); ++i) {
      const ReferenceElement& element = array.elements[i];
      if (element.certificate == Certificate::not_certified) {
        ++open;
      } else if (!element.agrees(expected->number_at(expected->data + i * bytes))) {
        if (differing++ == 0) first = i;
      }
    }
    outcome.elements += array.elements.size();
    if (differing != 0)
      add(Verdict::fail,
          fmt::format("{} of {} elements of {}, first at {}: expected {}, correctly rounded {}",
                      differing, array.elements.size(), array.name, place(first, array.shape),
                      number(expected->number_at(expected->data + first * bytes)),
                      number(array.elements[first].value)));
    if (open != 0)
      add(Verdict::no_certificate, fmt::format("{} of {} elements of {} are not certified", open,
                                               array.elements.size(), array.name));
  }
}

// A runtime's outputs by the arithmetic that their formats let expect.
void judge(const oracle::Call& call, const std::string& where, OnnxOutcome& outcome) {
  const oracle::Report report = oracle::judge(call);
  outcome.verdict = std::max(outcome.verdict, report.verdict);
  for (const oracle::OutputReport& output : report.outputs) {
    outcome.elements += output.elements;
    if (output.verdict == Verdict::pass) continue;
    outcome.detail += outcome.detail.empty() ? "" : "; ";
    outcome.detail += fmt::format("{} of {} elements of {}{}",
                                  output.verdict == Verdict::fail      ? output.failed
                                  : output.verdict == Verdict::suspect ? output.suspected
                                                                       : output.undecided,
                                  output.elements, output.name, where);
  }
}

void run_test(const fs::path& test, const fs::path& outputs, const format::OnnxModel& model,
              OnnxOutcome& outcome) {
  const std::vector<fs::path> sets = folders_of(test, [](const fs::path& folder) {
    return folder.filename().string().starts_with("test_data_set_");
  });
  if (sets.empty())
    format::fail(format::printable_path(test),
                 "holds no test_data_set_0; expected inputs and outputs");
  for (const fs::path& set : sets) {
    const fs::path beside = outputs.empty() ? set : outputs / set.filename();
    const format::OnnxCall loaded = format::load_onnx_call(model, set, beside);
    const std::string where =
        sets.size() > 1 ? " in " + format::printable(set.filename().string()) : "";
    try {
      if (outputs.empty())
        compare(loaded.call, where, outcome);
      else
        judge(loaded.call, where, outcome);
    } catch (const oracle::BadCall& bad) {
      format::fail(format::printable_path(set), format::one_line(bad.what()));
    }
  }
}

}  // namespace

OnnxRun run_onnx(const std::string& folder, const std::string& outputs) {
  OnnxRun run;
  run.judged = !outputs.empty();
  const fs::path root(folder);
  const bool single = is_there(root / model_name);
  std::vector<fs::path> tests{root};
  try {
    if (!format::reads_onnx) format::load_onnx_model(root);  // says why not
    if (!single) {
      std::error_code unknown;
      if (!fs::is_directory(root, unknown))
        format::fail(format::printable_path(root),
                     is_there(root) ? "is not a folder" : "there is no such folder");
      tests = folders_of(root, [](const fs::path& test) { return is_there(test / model_name); });
      if (tests.empty())
        format::fail(format::printable_path(root),
                     "holds no test; expected model.onnx in it or in folders in it");
    }
  } catch (const format::BadInput& bad) {
    run.error = bad.what();
    return run;
  }
  for (const fs::path& test : tests) {
    OnnxOutcome outcome;
    const fs::path named = test.filename().empty() ? test.parent_path() : test;
    outcome.test = format::printable_path(named.filename());
    try {
      const format::OnnxModel model = format::load_onnx_model(test / model_name);
      fs::path beside(outputs);
      if (!outputs.empty() && !single) beside /= test.filename();
      run_test(test, beside, model, outcome);
    } catch (const format::OtherModel& other) {
      if (!single) {
        ++run.other_models;
        continue;
      }
      outcome.error = other.what();
    } catch (const format::BadInput& bad) {
      outcome.error = bad.what();
    } catch (const std::bad_alloc&) {
      outcome.error = format::printable_path(test) + ": not enough memory for it";
    } catch (const std::exception& unforeseen) {  // the tests after it still run
      outcome.error = format::printable_path(test) + ": " + format::one_line(unforeseen.what());
    }
    run.tests.push_back(std::move(outcome));
  }
  if (run.tests.empty())
    run.error = format::printable_path(root) +
                ": holds no test of the operator Attention, only other models";
  return run;
}

std::string in_words(const OnnxOutcome& outcome, bool judged) {
  const auto counted = [&](const char* verdict) {
    return fmt::format("{}: {}, {} elements\n", outcome.test, verdict, outcome.elements);
  };
  const auto detailed = [&](const char* verdict) {
    return fmt::format("{}: {}, {}\n", outcome.test, verdict, outcome.detail);
  };
  switch (outcome.verdict) {
    case Verdict::pass:
      return counted(judged ? "pass" : "reproduced");
    case Verdict::fail:
      return detailed(judged ? "FAIL" : "DIFFERS");
    case Verdict::suspect:
      return detailed("SUSPECT");
    default:
      return detailed("NO CERTIFICATE");
  }
}

std::string summary(const OnnxRun& run) {
  std::size_t passed = 0, elements = 0;
  for (const OnnxOutcome& outcome : run.tests) {
    passed += outcome.error.empty() && outcome.verdict == Verdict::pass;
    elements += outcome.elements;
  }
  std::string text = fmt::format("{} of {} tests {}, {} elements", passed, run.tests.size(),
                                 run.judged ? "pass" : "reproduced bit for bit", elements);
  if (run.other_models != 0) text += fmt::format("; {} other models passed over", run.other_models);
  return text + "\n";
}

std::string as_json(const OnnxRun& run) {
  using Json = nlohmann::ordered_json;
  Json json = Json::object();
  if (!run.error.empty()) json["error"] = run.error;
  json["compared_with"] = run.judged ? "tolerance" : "correctly rounded outputs";
  json["tests"] = Json::array();
  for (const OnnxOutcome& outcome : run.tests) {
    Json test = {{"test", outcome.test}};
    if (!outcome.error.empty()) {
      test["error"] = outcome.error;
    } else {
      test["verdict"] = to_string(outcome.verdict);
      test["elements"] = outcome.elements;
      if (!outcome.detail.empty()) test["detail"] = outcome.detail;
    }
    json["tests"].push_back(std::move(test));
  }
  json["other_models"] = run.other_models;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int exit_code(const OnnxRun& run) {
  if (!run.error.empty()) return 2;
  Verdict gravest = Verdict::pass;
  for (const OnnxOutcome& outcome : run.tests) {
    if (!outcome.error.empty()) return 2;
    gravest = std::max(gravest, outcome.verdict);
  }
  return exit_code(gravest);
}

}  // namespace attest::command
