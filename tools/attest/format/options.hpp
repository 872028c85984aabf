// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Options: what a capture says of its call in words, from the JSON beside the arrays.
#pragma once
#include <attest/oracle/call.hpp>

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace attest::format {

// Options are a page of text; more is a mistake, not a call.
inline constexpr std::size_t most_option_bytes = std::size_t{1} << 20;

struct Options {
  std::string dialect;  // empty where the file leaves it to the command line
  std::map<std::string, oracle::Attribute> attributes;
  std::string layout = "bhsd";
  std::map<std::string, oracle::ElementType> formats;  // arrays stored as bits in uint16 or uint8
  std::map<std::string, oracle::Attribute> precision;
  std::string subject;

  // Carried along for people and tests, never an input to a judgement; empty where not given.
  std::string verdict, diagnosis, note, detail, max_abs_error;
};

// Throws BadInput, naming the file and the key, for anything but one JSON object of known keys,
// each given once, with values of the type it asks for.
Options parse_options(std::string_view json, const std::filesystem::path& name);

}  // namespace attest::format
