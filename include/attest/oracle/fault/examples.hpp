// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Small calls that examples of faults are made from.
#pragma once
#include <attest/oracle/fault/example.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace attest::oracle::detail {

using Numbers = std::vector<double>;

// (S, D), (T, D) and (T, d_v), or with heads and batches before; `out` has its place.
inline Example small_call(const Shape& q_shape, const Numbers& q, const Shape& k_shape,
                          const Numbers& k, const Shape& v_shape, const Numbers& v) {
  Example example;
  Shape out = q_shape;
  out.back() = v_shape.back();
  example.array("q", q_shape, q).array("k", k_shape, k).array("v", v_shape, v);
  example.array("out", out, Numbers(element_count(out), 0));
  return example;
}

// One query of width 1 that gives keys these scores at scale 1, values of width 1.
inline Example one_query(const Numbers& scores, const Numbers& values) {
  return small_call({1, 1}, {1}, {scores.size(), 1}, scores, {values.size(), 1}, values);
}

// Queries that find all keys alike: each output is the mean of the values it may see.
inline Example equal_scores(std::size_t queries, const Numbers& values) {
  return small_call({queries, 1}, Numbers(queries, 0), {values.size(), 1},
                    Numbers(values.size(), 0), {values.size(), 1}, values);
}

// Numbers that are all different and small.
inline Numbers different(std::size_t count, double first = 0.25, double step = 0.375) {
  Numbers numbers(count);
  for (std::size_t n = 0; n < count; ++n)
    numbers[n] = std::fmod(first + step * static_cast<double>(n * n + n), 3.0) - 1.5;
  return numbers;
}

// Any extents, all numbers different.
inline Example different_call(std::size_t batches, std::size_t query_heads,
                              std::size_t key_value_heads, std::size_t queries, std::size_t keys,
                              std::size_t width, std::size_t value_width) {
  const Shape q{batches, query_heads, queries, width}, k{batches, key_value_heads, keys, width},
      v{batches, key_value_heads, keys, value_width};
  return small_call(q, different(element_count(q)), k, different(element_count(k), 0.7, 0.21), v,
                    different(element_count(v), 1.1, 0.47));
}

// A setting of a fault that has none.
inline const std::vector<double> one_setting{0};

}  // namespace attest::oracle::detail
