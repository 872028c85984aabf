// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Findings: which fault an output shows, which faults its input could have shown, and the catalogue
// itself, in words for people and as JSON for programs.
#pragma once
#include <attest/oracle/diagnosis/finding.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace attest::command {

// Some lines, indented as those of a report are. Empty: there is nothing to say.
std::string in_words(const oracle::Diagnosis& diagnosis);
// `passes`: the call does, so that what its input does not show may be there.
std::string in_words(const oracle::Adequacy& adequacy, bool passes);

nlohmann::ordered_json as_json(const oracle::Diagnosis& diagnosis);
nlohmann::ordered_json as_json(const oracle::Adequacy& adequacy);

// The catalogue, each fault under its family; and one fault: what it is, what causes it, where it
// was met and what shows it. Empty: none is called so.
std::string all_faults();
std::string one_fault(const std::string& name);

}  // namespace attest::command
