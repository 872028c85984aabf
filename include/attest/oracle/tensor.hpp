// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Tensor: a strided view of somebody's array of numbers, read as double or as integer. It owns
// nothing.
#pragma once
#include <attest/oracle/number_format.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attest::oracle {

enum class ElementType {
  float64,
  float32,
  float16,
  bfloat16,
  float8_e4m3fn,
  float8_e5m2,
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64
};

struct ElementTypeFacts {
  ElementType type;
  std::string_view name;
  std::size_t bytes;
  const NumberFormat* format;  // null for integers and booleans
};

inline constexpr ElementTypeFacts element_types[] = {
    {ElementType::float64, "float64", 8, &formats::float64},
    {ElementType::float32, "float32", 4, &formats::float32},
    {ElementType::float16, "float16", 2, &formats::float16},
    {ElementType::bfloat16, "bfloat16", 2, &formats::bfloat16},
    {ElementType::float8_e4m3fn, "float8_e4m3fn", 1, &formats::float8_e4m3fn},
    {ElementType::float8_e5m2, "float8_e5m2", 1, &formats::float8_e5m2},
    {ElementType::boolean, "bool", 1, nullptr},
    {ElementType::int8, "int8", 1, nullptr},
    {ElementType::int16, "int16", 2, nullptr},
    {ElementType::int32, "int32", 4, nullptr},
    {ElementType::int64, "int64", 8, nullptr},
    {ElementType::uint8, "uint8", 1, nullptr},
    {ElementType::uint16, "uint16", 2, nullptr},
    {ElementType::uint32, "uint32", 4, nullptr},
    {ElementType::uint64, "uint64", 8, nullptr},
};

constexpr const ElementTypeFacts& facts(ElementType type) {
  return element_types[static_cast<std::size_t>(type)];
}

using Shape = std::vector<std::size_t>;

// (2, 3, 4) — as it stands in an error message.
inline std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    text += (axis ? ", " : "") + std::to_string(shape[axis]);
  return text + ")";
}

inline std::size_t element_count(const Shape& shape) {
  std::size_t count = 1;
  for (std::size_t extent : shape) count *= extent;
  return count;
}

struct Tensor {
  ElementType type = ElementType::float32;
  Shape shape;
  std::vector<std::ptrdiff_t>
      strides;  // in bytes; 0 repeats one element along an axis (broadcasting)
  const std::byte* data = nullptr;
  // Where the rows of a packed or paged array of rank 4 begin, in bytes, in place of the strides of
  // axes 0 and 2: row (a, ·, c, ·) at [a·shape[2] + c]. Null: at the strides.
  std::shared_ptr<const std::vector<std::ptrdiff_t>> rows = nullptr;

  // A view of `data` in C order (last axis fastest), little-endian, as the machine itself holds
  // numbers.
  static Tensor row_major(ElementType type, Shape shape, const std::byte* data) {
    Tensor view{type, std::move(shape), {}, data, nullptr};
    view.strides.resize(view.shape.size());
    auto stride = static_cast<std::ptrdiff_t>(facts(type).bytes);
    for (std::size_t axis = view.shape.size(); axis-- > 0;) {
      view.strides[axis] = stride;
      stride *= static_cast<std::ptrdiff_t>(view.shape[axis]);
    }
    return view;
  }

  std::size_t rank() const { return shape.size(); }
  std::size_t size() const { return element_count(shape); }
  const NumberFormat* format() const { return facts(type).format; }

  // The element at `position`, exactly (64-bit integers beyond 2^53 are rounded).
  double number_at(const std::byte* position) const {
    switch (type) {
      case ElementType::float64:
        return load<double>(position);
      case ElementType::float32:
        return static_cast<double>(load<float>(position));
      case ElementType::float16:
      case ElementType::bfloat16:
        return decode(load<std::uint16_t>(position), *format(), 16);
      case ElementType::float8_e4m3fn:
      case ElementType::float8_e5m2:
        return decode(load<std::uint8_t>(position), *format(), 8);
      case ElementType::uint64:
        return static_cast<double>(load<std::uint64_t>(position));
      default:
        return static_cast<double>(integer_at(position));
    }
  }

  // The element at `position` of an array of integers or booleans.
  std::int64_t integer_at(const std::byte* position) const {
    switch (type) {
      case ElementType::boolean:
        return load<std::uint8_t>(position) != 0;
      case ElementType::int8:
        return load<std::int8_t>(position);
      case ElementType::int16:
        return load<std::int16_t>(position);
      case ElementType::int32:
        return load<std::int32_t>(position);
      case ElementType::int64:
        return load<std::int64_t>(position);
      case ElementType::uint8:
        return load<std::uint8_t>(position);
      case ElementType::uint16:
        return load<std::uint16_t>(position);
      case ElementType::uint32:
        return load<std::uint32_t>(position);
      case ElementType::uint64:
        return static_cast<std::int64_t>(load<std::uint64_t>(position));
      default:
        return static_cast<std::int64_t>(number_at(position));
    }
  }

  // The four-dimensional reading; the tensor must have rank 4. The place in bytes from `data` on.
  std::ptrdiff_t place(std::size_t a, std::size_t b, std::size_t c, std::size_t d) const {
    const std::ptrdiff_t row = rows ? (*rows)[a * shape[2] + c]
                                    : static_cast<std::ptrdiff_t>(a) * strides[0] +
                                          static_cast<std::ptrdiff_t>(c) * strides[2];
    return row + static_cast<std::ptrdiff_t>(b) * strides[1] +
           static_cast<std::ptrdiff_t>(d) * strides[3];
  }
  const std::byte* at(std::size_t a, std::size_t b, std::size_t c, std::size_t d) const {
    return data + place(a, b, c, d);
  }
  double number(std::size_t a, std::size_t b, std::size_t c, std::size_t d) const {
    return number_at(at(a, b, c, d));
  }
  // Row (a, b, c, ·) as doubles.
  void read_row(std::size_t a, std::size_t b, std::size_t c, double* row) const {
    const std::byte* position = at(a, b, c, 0);
    for (std::size_t d = 0; d < shape[3]; ++d, position += strides[3]) row[d] = number_at(position);
  }

 private:
  template <class T>
  static T load(const std::byte* position) {
    T value;
    std::memcpy(&value, position, sizeof value);
    return value;
  }
};

}  // namespace attest::oracle
