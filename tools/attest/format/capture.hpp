// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Capture: one call of attention out of a file, with the memory its arrays lie in.
#pragma once
#include <attest/format/npz.hpp>
#include <attest/format/options.hpp>
#include <attest/oracle/call.hpp>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace attest::format {

// Movable, not copyable: the tensors of `call` look into `buffers`, which keep their place in
// memory when the capture moves.
struct Capture {
  oracle::Call call;

  // Carried along for people and tests, never an input to a judgement; empty where not given.
  std::string verdict, diagnosis, note, detail, max_abs_error;

  NpzArrays buffers;

  Capture() = default;
  Capture(Capture&&) = default;
  Capture& operator=(Capture&&) = default;
};

// NAME.npz and the NAME.json beside it. Throws BadInput where either is not what a capture is made
// of; whether the arrays fit together is for the reader of the call to say.
Capture load_capture(const std::filesystem::path& npz_path);

// The same for files in memory; the names serve messages.
Capture parse_capture(std::span<const std::byte> npz, const std::filesystem::path& npz_name,
                      std::string_view json, const std::filesystem::path& json_name);

}  // namespace attest::format
