// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/oracle/arithmetic.hpp>
#include <attest/report.hpp>

#include <attest/findings.hpp>
#include <attest/format/bad_input.hpp>
#include <attest/oracle/scale_estimate.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <span>

namespace attest::command {
namespace {

using oracle::Element;
using oracle::OutputReport;
using oracle::Verdict;
using Json = nlohmann::ordered_json;

// As many digits as tell the numbers of the format apart.
std::string got(double value) {
  const auto narrow = static_cast<float>(value);
  return static_cast<double>(narrow) == value ? fmt::format("{}", narrow)
                                              : fmt::format("{}", value);
}

std::string expected(const oracle::Special& special) {
  std::string text;
  const auto add = [&](bool accepted, const char* word) {
    if (accepted) text += (text.empty() ? "" : " or ") + std::string(word);
  };
  add(special.nan, "nan");
  add(special.plus_infinity, "inf");
  add(special.minus_infinity, "-inf");
  add(special.zero, "0");
  return text;
}

double error(const Element& element) {
  return std::fabs((element.got - element.exact.high) - element.exact.low);
}

std::string place(const Element& element, const std::string& output) {
  const auto& [b, h, row, column] = element.index;
  if (output == "dsinks") return fmt::format("head {}", column);
  const bool scores = output == "qk_matmul_output" || output == "dattn_mask";
  const bool queries = scores || output == "out" || output == "lse" || output == "dq";
  const std::string at =
      fmt::format("batch {}, head {}, {} {}", b, h, queries ? "query" : "key", row);
  if (output == "lse") return at;
  return fmt::format("{}, {} {}", at, scores ? "key" : "column", column);
}

std::string worst_line(const Element& element, const std::string& output) {
  std::string line = fmt::format("at ({}): got {}, ", place(element, output), got(element.got));
  if (element.expected.any()) return line + "expected " + expected(element.expected);
  if (!element.enclosed) return line + "not enclosed";
  line += "exact " + to_decimal(element.exact);
  if (std::isfinite(element.got)) line += fmt::format(", off by {:.3g}", error(element));
  line += fmt::format(", allowed {:.3g}", element.allowed);
  if (element.verdict == Verdict::suspect) line += fmt::format(", likely {:.3g}", element.likely);
  if (!element.reading.empty()) line += " (" + element.reading + ")";
  if (element.beyond_hull)
    line += fmt::format("; the values it may see lie in [{}, {}]", got(element.lowest),
                        got(element.highest));
  return line;
}

// Where likely roundings are not known, the worst case is the bound.
oracle::Bound bound_of(const OutputReport& output) {
  const bool likely_known = output.worst && std::isfinite(output.worst->likely);
  return output.bound == oracle::Bound::likely && !likely_known ? oracle::Bound::worst_case
                                                                : output.bound;
}

const char* in_words(oracle::Bound bound) {
  return bound == oracle::Bound::likely ? "what independent roundings reach"
         : bound == oracle::Bound::replay
             ? "what is allowed beside the weights' roundings, replayed"
             : "what is allowed";
}

std::string output_lines(const OutputReport& output) {
  const bool copied = output.name == "present_key" || output.name == "present_value";
  std::string text = fmt::format("  {}: ", output.name);
  switch (output.verdict) {
    case Verdict::pass:
      text += copied ? fmt::format("pass, {} elements, copied bit for bit", output.elements)
                     : fmt::format("pass, {} elements", output.elements);
      if (!copied && output.worst && output.worst->excess() > 0)
        text += fmt::format(", the worst at {:.2g} of {}", output.worst->excess(),
                            in_words(bound_of(output)));
      break;
    case Verdict::fail:
      text += fmt::format(
          "FAIL, {}{} of {} elements {}", output.not_looked_at ? "at least " : "", output.failed,
          output.elements,
          copied ? "are not what was given" : "are not what the claimed arithmetic can return");
      if (output.beyond_hull)
        text +=
            fmt::format("; {} are no blend of the values their query may see", output.beyond_hull);
      if (output.not_looked_at)
        text += fmt::format("; {} were not looked at once this was certain", output.not_looked_at);
      break;
    case Verdict::suspect:
      text += fmt::format(
          "SUSPECT, {} of {} elements are further off than independent roundings reach once in a "
          "million outputs",
          output.suspected, output.elements);
      break;
    case Verdict::no_certificate:
      text += output.undecided == 0
                  ? fmt::format("no certificate, the definition leaves all {} elements open",
                                output.elements)
                  : fmt::format("no certificate for {} of {} elements, {}", output.undecided,
                                output.elements, output.worst->open);
      break;
  }
  if (output.unspecified)
    text +=
        fmt::format("; {} of them not judged, the definition leaves them open", output.unspecified);
  text += "\n";
  if (output.worst && (output.verdict != Verdict::pass || output.worst->excess() > 0))
    text += "    worst " + worst_line(*output.worst, output.name) + "\n";
  return text;
}

std::string claim_line(const oracle::Precision& claim) {
  std::string text = claim.preset.empty() ? "" : claim.preset + ": ";
  if (claim.input) text += fmt::format("inputs in {}, ", claim.input->name);
  text += fmt::format("accumulated in {}", claim.accumulate.name);
  if (claim.accumulate_output)
    text += fmt::format(" and outputs in {}", claim.accumulate_output->name);
  if (claim.truncating) text += ", cut off";
  text += fmt::format(", scores in {}, softmax in {}", claim.scores.name, claim.softmax.name);
  if (claim.exp_argument_error != 0) text += " with approximate exp2";
  text += fmt::format(", weights in {}", claim.weights.name);
  if (claim.weight_rounding) text += fmt::format(" {}", to_string(*claim.weight_rounding));
  return text + fmt::format(", output in {}", claim.output.name);
}

std::string other_reading_line(const oracle::OtherReading& other) {
  if (!other.dialects.empty())
    return fmt::format("  right under {}: {}\n", fmt::join(other.dialects, ", "), other.difference);
  return fmt::format("  right if {}, as in {}\n", other.difference, fmt::join(other.as_in, ", "));
}

// JSON has no NaN and no infinity.
Json json_number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json json_output(const OutputReport& output) {
  Json json = {{"verdict", to_string(output.verdict)},  {"shape", output.shape},
               {"elements", output.elements},           {"failed", output.failed},
               {"suspected", output.suspected},         {"undecided", output.undecided},
               {"unspecified", output.unspecified},     {"beyond_hull", output.beyond_hull},
               {"not_looked_at", output.not_looked_at}, {"bound", to_string(bound_of(output))}};
  if (output.worst) {
    const Element& element = *output.worst;
    Json worst = {{"index", element.index}, {"got", json_number(element.got)}};
    if (element.expected.any()) {
      worst["expected"] = expected(element.expected);
    } else if (element.enclosed) {
      worst["exact"] = to_decimal(element.exact);
      worst["exact_radius"] = json_number(element.exact.radius);
      worst["error"] = json_number(error(element));
      worst["allowed"] = json_number(element.allowed);
      if (std::isfinite(element.likely)) worst["likely"] = json_number(element.likely);
    }
    if (!element.reading.empty()) worst["reading"] = element.reading;
    if (!element.open.empty()) worst["open"] = element.open;
    json["worst"] = std::move(worst);
  }
  return json;
}

Json json_claim(const oracle::Precision& claim) {
  Json json = Json::object();
  if (!claim.preset.empty()) json["preset"] = claim.preset;
  if (claim.input) json["input"] = claim.input->name;
  json["accumulate"] = claim.accumulate.name;
  if (claim.accumulate_output) json["accumulate_output"] = claim.accumulate_output->name;
  json["truncating"] = claim.truncating;
  json["scores"] = claim.scores.name;
  json["softmax"] = claim.softmax.name;
  json["exp"] = claim.exp_argument_error != 0 ? "approximate-exp2" : "library";
  json["weights"] = claim.weights.name;
  if (claim.weight_rounding) json["weight_rounding"] = to_string(*claim.weight_rounding);
  json["output"] = claim.output.name;
  if (claim.tile) json["tile"] = *claim.tile;
  return json;
}

Json json_outcome(const Outcome& outcome) {
  Json json = {{"capture", outcome.capture}};
  if (!outcome.error.empty()) {
    json["error"] = outcome.error;
    return json;
  }
  const oracle::Report& report = outcome.report;
  json["subject"] = outcome.subject;
  json["dialect"] = outcome.dialect;
  if (!report.reading.empty()) json["reading"] = report.reading;
  json["verdict"] = to_string(report.verdict);
  json["claim"] = json_claim(report.claim);
  json["outputs"] = Json::object();
  for (const OutputReport& output : report.outputs)
    json["outputs"][output.name] = json_output(output);
  if (!report.other_readings.empty()) {
    json["right_if"] = Json::array();
    for (const oracle::OtherReading& other : report.other_readings)
      json["right_if"].push_back(
          {{"difference", other.difference}, {"dialects", other.dialects}, {"as_in", other.as_in}});
  }
  if (const auto& estimate = report.scale_estimate)
    json["fits_scale"] = {{"scale", json_number(estimate->scale)},
                          {"named", estimate->named},
                          {"estimate", json_number(estimate->fit.scale)},
                          {"standard_error", json_number(estimate->fit.standard_error)},
                          {"expected", json_number(estimate->fit.expected)}};
  json["not_judged"] = report.not_judged;
  if (report.verdict == Verdict::fail || report.verdict == Verdict::suspect)
    json["diagnosis"] = as_json(outcome.diagnosis);
  json["input"] = as_json(outcome.adequacy);
  return json;
}

}  // namespace

std::string to_decimal(const oracle::Enclosure& exact) {
  const oracle::Wide value = oracle::Wide(exact.high) + exact.low;
  if (value == 0) return "0";
  const double relative = exact.radius / std::fabs(exact.high);
  const double certain = relative > 0 ? -std::log10(relative) : 25;
  const auto digits = static_cast<std::streamsize>(std::clamp(std::floor(certain), 1.0, 25.0));
  return value.str(digits, std::ios_base::fmtflags(0));
}

std::string in_words(const Outcome& outcome) {
  if (!outcome.error.empty()) return "attest: " + outcome.error + "\n";
  const oracle::Report& report = outcome.report;
  const char* verdict = report.verdict == Verdict::pass      ? "PASS"
                        : report.verdict == Verdict::fail    ? "FAIL"
                        : report.verdict == Verdict::suspect ? "SUSPECT"
                                                             : "NO CERTIFICATE";
  std::string text = fmt::format("{}: {}\n", format::printable_path(outcome.capture), verdict);
  if (!outcome.subject.empty()) text += "  of " + format::one_line(outcome.subject) + "\n";
  text += fmt::format("  as {}{}\n", outcome.dialect,
                      report.reading.empty() ? "" : ", " + report.reading);
  text += "  " + claim_line(report.claim) + "\n";
  for (const OutputReport& output : report.outputs) text += output_lines(output);
  for (const oracle::OtherReading& other : report.other_readings) text += other_reading_line(other);
  if (report.scale_estimate) text += "  " + oracle::in_words(*report.scale_estimate) + "\n";
  text += in_words(outcome.diagnosis);
  text += in_words(outcome.adequacy, report.verdict == Verdict::pass);
  for (const std::string& name : report.not_judged) text += "  " + name + ": not judged yet\n";
  return text;
}

std::string in_words(const oracle::Dialect& dialect) {
  std::string text = fmt::format("{}: {}\n  {}\n", dialect.name, dialect.what, dialect.source);
  const auto add = [&](const char* title, std::span<const oracle::Term> terms) {
    text += fmt::format("{}\n", title);
    for (const oracle::Term& term : terms)
      text += fmt::format("  {}\n      {}\n", term.name, term.meaning);
  };
  add("options, and what they are by default", dialect.options);
  add("arrays beside q, k, v and out", dialect.arrays);
  if (!dialect.conventions) return text;
  const oracle::Conventions& by = *dialect.conventions;
  text += "conventions\n";
  if (by.alignment) text += fmt::format("  {}\n", oracle::in_words(*by.alignment));
  text += fmt::format("  {}\n", oracle::in_words(by.empty_row));
  if (by.window) text += fmt::format("  {}\n", oracle::in_words(*by.window));
  if (by.causal_ignores_mask) text += "  a causal call ignores its mask\n";
  return text;
}

std::string in_words(const oracle::PrecisionPreset& preset) {
  return fmt::format("{:21}{}\n", preset.name, preset.what);
}

std::string as_json(const std::vector<Outcome>& outcomes) {
  const auto dump = [](const Json& json) {  // a path may be no UTF-8, which JSON must be
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  };
  if (outcomes.size() == 1) return dump(json_outcome(outcomes.front()));
  Json array = Json::array();
  for (const Outcome& outcome : outcomes) array.push_back(json_outcome(outcome));
  return dump(array);
}

}  // namespace attest::command
