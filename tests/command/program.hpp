// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Runs the built program as a shell would, and writes captures for it to read.
#pragma once
#include <attest/oracle/call.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "../format/files.hpp"

namespace attest::test {

struct Result {
  int code = 0;  // 128 + the signal where one ended it
  std::string out, err;
};

enum class User { same, nobody };

// `attest` with these arguments; ended by a signal when it takes longer than two minutes.
// `out_path` takes its standard output, which is then not part of the result.
Result run(const std::vector<std::string>& arguments, User user = User::same,
           const std::string& out_path = "");

// The lines of a text, each ended by a line break.
std::size_t lines(const std::string& text);

// The tensor as a NumPy file in C order; formats NumPy lacks as their bits.
std::string npy(const oracle::Tensor& tensor);

// The call's arrays as NAME.npz, and as NAME.json its dialect and options with `more` members, such
// as "note": "x".
std::filesystem::path write_capture(const files::Folder& folder, const std::string& name,
                                    const oracle::Call& call, const std::string& more = "");

}  // namespace attest::test
