// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Heads side by side: q, k, v and out as (batch, row, heads·columns), which ONNX Runtime's own
// operators take, from and to (batch, head, row, column).
#pragma once
#include <attest/oracle/fault/example.hpp>

#include <cstddef>
#include <vector>

namespace attest::oracle::detail {

inline constexpr const char* arrays_side_by_side[] = {"q", "k", "v", "out"};

// (a, b, c, d) as (a, c, b, d), both in C order.
inline std::vector<double> middle_axes_exchanged(const std::vector<double>& numbers,
                                                 const Shape& shape) {
  std::vector<double> exchanged;
  exchanged.reserve(numbers.size());
  for (std::size_t a = 0; a < shape[0]; ++a)
    for (std::size_t c = 0; c < shape[2]; ++c)
      for (std::size_t b = 0; b < shape[1]; ++b)
        for (std::size_t d = 0; d < shape[3]; ++d)
          exchanged.push_back(numbers[((a * shape[1] + b) * shape[2] + c) * shape[3] + d]);
  return exchanged;
}

inline void put_heads_side_by_side(Example& example) {
  for (const char* name : arrays_side_by_side) {
    const Tensor* found = example.call.find(name);
    if (!found) continue;
    const Tensor array = *found;
    std::vector<double> numbers;
    for (std::size_t b = 0; b < array.shape[0]; ++b)
      for (std::size_t h = 0; h < array.shape[1]; ++h)
        for (std::size_t i = 0; i < array.shape[2]; ++i)
          for (std::size_t t = 0; t < array.shape[3]; ++t)
            numbers.push_back(array.number(b, h, i, t));
    example.array(name, {array.shape[0], array.shape[2], array.shape[1] * array.shape[3]},
                  middle_axes_exchanged(numbers, array.shape), array.type);
  }
}

}  // namespace attest::oracle::detail
