// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/format/bad_input.hpp>

#include <fmt/format.h>

namespace attest::format {
namespace {

void append_escaped(std::string& text, char byte) {
  text += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(byte)));
}

bool is_control(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  return code < 0x20 || code == 0x7f;
}

}  // namespace

void fail(const std::string& where, const std::string& what) {
  throw BadInput(where + ": " + what);
}

std::string printable(std::string_view text, std::size_t longest) {
  std::string result;
  for (char byte : text.substr(0, longest)) {
    if (is_control(byte) || static_cast<unsigned char>(byte) >= 0x80)
      append_escaped(result, byte);
    else
      result += byte;
  }
  return text.size() > longest ? result + "..." : result;
}

std::string one_line(std::string_view text, std::size_t longest) {
  std::string result;
  for (char byte : text.substr(0, longest)) {
    if (is_control(byte))
      append_escaped(result, byte);
    else
      result += byte;
  }
  return text.size() > longest ? result + "..." : result;
}

std::string printable_path(const std::filesystem::path& path) {
  return one_line(path.string(), std::string_view::npos);
}

}  // namespace attest::format
