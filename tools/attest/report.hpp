// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Report: what was found, in words for people and as JSON for programs.
#pragma once
#include <attest/check.hpp>
#include <attest/oracle/precision_presets.hpp>

#include <string>
#include <vector>

namespace attest::command {

// Several lines; the first names the capture and its verdict.
std::string in_words(const Outcome& outcome);

// A dialect: its source, options, arrays and conventions.
std::string in_words(const oracle::Dialect& dialect);

// A line.
std::string in_words(const oracle::PrecisionPreset& preset);

// One object for one capture, an array for several. Numbers that JSON lacks are the strings "nan",
// "inf" and "-inf"; exact values are strings of as many digits as are certain.
std::string as_json(const std::vector<Outcome>& outcomes);

// The digits of an enclosed number that its radius leaves certain, 25 at most.
std::string to_decimal(const oracle::Enclosure& exact);

}  // namespace attest::command
