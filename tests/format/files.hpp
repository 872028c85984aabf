// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Files for tests of the readers, honest and lying: NumPy arrays, zip archives, a folder for them.
#pragma once
#include <attest/format/bad_input.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace files {

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline std::vector<std::byte> to_bytes(std::string_view text) {
  const auto bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

// `value` in little-endian order.
inline std::string little_endian(std::uint64_t value, std::size_t bytes) {
  std::string result;
  for (std::size_t i = 0; i < bytes; ++i) result += static_cast<char>((value >> (8 * i)) & 0xff);
  return result;
}

template <class T>
std::string in_memory(const std::vector<T>& values) {
  std::string result;
  for (const T value : values) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    result.append(bytes, sizeof(T));
  }
  return result;
}

// A NumPy file of format version `major`.0 with this header, to the letter.
std::string npy_with_header(std::string_view header, std::string_view data, unsigned major = 1);

// A NumPy file as NumPy writes it; `shape` in Python's words, such as "(2, 3)".
std::string npy(std::string_view descr, std::string_view shape, std::string_view data,
                bool fortran_order = false, unsigned major = 1);

// An entry of a zip archive, true unless a field says otherwise.
struct Entry {
  std::string name;
  std::string content;   // as it stands in the archive
  std::string original;  // before compression; content itself where stored
  unsigned method = 0;
  unsigned flags = 0;
  std::optional<std::uint32_t> checksum{};
  std::optional<std::uint64_t> claimed_size{};
  std::optional<std::uint64_t> claimed_stored_size{};
  bool zip64 = false;            // sizes as 64-bit extra field
  bool reuses_previous = false;  // points at the previous entry instead of having its own bytes
};

Entry stored(std::string name, std::string content);
Entry deflated(std::string name, std::string content);

std::string zip(const std::vector<Entry>& entries);

// A folder of its own, gone at the end of the scope.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path write(const std::string& name, std::string_view content) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string read(const std::filesystem::path& path);

// The names, without extension, of the captures in a folder and the folders in it.
std::vector<std::filesystem::path> captures_under(const std::filesystem::path& folder);

// What `action` says when it refuses its input, or "accepted"; other exceptions pass.
template <class Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const attest::format::BadInput& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace files
