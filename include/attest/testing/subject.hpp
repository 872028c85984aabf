// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Subject: attention under test, as something that answers calls.
#pragma once
#include <attest/oracle/fault/example.hpp>

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attest::testing {

// What a subject made of a call: the call with its outputs, or why there are none.
struct Answer {
  std::optional<oracle::Example> call;
  std::string failure;  // in words: what it threw, that it crashed, or did not end

  static Answer of(oracle::Example call) { return {std::move(call), {}}; }
  static Answer failed(std::string why) { return {std::nullopt, std::move(why)}; }
};

// The answer may look into the call's own arrays.
using Subject = std::function<Answer(const oracle::Call&)>;

// The call with memory of its own for every array.
inline oracle::Example owned(const oracle::Call& call) {
  oracle::Example copy(call.dialect);
  copy.call = call;
  for (auto& [name, array] : copy.call.arrays) {
    auto bytes =
        std::make_shared<std::vector<std::byte>>(array.size() * oracle::facts(array.type).bytes);
    if (!bytes->empty()) std::memcpy(bytes->data(), array.data, bytes->size());
    array.data = bytes->data();
    copy.memory.push_back(std::move(bytes));
  }
  return copy;
}

}  // namespace attest::testing
