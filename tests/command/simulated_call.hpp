// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A simulated kernel's call: one head, by the dialect plain, claiming the kernel's preset.
#pragma once
#include <attest/oracle/call.hpp>

#include <string>
#include <vector>

#include "../oracle/call_builder.hpp"
#include "simulated.hpp"

namespace attest::test {

inline CallBuilder simulated_call(const Kernel& kernel, const Data& data,
                                  const std::vector<double>& out) {
  CallBuilder builder("plain");
  const auto add = [&](const char* name, Format format, std::size_t rows, std::size_t columns,
                       const std::vector<double>& numbers) {
    const Stored array = stored(format, numbers);
    builder.array(name, array.type, {1, 1, rows, columns}, array.bytes);
  };
  add("q", kernel.array, data.queries, data.width, data.q);
  add("k", kernel.array, data.keys, data.width, data.k);
  add("v", kernel.array, data.keys, data.value_width, data.v);
  add("out", kernel.output, data.queries, data.value_width, out);
  if (data.causal) builder.option("causal", std::string("bottom-right"));
  builder.call.precision["preset"] = kernel.preset;
  return builder;
}

}  // namespace attest::test
