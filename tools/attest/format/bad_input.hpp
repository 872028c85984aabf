// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// BadInput: a file that cannot be read as a capture, said in one line.
#pragma once
#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace attest::format {

// what() is one line: the file, the array or key, what was found and what was expected.
struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] void fail(const std::string& where, const std::string& what);

// Text out of a file as it may stand in a message: printable ASCII, anything else as \xNN, cut
// when longer than `longest` bytes.
std::string printable(std::string_view text, std::size_t longest = 80);

// Text as it may stand in a line: in its own encoding, without control characters, cut when longer
// than `longest` bytes.
std::string one_line(std::string_view text, std::size_t longest = 500);

// A path as it may stand in a message: whole, in its own encoding, but on one line.
std::string printable_path(const std::filesystem::path& path);

}  // namespace attest::format
