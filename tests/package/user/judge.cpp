// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A user of the oracle, without the command: one call in memory, right.
#include <attest/oracle/verdict.hpp>

int main() {
  using namespace attest::oracle;
  const float query[] = {0}, keys[] = {1, 2}, values[] = {3, 5}, out[] = {4};
  const auto view = [](const float* numbers, attest::oracle::Shape shape) {
    return Tensor::row_major(ElementType::float32, shape,
                             reinterpret_cast<const std::byte*>(numbers));
  };
  Call call;
  call.dialect = "plain";
  call.arrays = {{"q", view(query, {1, 1})},
                 {"k", view(keys, {2, 1})},
                 {"v", view(values, {2, 1})},
                 {"out", view(out, {1, 1})}};
  return judge(call).verdict == Verdict::pass ? 0 : 1;
}
