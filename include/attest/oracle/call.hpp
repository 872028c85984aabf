// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Call: one captured call of somebody's attention — its arrays and the framework's own options, not
// yet interpreted.
#pragma once
#include <attest/oracle/tensor.hpp>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace attest::oracle {

// The value of a framework's option, as written: no meaning yet.
using Attribute = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>>;

// What a call says that cannot be meant: an array whose shape does not fit, an option nobody knows.
// The message is one line naming the array or option, what was found and what was expected.
struct BadCall : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Call {
  std::map<std::string, Tensor>
      arrays;           // by the capture format's names: q, k, v, attn_mask, out, …
  std::string dialect;  // whose definition the call follows: onnx-24, torch, plain, …
  std::map<std::string, Attribute> attributes;  // absent = the framework's default
  std::string layout = "bhsd";                  // of 4-D q, k, v, out: bhsd, or bshd
  std::map<std::string, Attribute>
      precision;        // what the subject claims of its arithmetic; absent = from the formats
  std::string subject;  // whose output it is, in words

  const Tensor* find(const std::string& name) const {
    const auto found = arrays.find(name);
    return found == arrays.end() ? nullptr : &found->second;
  }
};

}  // namespace attest::oracle
