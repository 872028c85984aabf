// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A NumPy archive (.npz): named arrays in a zip file, stored or deflated.
#pragma once
#include <attest/format/npy.hpp>

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>

namespace attest::format {

// More than any capture holds, and few enough to look at one by one.
inline constexpr std::size_t most_entries = 64;

using NpzArrays = std::map<std::string, NpyArray>;  // by name, without ".npy"

// The arrays of an archive; throws BadInput where it is not one. Nothing is written to disk, names
// are only names. Memory stays in proportion to the file whatever it claims of itself: nothing is
// allocated for a size that deflate could not make of the bytes that are there.
NpzArrays read_npz(const std::filesystem::path& path);

// The same for an archive in memory, called `name` in messages.
NpzArrays read_npz(std::span<const std::byte> archive, const std::filesystem::path& name);

}  // namespace attest::format
