// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Dialects: named readings of a call. Each turns a framework's arrays and options into a problem.
#pragma once
#include <attest/oracle/dialect/onnx.hpp>
#include <attest/oracle/dialect/plain.hpp>
#include <attest/oracle/dialect/torch.hpp>

#include <string>
#include <string_view>

namespace attest::oracle {

struct Dialect {
  std::string_view name;
  std::string_view source;  // the text that defines it
  Problem (*read)(const Call&);
};

inline constexpr Dialect dialects[] = {
    {"onnx-23", "ONNX operator Attention, operator set 23", detail::read_onnx<23>},
    {"onnx-24", "ONNX operator Attention, operator set 24", detail::read_onnx<24>},
    {"onnx-25", "ONNX operator Attention, operator set 25", detail::read_onnx<25>},
    {"torch", "PyTorch 2.5 and later, torch.nn.functional.scaled_dot_product_attention",
     detail::read_torch},
    {"plain", "home-made attention, every choice an option of its own", detail::read_plain},
};

// Reads the call by its dialect. Throws BadCall where the call cannot be meant.
inline Problem read_problem(const Call& call) {
  std::string known;
  for (const Dialect& dialect : dialects) {
    if (dialect.name == call.dialect) return dialect.read(call);
    known += (known.empty() ? "" : ", ") + std::string(dialect.name);
  }
  throw BadCall("unknown dialect \"" + call.dialect + "\"; known are " + known);
}

}  // namespace attest::oracle
