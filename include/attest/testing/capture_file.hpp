// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A call written as a capture: NAME.npz and NAME.json, as attest check reads them. Needs nothing
// but the standard library, so that every test can keep what failed.
#pragma once
#include <attest/oracle/call.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace attest::testing {
namespace detail {

// Of the archive format (ISO 3309), reflected polynomial 0xedb88320.
inline std::uint32_t crc32(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t n = 0; n < 256; ++n) {
      std::uint32_t c = n;
      for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
      made[n] = c;
    }
    return made;
  }();
  std::uint32_t crc = 0xffffffffu;
  for (const char c : bytes) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

inline void put(std::string& to, std::uint64_t number, int bytes) {
  for (int n = 0; n < bytes; ++n) to += static_cast<char>(number >> (8 * n) & 0xff);
}

inline std::string_view numpy_type(oracle::ElementType type) {
  using enum oracle::ElementType;
  switch (type) {
    case float64:
      return "<f8";
    case float32:
      return "<f4";
    case float16:
      return "<f2";
    case boolean:
      return "|b1";
    case int8:
      return "|i1";
    case int16:
      return "<i2";
    case int32:
      return "<i4";
    case int64:
      return "<i8";
    case uint8:
    case float8_e4m3fn:
    case float8_e5m2:
      return "|u1";
    case uint16:
    case bfloat16:
      return "<u2";
    case uint32:
      return "<u4";
    case uint64:
      return "<u8";
  }
  return "";
}

// A NumPy file in C order, version 1.0: ten bytes, and a header that ends at a multiple of 64.
inline std::string npy(const oracle::Tensor& array) {
  std::string extents;
  for (const std::size_t extent : array.shape) extents += std::to_string(extent) + ", ";
  if (array.rank() > 1) extents.resize(extents.size() - 2);
  std::string header = "{'descr': '" + std::string(numpy_type(array.type)) +
                       "', 'fortran_order': False, 'shape': (" + extents + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  put(file, header.size(), 2);
  file += header;
  const oracle::Tensor whole = oracle::Tensor::row_major(array.type, array.shape, array.data);
  if (array.rows || array.strides != whole.strides)
    throw std::runtime_error("an array that is not in C order cannot be saved");
  file.append(reinterpret_cast<const char*>(array.data),
              array.size() * oracle::facts(array.type).bytes);
  return file;
}

// A zip archive whose entries are stored, of the first day that the format knows.
inline std::string zip(const std::vector<std::pair<std::string, std::string>>& entries) {
  constexpr std::uint32_t first_day = ((1 << 5) | 1) << 16;
  std::string file, directory;
  for (const auto& [name, content] : entries) {
    const std::size_t offset = file.size();
    std::string common;
    put(common, 20, 2);  // version needed
    put(common, 0, 2);
    put(common, 0, 2);  // stored
    put(common, first_day, 4);
    put(common, crc32(content), 4);
    put(common, content.size(), 4);
    put(common, content.size(), 4);
    put(common, name.size(), 2);
    put(common, 0, 2);
    file += "PK\x03\x04" + common + name + content;
    directory += "PK\x01\x02";
    put(directory, 20, 2);
    directory += common;
    put(directory, 0, 2);
    put(directory, 0, 4);
    put(directory, 0, 4);
    put(directory, offset, 4);
    directory += name;
  }
  const std::size_t at = file.size();
  if (at > 0xffffffffu) throw std::runtime_error("a call of more than 4 GiB cannot be saved");
  file += directory;
  file += "PK\x05\x06";
  put(file, 0, 4);
  put(file, entries.size(), 2);
  put(file, entries.size(), 2);
  put(file, directory.size(), 4);
  put(file, at, 4);
  put(file, 0, 2);
  return file;
}

inline std::string json_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      quoted += std::string("\\") + c;
    else if (static_cast<unsigned char>(c) < 0x20)
      quoted += ' ';
    else
      quoted += c;
  }
  return quoted + "\"";
}
inline std::string json_number(double x) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, x).ptr;
  std::string number(text, end);
  // so that it stays a number with a fraction
  if (number.find_first_of(".e") == std::string::npos) number += ".0";
  return number;
}
inline std::string json_value(const oracle::Attribute& value) {
  struct Write {
    std::string operator()(bool x) const { return x ? "true" : "false"; }
    std::string operator()(std::int64_t x) const { return std::to_string(x); }
    std::string operator()(double x) const { return json_number(x); }
    std::string operator()(const std::string& x) const { return json_text(x); }
    std::string operator()(const std::vector<std::int64_t>& x) const {
      std::string text = "[";
      for (std::size_t n = 0; n < x.size(); ++n) text += (n ? ", " : "") + std::to_string(x[n]);
      return text + "]";
    }
  };
  return std::visit(Write{}, value);
}
inline std::string json_object(const std::map<std::string, oracle::Attribute>& members) {
  std::string text = "{";
  for (const auto& [name, value] : members)
    text += (text.size() > 1 ? ", " : "") + json_text(name) + ": " + json_value(value);
  return text + "}";
}

// The whole of a file or none of it: written beside it and renamed.
inline void write_file(const std::filesystem::path& path, const std::string& content) {
  std::filesystem::path unfinished = path;
  unfinished += ".unfinished";
  {
    std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.flush();
    if (!file) {
      std::error_code ignored;
      std::filesystem::remove(unfinished, ignored);
      throw std::runtime_error(path.string() + ": cannot be written");
    }
  }
  std::filesystem::rename(unfinished, path);
}

}  // namespace detail

inline std::string options_json(const oracle::Call& call, const std::string& note = {}) {
  using namespace detail;
  std::map<std::string, oracle::Attribute> formats;
  for (const auto& [name, array] : call.arrays)
    if (array.type == oracle::ElementType::bfloat16 ||
        array.type == oracle::ElementType::float8_e4m3fn ||
        array.type == oracle::ElementType::float8_e5m2)
      formats[name] = std::string(oracle::facts(array.type).name);
  std::string text = "{ \"dialect\": " + json_text(call.dialect) +
                     ",\n  \"attributes\": " + json_object(call.attributes) +
                     ",\n  \"layout\": " + json_text(call.layout) +
                     ",\n  \"formats\": " + json_object(formats);
  if (!call.precision.empty()) text += ",\n  \"precision\": " + json_object(call.precision);
  if (!call.subject.empty()) text += ",\n  \"subject\": " + json_text(call.subject);
  if (!note.empty()) text += ",\n  \"note\": " + json_text(note);
  return text + " }\n";
}

inline std::string npz(const oracle::Call& call) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const auto& [name, array] : call.arrays)
    entries.push_back({name + ".npy", detail::npy(array)});
  return detail::zip(entries);
}

// Writes `path` (NAME.npz) after NAME.json, each as a whole. Throws std::runtime_error or
// std::filesystem::filesystem_error.
inline void save_capture(const std::filesystem::path& path, const oracle::Call& call,
                         const std::string& note = {}) {
  std::filesystem::path options = path;
  options.replace_extension(".json");
  detail::write_file(options, options_json(call, note));
  detail::write_file(path, npz(call));
}

}  // namespace attest::testing
