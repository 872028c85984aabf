// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/format/npy.hpp>

#include <attest/format/bad_input.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace attest::format {
namespace {

using oracle::ElementType;
using oracle::Shape;

static_assert(std::endian::native == std::endian::little,
              "arrays are viewed where they lie, in the byte order of the file");

// The largest array worth describing: strides and byte counts are ptrdiff_t.
constexpr std::uint64_t most_bytes = std::numeric_limits<std::ptrdiff_t>::max();

// An array without elements takes no bytes whatever its other extents are; a reader may still loop
// over those, so they are held to this many steps.
constexpr std::uint64_t most_empty_rows = std::uint64_t{1} << 31;

struct Header {
  std::string_view descr;
  bool fortran_order = false;
  Shape shape;
};

// Reads the header, a Python dictionary such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Header read() {
    std::optional<std::string_view> descr;
    std::optional<bool> fortran_order;
    std::optional<Shape> shape;
    expect('{', "'{'");
    while (!accept('}')) {
      const std::string_view key = read_text("a key");
      expect(':', "':'");
      if (key == "descr")
        once(key, descr) = read_descr();
      else if (key == "fortran_order")
        once(key, fortran_order) = read_bool();
      else if (key == "shape")
        once(key, shape) = read_shape();
      else
        fail(where_, fmt::format("the header has the unknown key '{}'; expected 'descr', "
                                 "'fortran_order' and 'shape'",
                                 printable(key)));
      if (accept(',')) continue;
      expect('}', "',' or '}'");
      break;
    }
    skip_space();
    if (position_ != text_.size()) fail_here("nothing after '}'");
    return {needed("descr", descr), needed("fortran_order", fortran_order), needed("shape", shape)};
  }

 private:
  [[noreturn]] void fail_here(std::string_view expected) {
    skip_space();
    const std::string found = position_ == text_.size()
                                  ? "its end"
                                  : "\"" + printable(text_.substr(position_), 20) + "\"";
    fail(where_, fmt::format("header, byte {}: found {}, expected {}", position_, found, expected));
  }

  template <class T>
  std::optional<T>& once(std::string_view key, std::optional<T>& value) {
    if (value) fail(where_, fmt::format("the header has '{}' twice", key));
    return value;
  }

  template <class T>
  T needed(std::string_view key, std::optional<T>& value) {
    if (!value) fail(where_, fmt::format("the header lacks '{}'", key));
    return std::move(*value);
  }

  void skip_space() {
    position_ = std::min(text_.find_first_not_of(" \t\r\n", position_), text_.size());
  }

  bool accept(char mark) {
    skip_space();
    if (position_ == text_.size() || text_[position_] != mark) return false;
    ++position_;
    return true;
  }

  void expect(char mark, std::string_view name) {
    if (!accept(mark)) fail_here(name);
  }

  // A quoted text without escapes: none of the words of a header needs one.
  std::string_view read_text(std::string_view expected) {
    skip_space();
    if (position_ == text_.size() || (text_[position_] != '\'' && text_[position_] != '"'))
      fail_here(expected);
    const std::size_t end = text_.find(text_[position_], position_ + 1);
    if (end == std::string_view::npos) fail_here("a text that is closed");
    const std::string_view content = text_.substr(position_ + 1, end - position_ - 1);
    if (content.find('\\') != std::string_view::npos) fail_here("a text without backslash");
    position_ = end + 1;
    return content;
  }

  std::string_view read_descr() {
    skip_space();
    if (position_ < text_.size() && text_[position_] == '[')
      fail(where_, "the elements are structures; expected numbers or booleans");
    return read_text("an element type such as '<f4'");
  }

  bool read_bool() {
    skip_space();
    for (bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(position_, word.size()) != word) continue;
      position_ += word.size();
      return value;
    }
    fail_here("True or False");
  }

  Shape read_shape() {
    Shape shape;
    expect('(', "a shape such as (2, 3)");
    while (!accept(')')) {
      if (shape.size() == most_axes)
        fail(where_, fmt::format("the header claims more than {} axes", most_axes));
      shape.push_back(read_extent(shape.size()));
      if (accept(',')) continue;
      if (shape.size() == 1) fail_here("',' after the only extent");
      expect(')', "',' or ')'");
      break;
    }
    return shape;
  }

  std::size_t read_extent(std::size_t axis) {
    skip_space();
    const std::size_t begin = position_;
    if (position_ < text_.size() && text_[position_] == '-') ++position_;
    const std::size_t digits = position_;
    while (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9')
      ++position_;
    const std::string_view number = text_.substr(begin, position_ - begin);
    if (position_ == digits) {
      position_ = begin;
      fail_here("an extent");
    }
    if (digits != begin)
      fail(where_, fmt::format("the header claims extent {} of axis {}; expected 0 or more",
                               printable(number, 24), axis));
    if (number.size() > 1 && number[0] == '0') {
      position_ = begin;
      fail_here("an extent without leading zeros");
    }
    std::uint64_t extent = 0;
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), extent);
    if (parsed.ec != std::errc() || extent > most_bytes)
      fail(where_, fmt::format("the header claims extent {} of axis {}; expected less than 2^63",
                               printable(number, 24), axis));
    return static_cast<std::size_t>(extent);
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t position_ = 0;
};

// What NumPy's letter for an element type means, for the types that are not read.
std::string_view unreadable_kind(char letter) {
  switch (letter) {
    case 'O':
      return "Python objects";
    case 'S':
    case 'a':
    case 'U':
      return "text";
    case 'c':
      return "complex numbers";
    case 'M':
    case 'm':
      return "dates or times";
    case 'V':
      return "raw bytes (bfloat16 and float8 are stored as uint16 and uint8 and named in "
             "\"formats\")";
    default:
      return "of an unknown type";
  }
}

ElementType element_type(std::string_view descr, const std::string& where) {
  constexpr std::pair<std::string_view, ElementType> known[] = {
      {"f8", ElementType::float64}, {"f4", ElementType::float32}, {"f2", ElementType::float16},
      {"b1", ElementType::boolean}, {"i1", ElementType::int8},    {"i2", ElementType::int16},
      {"i4", ElementType::int32},   {"i8", ElementType::int64},   {"u1", ElementType::uint8},
      {"u2", ElementType::uint16},  {"u4", ElementType::uint32},  {"u8", ElementType::uint64}};
  const char order = descr.empty() ? '\0' : descr[0];
  for (const auto& [name, type] : known) {
    if (descr.substr(std::min<std::size_t>(1, descr.size())) != name) continue;
    if (order == '<' || order == '=' || (order == '|' && oracle::facts(type).bytes == 1))
      return type;
    if (order == '>')
      fail(where, fmt::format("the elements are big-endian, '{}'; expected little-endian, '{}{}'",
                              descr, oracle::facts(type).bytes == 1 ? '|' : '<', name));
  }
  fail(where,
       fmt::format("the elements are '{}', {}; expected one of <f8 <f4 <f2 |b1 |i1 <i2 <i4 <i8 "
                   "|u1 <u2 <u4 <u8",
                   printable(descr, 24), unreadable_kind(descr.size() > 1 ? descr[1] : '\0')));
}

// The bytes that an array of `shape` takes, if they and every stride can be counted.
std::size_t byte_count(ElementType type, const Shape& shape, const std::string& where) {
  std::uint64_t bytes = oracle::facts(type).bytes;
  bool empty = false;
  for (std::uint64_t extent : shape) {
    empty = empty || extent == 0;
    const std::uint64_t steps = std::max<std::uint64_t>(extent, 1);
    if (bytes > most_bytes / steps)
      fail(where, fmt::format("the header claims shape {} of {}, 2^63 bytes or more",
                              oracle::to_string(shape), oracle::facts(type).name));
    bytes *= steps;
  }
  if (!empty) return static_cast<std::size_t>(bytes);
  if (bytes / oracle::facts(type).bytes > most_empty_rows)
    fail(where, fmt::format("the header claims shape {}, no elements in more than 2^31 rows",
                            oracle::to_string(shape)));
  return 0;
}

unsigned byte_at(const std::vector<std::byte>& file, std::size_t position) {
  return std::to_integer<unsigned>(file[position]);
}

}  // namespace

oracle::Tensor NpyArray::view() const {
  oracle::Tensor view = oracle::Tensor::row_major(type, shape, file.data() + data_begins);
  if (!fortran_order) return view;
  auto stride = static_cast<std::ptrdiff_t>(oracle::facts(type).bytes);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    view.strides[axis] = stride;
    stride *= static_cast<std::ptrdiff_t>(shape[axis]);
  }
  return view;
}

NpyArray parse_npy(std::vector<std::byte> file, const std::string& where) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  constexpr std::string_view magic = "\x93NUMPY";
  if (text.substr(0, magic.size()) != magic)
    fail(where, fmt::format("found \"{}\" at its beginning, expected \"{}\"",
                            printable(text.substr(0, magic.size())), printable(magic)));
  if (text.size() < 8) fail(where, fmt::format("ends after {} bytes, in its header", text.size()));

  // Versions 2.0 and 3.0 differ from 1.0 in a longer length field, and from each other in the
  // encoding of field names, which no readable array has.
  const unsigned major = byte_at(file, 6);
  const unsigned minor = byte_at(file, 7);
  if (major < 1 || major > 3 || minor != 0)
    fail(where, fmt::format("is in NumPy format {}.{}; expected 1.0, 2.0 or 3.0", major, minor));
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t header_begins = 8 + length_bytes;
  if (text.size() < header_begins)
    fail(where, fmt::format("ends after {} bytes, in its header", text.size()));
  std::size_t header_length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i)
    header_length |= std::size_t{byte_at(file, 8 + i)} << (8 * i);
  if (header_length > text.size() - header_begins)
    fail(where, fmt::format("claims a header of {} bytes, but only {} follow", header_length,
                            text.size() - header_begins));

  Header header = HeaderReader(text.substr(header_begins, header_length), where).read();
  NpyArray array;
  array.type = element_type(header.descr, where);
  array.shape = std::move(header.shape);
  array.fortran_order = header.fortran_order;
  array.data_begins = header_begins + header_length;

  const std::size_t claimed = byte_count(array.type, array.shape, where);
  const std::size_t present = text.size() - array.data_begins;
  if (claimed != present)
    fail(where, fmt::format("the header claims shape {} of {}, {} bytes, but {}{} follow",
                            oracle::to_string(array.shape), oracle::facts(array.type).name, claimed,
                            present < claimed ? "only " : "", present));
  if (array.type == ElementType::boolean) {
    for (std::size_t i = 0; i < present; ++i) {
      const unsigned byte = byte_at(file, array.data_begins + i);
      if (byte > 1)
        fail(where,
             fmt::format("element {} of the data is the byte {}; a bool is 0 or 1", i, byte));
    }
  }
  array.file = std::move(file);
  return array;
}

}  // namespace attest::format
