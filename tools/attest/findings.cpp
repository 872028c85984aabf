// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/findings.hpp>

#include <attest/oracle/dialect.hpp>
#include <attest/oracle/fault.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace attest::command {
namespace {

using oracle::Adequacy;
using oracle::BlindSpot;
using oracle::Diagnosis;
using oracle::Fault;
using oracle::FaultCase;
using oracle::Finding;
using Json = nlohmann::ordered_json;

std::string name_of(const Finding& finding) {
  std::string text = finding.in_words();
  std::vector<std::string> others;
  for (const double setting : finding.also) {
    const std::string other = FaultCase{&finding.fault(), setting}.in_words();
    const bool said = finding.fault().words == nullptr || text.starts_with(other) ||
                      std::find(others.begin(), others.end(), other) != others.end();
    if (!said) others.push_back(other);
  }
  constexpr std::size_t most = 2;
  if (!others.empty()) {
    text += " (or " + others[0];
    for (std::size_t n = 1; n < std::min(most, others.size()); ++n) text += "; " + others[n];
    text += others.size() > most ? "; …)" : ")";
  }
  return text;
}

std::string explained(const Finding& finding) {
  std::string text;
  std::set<std::string> said;
  for (const FaultCase& one : finding.faults) {
    text += fmt::format("    {}\n    usually: {}\n", one.fault->what, one.fault->cause);
    if (!one.fault->seen.empty() && said.insert(std::string(one.fault->seen)).second)
      text += fmt::format("    reported for instance in {}\n", one.fault->seen);
  }
  return text;
}

std::string examined(std::size_t rows, std::size_t all_rows) {
  return rows < all_rows ? fmt::format(", by {} of {} rows", rows, all_rows) : "";
}

// Blind spots of one reason together, in their order.
std::vector<std::pair<std::string, std::vector<std::string>>> by_reason(const Adequacy& adequacy,
                                                                        bool extremes) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const BlindSpot& spot : adequacy.blind) {
    if (spot.needs_extremes != extremes) continue;
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const auto& group) { return group.first == spot.why; });
    const std::string name(spot.fault.fault->name);
    if (same == groups.end())
      groups.push_back({spot.why, {name}});
    else
      same->second.push_back(name);
  }
  return groups;
}

std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t n = 0; n < std::min(most, names.size()); ++n) text += (n ? ", " : "") + names[n];
  if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
  return text;
}

// JSON has no infinity.
Json json_number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

}  // namespace

std::string in_words(const Diagnosis& diagnosis) {
  if (diagnosis.findings.empty() && diagnosis.hints.empty()) return "";
  const std::string by = examined(diagnosis.rows, diagnosis.all_rows) +
                         (diagnosis.reading.empty() ? "" : ", as " + diagnosis.reading);
  std::string text;
  if (diagnosis.of_suspect) {
    text = "  diagnosis: none, since nothing is certainly wrong\n";
    for (const std::string& hint : diagnosis.hints) text += "    " + hint + "\n";
  } else if (diagnosis.findings.empty()) {
    text = fmt::format("  diagnosis: no fault that attest faults lists returns this{}\n", by);
    for (const std::string& hint : diagnosis.hints) text += "    " + hint + "\n";
  } else if (diagnosis.findings.size() == 1) {
    const Finding& only = diagnosis.findings.front();
    text = only.as_inaccurate
               ? fmt::format("  diagnosis: less accurate than claimed, as by: {}{}\n",
                             name_of(only), by)
               : fmt::format("  diagnosis: {}{}\n", name_of(only), by);
    text += explained(only);
  } else {
    constexpr std::size_t most = 6;
    text = fmt::format("  diagnosis: one of {}, which this input does not tell apart{}\n",
                       diagnosis.findings.size(), by);
    for (std::size_t n = 0; n < std::min(most, diagnosis.findings.size()); ++n) {
      const Finding& one = diagnosis.findings[n];
      text += fmt::format("    {}. {}\n", n + 1, name_of(one));
      if (n == 0)
        text += fmt::format("       {}\n       usually: {}\n", one.fault().what, one.fault().cause);
    }
    if (diagnosis.findings.size() > most)
      text += fmt::format("    and {} more\n", diagnosis.findings.size() - most);
  }
  if (!diagnosis.complete)
    text += "    there was no time to try every fault, and every two together\n";
  return text;
}

std::string in_words(const Adequacy& adequacy, bool passes) {
  if (adequacy.applicable == 0) return "";
  std::string text =
      fmt::format("  input: shows {}{} of the {} faults that may strike such a call{}\n",
                  adequacy.sampled() ? "at least " : "", adequacy.shown, adequacy.applicable,
                  examined(adequacy.rows, adequacy.all_rows));
  for (const auto& [why, names] : by_reason(adequacy, false))
    text += fmt::format("    not {}: {}\n", some_of(names), why);
  std::size_t extremes = 0;
  for (const BlindSpot& spot : adequacy.blind) extremes += spot.needs_extremes;
  if (extremes)
    text += fmt::format("    not {} that only numbers near the end of a format's range show\n",
                        extremes);
  if (passes && !adequacy.adequate())
    text += "    this input is inadequate: that it passes says nothing about these\n";
  return text;
}

Json as_json(const Diagnosis& diagnosis) {
  Json json = {{"faults", Json::array()}};
  if (diagnosis.of_suspect) json["of_suspect"] = true;
  for (const Finding& finding : diagnosis.findings) {
    Json one = {{"words", name_of(finding)}, {"names", Json::array()}};
    for (const FaultCase& part : finding.faults) {
      one["names"].push_back(std::string(part.fault->name));
      if (part.fault->words) one["settings"].push_back(json_number(part.setting));
    }
    one["place"] = finding.irregular ? "some rows" : finding.place.in_words();
    one["what"] = std::string(finding.fault().what);
    one["usually"] = std::string(finding.fault().cause);
    if (!finding.fault().seen.empty()) one["reported"] = std::string(finding.fault().seen);
    if (finding.as_inaccurate) one["by_its_bound"] = true;
    one["closeness"] = json_number(finding.closeness);
    json["faults"].push_back(std::move(one));
  }
  json["unique"] = diagnosis.unique();
  json["hints"] = diagnosis.hints;
  if (!diagnosis.reading.empty()) json["reading"] = diagnosis.reading;
  json["rows"] = diagnosis.rows;
  json["all_rows"] = diagnosis.all_rows;
  json["complete"] = diagnosis.complete;
  return json;
}

Json as_json(const Adequacy& adequacy) {
  Json json = {{"applicable", adequacy.applicable}, {"shown", adequacy.shown},
               {"adequate", adequacy.adequate()},   {"rows", adequacy.rows},
               {"all_rows", adequacy.all_rows},     {"blind", Json::array()}};
  for (const BlindSpot& spot : adequacy.blind)
    json["blind"].push_back({{"name", std::string(spot.fault.fault->name)},
                             {"words", spot.fault.in_words()},
                             {"why", spot.why},
                             {"moved", json_number(spot.moved)},
                             {"needs_extremes", spot.needs_extremes}});
  return json;
}

std::string all_faults() {
  std::string text;
  oracle::FaultFamily family = oracle::FaultFamily::scale;
  for (const Fault& fault : oracle::faults()) {
    if (text.empty() || fault.family != family)
      text += fmt::format("{}{}\n", text.empty() ? "" : "\n", oracle::in_words(fault.family));
    family = fault.family;
    text += fmt::format("  {}\n      {}\n", fault.name, fault.what);
  }
  return text;
}

std::string one_fault(const std::string& name) {
  const Fault* found = oracle::find_fault(name);
  if (!found) return "";
  const Fault& fault = *found;
  std::string text = fmt::format("{}, of the {}\n  {}\n  usually: {}\n", fault.name,
                                 oracle::in_words(fault.family), fault.what, fault.cause);
  if (!fault.seen.empty()) text += fmt::format("  reported for instance in {}\n", fault.seen);
  const oracle::Example smallest = fault.smallest();
  const oracle::Problem problem = oracle::read_problem(smallest.call);
  if (fault.words) {
    text += "  tried as\n";
    for (const FaultCase& one : oracle::cases_of(fault, problem))
      text += fmt::format("      {}\n", one.in_words());
  }
  text += "  shown by\n";
  for (const auto& [called, array] : smallest.call.arrays) {
    if (called == "out" || array.size() > 12) continue;
    std::string numbers;
    for (std::size_t n = 0; n < array.size(); ++n)
      numbers += fmt::format("{}{}", n ? ", " : "",
                             array.number_at(array.data + n * oracle::facts(array.type).bytes));
    text += fmt::format("      {} {} [{}]\n", called, oracle::to_string(array.shape), numbers);
  }
  return text;
}

}  // namespace attest::command
