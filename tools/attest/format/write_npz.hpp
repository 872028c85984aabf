// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Writes a NumPy archive (.npz): the whole of it or nothing.
#pragma once
#include <attest/oracle/tensor.hpp>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace attest::format {

struct NpzEntry {
  std::string name;  // of the entry itself: with ".npy" if it is an array
  std::string content;
};

// A NumPy file in C order; a format NumPy lacks as the integers that its bits are.
std::string npy_file(oracle::ElementType type, const oracle::Shape& shape,
                     std::span<const std::byte> data);

// Writes beside `path` and renames: a file of that name is replaced once the new one is whole.
// Entries are stored and bear no time, so that the same entries make the same file. Throws BadInput
// where it cannot be written.
void write_npz(const std::filesystem::path& path, const std::vector<NpzEntry>& entries);

}  // namespace attest::format
