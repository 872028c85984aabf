// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// ONNX: runs node tests of the operator Attention, against the correctly rounded reference or for
// the outputs of a runtime.
#pragma once
#include <attest/oracle/report.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace attest::command {

// What became of one test. Without a runtime's outputs: `pass` where the expected outputs are the
// correctly rounded ones, bit for bit, and `fail` where one is not.
struct OnnxOutcome {
  std::string test;   // the name of its folder
  std::string error;  // one line; empty where there is a verdict
  oracle::Verdict verdict = oracle::Verdict::pass;
  std::size_t elements = 0;
  std::string detail;  // what is not as it should be
};

struct OnnxRun {
  std::string error;    // of the folder itself
  bool judged = false;  // outputs of a runtime
  std::vector<OnnxOutcome> tests;
  std::size_t other_models = 0;  // in the folder, not of the operator Attention
};

// `folder`: one test (model.onnx and test_data_set_N beside it) or a folder of tests. `outputs`: a
// folder of the same layout with a runtime's output files; empty: the tests' own.
OnnxRun run_onnx(const std::string& folder, const std::string& outputs);

// One line each; the second ends with the count.
std::string in_words(const OnnxOutcome& outcome, bool judged);
std::string summary(const OnnxRun& run);

// The same as data: a list of tests, and the counts.
std::string as_json(const OnnxRun& run);

// The gravest of them as of a capture. 2: one cannot be read.
int exit_code(const OnnxRun& run);

}  // namespace attest::command
