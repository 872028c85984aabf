// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// One NumPy array file (.npy, format versions 1.0 to 3.0) in memory: element type, shape and data.
#pragma once
#include <attest/oracle/tensor.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace attest::format {

// The longest shape that is read; no call of attention needs more than five axes.
inline constexpr std::size_t most_axes = 8;

// An array and the file it came in, whose tail is the data: nothing is copied.
struct NpyArray {
  oracle::ElementType type = oracle::ElementType::float32;
  oracle::Shape shape;
  bool fortran_order = false;  // the first axis is the fastest
  std::vector<std::byte> file;
  std::size_t data_begins = 0;

  // A view of the data, valid while this array or one moved from it lives.
  oracle::Tensor view() const;
};

// Throws BadInput, its message beginning with `where`, unless `file` is exactly one array of
// little-endian numbers or booleans: Python objects, text, structures and bytes left over are
// errors.
NpyArray parse_npy(std::vector<std::byte> file, const std::string& where);

}  // namespace attest::format
