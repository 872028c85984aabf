// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/format/bad_input.hpp>
#include <attest/format/capture.hpp>
#include <attest/format/write_npz.hpp>
#include <attest/reference.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <exception>
#include <new>
#include <string_view>

namespace attest::command {
namespace {

using oracle::Certificate;
using oracle::ElementType;
using oracle::ReferenceArray;
using Json = nlohmann::ordered_json;

// More would not help to find out why.
constexpr std::size_t most_places_listed = 100;

ElementType element_type(const std::string& name) {
  std::string known;
  for (const oracle::ElementTypeFacts& facts : oracle::element_types) {
    if (!facts.format) continue;
    if (facts.name == name) return facts.type;
    known += (known.empty() ? "" : ", ") + std::string(facts.name);
  }
  throw oracle::BadCall("--format: found \"" + name + "\", expected one of " + known);
}

bool stored_as_bits(ElementType type) {
  return type == ElementType::bfloat16 || type == ElementType::float8_e4m3fn ||
         type == ElementType::float8_e5m2;
}

oracle::Shape place_of(std::size_t element, const oracle::Shape& shape) {
  oracle::Shape place(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; element /= shape[axis])
    place[axis] = element % shape[axis];
  return place;
}

Json json_of(const ReferenceArray& array) {
  Json json = {{"format", oracle::facts(array.type).name},
               {"shape", array.shape},
               {"elements", array.elements.size()},
               {"certified_by", Json::object()}};
  for (std::size_t i = 0; i < oracle::certificates; ++i)
    if (const auto certificate = static_cast<Certificate>(i);
        certificate != Certificate::not_certified && array.count[i] != 0)
      json["certified_by"][to_string(certificate)] = array.count[i];
  json["widest_interval"] = array.widest;
  json["not_certified"] = array.certified_by(Certificate::not_certified);
  Json places = Json::array();
  for (std::size_t element = 0; element < array.elements.size(); ++element)
    if (array.elements[element].certificate == Certificate::not_certified &&
        places.size() < most_places_listed)
      places.push_back(place_of(element, array.shape));
  if (!places.empty()) json["not_certified_at"] = std::move(places);
  return json;
}

}  // namespace

std::string certificate_json(const ReferenceOutcome& outcome) {
  Json json = {{"dialect", outcome.dialect}, {"formats", Json::object()}};
  for (const ReferenceArray& array : outcome.arrays)
    if (stored_as_bits(array.type)) json["formats"][array.name] = oracle::facts(array.type).name;
  json["arrays"] = Json::object();
  for (const ReferenceArray& array : outcome.arrays) json["arrays"][array.name] = json_of(array);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string in_words(const ReferenceOutcome& outcome) {
  std::string text = fmt::format("  as {}\n", outcome.dialect);
  for (const ReferenceArray& array : outcome.arrays) {
    text += fmt::format("  {}: {} elements of {}", array.name, array.elements.size(),
                        oracle::facts(array.type).name);
    const char* before = "; certified by ";
    for (std::size_t i = 0; i < oracle::certificates; ++i) {
      const auto certificate = static_cast<Certificate>(i);
      if (array.count[i] == 0 || certificate == Certificate::not_certified) continue;
      text += fmt::format("{}{}: {}", before, to_string(certificate), array.count[i]);
      before = ", ";
    }
    if (const std::size_t open = array.certified_by(Certificate::not_certified); open != 0)
      text += fmt::format("; NOT CERTIFIED: {}", open);
    text += "\n";
  }
  return text;
}

ReferenceOutcome write_reference(const std::string& capture, const std::string& to,
                                 const ReferenceOptions& options) {
  ReferenceOutcome outcome;
  const std::string where = format::printable_path(capture);
  try {
    format::Capture loaded = format::load_capture(capture);
    if (!options.dialect.empty()) loaded.call.dialect = options.dialect;
    outcome.dialect = loaded.call.dialect;
    oracle::ReferenceOptions wanted;
    if (!options.format.empty()) wanted.type = element_type(options.format);
    outcome.arrays = oracle::reference(loaded.call, wanted);
    std::vector<format::NpzEntry> entries;
    for (const ReferenceArray& array : outcome.arrays)
      entries.push_back(
          {array.name + ".npy", format::npy_file(array.type, array.shape, array.bytes)});
    entries.push_back({"certificate.json", certificate_json(outcome)});
    format::write_npz(to, entries);
  } catch (const format::BadInput& bad) {
    outcome.error = bad.what();
  } catch (const oracle::BadCall& bad) {
    outcome.error = where + ": " + format::one_line(bad.what());
  } catch (const std::bad_alloc&) {
    outcome.error = where + ": not enough memory for its reference";
  } catch (const std::exception& unforeseen) {
    outcome.error = where + ": " + format::one_line(unforeseen.what());
  }
  return outcome;
}

int exit_code(const ReferenceOutcome& outcome) {
  if (!outcome.error.empty()) return 2;
  const bool certified =
      std::all_of(outcome.arrays.begin(), outcome.arrays.end(), [](const ReferenceArray& array) {
        return array.certified_by(Certificate::not_certified) == 0;
      });
  return certified ? 0 : 3;
}

}  // namespace attest::command
