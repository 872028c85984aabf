// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Builds calls in memory: named arrays of float32, float64, integers or booleans with the storage
// they look into.
#pragma once
#include <attest/oracle/call.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace attest::test {

class CallBuilder {
 public:
  explicit CallBuilder(std::string dialect) { call.dialect = std::move(dialect); }

  template <class T>
  CallBuilder& array(const std::string& name, oracle::ElementType type, oracle::Shape shape,
                     const std::vector<T>& numbers) {
    auto bytes = std::make_shared<std::vector<std::byte>>(numbers.size() * sizeof(T));
    if (!numbers.empty()) std::memcpy(bytes->data(), numbers.data(), bytes->size());
    call.arrays[name] = oracle::Tensor::row_major(type, std::move(shape), bytes->data());
    storage_[name] = std::move(bytes);
    return *this;
  }
  CallBuilder& floats(const std::string& name, oracle::Shape shape,
                      const std::vector<float>& numbers) {
    return array(name, oracle::ElementType::float32, std::move(shape), numbers);
  }
  // Some numbers, each its own.
  CallBuilder& floats(const std::string& name, oracle::Shape shape) {
    std::vector<float> numbers(oracle::element_count(shape));
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = 0.125f * static_cast<float>(i % 17) - 1;
    return floats(name, std::move(shape), numbers);
  }
  CallBuilder& booleans(const std::string& name, oracle::Shape shape,
                        const std::vector<std::uint8_t>& numbers) {
    return array(name, oracle::ElementType::boolean, std::move(shape), numbers);
  }
  CallBuilder& integers(const std::string& name, oracle::Shape shape,
                        const std::vector<std::int64_t>& numbers) {
    return array(name, oracle::ElementType::int64, std::move(shape), numbers);
  }
  CallBuilder& option(const std::string& name, oracle::Attribute value) {
    call.attributes[name] = std::move(value);
    return *this;
  }

  oracle::Call call;

 private:
  std::map<std::string, std::shared_ptr<const std::vector<std::byte>>>
      storage_;  // shared by copies
};

// q, k, v and out of the given extents, all of it there and fitting.
inline CallBuilder ordinary_call(const std::string& dialect, std::size_t batches = 2,
                                 std::size_t query_heads = 4, std::size_t key_value_heads = 2,
                                 std::size_t queries = 3, std::size_t keys = 5,
                                 std::size_t width = 4, std::size_t value_width = 2) {
  CallBuilder builder(dialect);
  builder.floats("q", {batches, query_heads, queries, width});
  builder.floats("k", {batches, key_value_heads, keys, width});
  builder.floats("v", {batches, key_value_heads, keys, value_width});
  builder.floats("out", {batches, query_heads, queries, value_width});
  return builder;
}

}  // namespace attest::test
