// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Example: a small call with the memory its arrays look into.
#pragma once
#include <attest/oracle/call.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace attest::oracle {

// Numbers as an array of some type holds them, each rounded to nearest; in C order.
inline std::vector<std::byte> stored(ElementType type, const std::vector<double>& numbers) {
  const std::size_t size = facts(type).bytes;
  std::vector<std::byte> bytes(numbers.size() * size);
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    std::byte* to = bytes.data() + n * size;
    const NumberFormat* format = facts(type).format;
    if (type == ElementType::float64) {
      std::memcpy(to, &numbers[n], 8);
    } else if (type == ElementType::float32) {
      const auto x = static_cast<float>(format->round(numbers[n]));
      std::memcpy(to, &x, 4);
    } else if (format) {
      const std::uint16_t bits =
          encode(format->round(numbers[n]), *format, static_cast<int>(8 * size));
      std::memcpy(to, &bits, size);  // little-endian
    } else {
      const auto x = static_cast<std::int64_t>(numbers[n]);
      std::memcpy(to, &x, size);
    }
  }
  return bytes;
}

struct Example {
  Call call;
  std::vector<std::shared_ptr<const std::vector<std::byte>>> memory;

  explicit Example(std::string dialect = "plain") { call.dialect = std::move(dialect); }

  Example& array(const std::string& name, Shape shape, const std::vector<double>& numbers,
                 ElementType type = ElementType::float32) {
    auto bytes = std::make_shared<const std::vector<std::byte>>(stored(type, numbers));
    call.arrays[name] = Tensor::row_major(type, std::move(shape), bytes->data());
    memory.push_back(std::move(bytes));
    return *this;
  }
  Example& option(const std::string& name, Attribute value) {
    call.attributes[name] = std::move(value);
    return *this;
  }
};

}  // namespace attest::oracle
