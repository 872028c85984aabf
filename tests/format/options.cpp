// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The options: each key with each kind of value it may have; anything else is refused in one line
// that names the key.
#include "catch.hpp"

#include <attest/format/options.hpp>

#include <cstdint>
#include <limits>

#include "files.hpp"

using attest::format::Options;
using attest::format::parse_options;
using attest::oracle::Attribute;
using attest::oracle::ElementType;

namespace {

Options parse(std::string_view json) {
  return parse_options(json, "x.json");
}

std::string refused(std::string_view json) {
  return files::refusal([&] { parse(json); });
}

Attribute attribute(std::string_view value) {
  return parse("{\"attributes\": {\"a\": " + std::string(value) + "}}").attributes.at("a");
}

std::string refused_attribute(std::string_view value) {
  return refused("{\"attributes\": {\"a\": " + std::string(value) + "}}");
}

}  // namespace

TEST_CASE("every key is read") {
  const Options options = parse(R"({
    "dialect": "onnx-24", "layout": "bshd", "subject": "s", "note": "n", "verdict": "right",
    "diagnosis": "d", "detail": "e", "max_abs_error": "1.3",
    "attributes": {"is_causal": 1, "scale": 0.5},
    "precision": {"accumulate": "float32", "tile": 64},
    "formats": {"q": "bfloat16", "k": "float8_e4m3fn", "v": "float8_e5m2"}})");
  CHECK(options.dialect == "onnx-24");
  CHECK(options.layout == "bshd");
  CHECK(options.subject == "s");
  CHECK(options.note == "n");
  CHECK(options.verdict == "right");
  CHECK(options.diagnosis == "d");
  CHECK(options.detail == "e");
  CHECK(options.max_abs_error == "1.3");
  CHECK(options.attributes.size() == 2);
  CHECK(options.attributes.at("is_causal") == Attribute(std::int64_t{1}));
  CHECK(options.attributes.at("scale") == Attribute(0.5));
  CHECK(options.precision.size() == 2);
  CHECK(options.precision.at("accumulate") == Attribute(std::string("float32")));
  CHECK(options.precision.at("tile") == Attribute(std::int64_t{64}));
  CHECK(options.formats == std::map<std::string, ElementType>{{"q", ElementType::bfloat16},
                                                              {"k", ElementType::float8_e4m3fn},
                                                              {"v", ElementType::float8_e5m2}});
}

TEST_CASE("a precision may be a preset's name alone") {
  const auto options = parse_options(R"({"dialect": "plain", "precision": "fp8-e4m3"})", "x.json");
  CHECK(options.precision.size() == 1);
  CHECK(options.precision.at("preset") == Attribute(std::string("fp8-e4m3")));
}

TEST_CASE("what is not given keeps its default") {
  const Options options = parse("{}");
  CHECK(options.dialect.empty());
  CHECK(options.layout == "bhsd");
  CHECK(options.attributes.empty());
  CHECK(options.formats.empty());
  CHECK(options.precision.empty());
}

TEST_CASE("attributes keep the type they are written in") {
  CHECK(attribute("true") == Attribute(true));
  CHECK(attribute("1") == Attribute(std::int64_t{1}));
  CHECK(attribute("1.0") == Attribute(1.0));
  CHECK(attribute("1e3") == Attribute(1000.0));
  CHECK(attribute("0.17677669529663687") == Attribute(0.17677669529663687));
  CHECK(attribute("\"none\"") == Attribute(std::string("none")));
  CHECK(attribute("[-1, 0]") == Attribute(std::vector<std::int64_t>{-1, 0}));
  CHECK(attribute("[]") == Attribute(std::vector<std::int64_t>{}));
  CHECK(attribute("9223372036854775807") == Attribute(std::numeric_limits<std::int64_t>::max()));
  CHECK(attribute("-9223372036854775808") == Attribute(std::numeric_limits<std::int64_t>::min()));
}

TEST_CASE("an attribute of a type no framework has is refused") {
  const std::string expected = ", expected true, false, a number, a text or a list of integers";
  CHECK(refused_attribute("null") == "x.json: key \"attributes.a\": found null" + expected);
  CHECK(refused_attribute("{}") == "x.json: key \"attributes.a\": found an object" + expected);
  CHECK(refused_attribute("[1, 0.5]") ==
        "x.json: key \"attributes.a\": found the number 0.5 in the list, expected integers");
  CHECK(refused_attribute("[1, [2]]") ==
        "x.json: key \"attributes.a\": found a list in the list, expected integers");
  CHECK(refused_attribute("[true]") ==
        "x.json: key \"attributes.a\": found true in the list, expected integers");
}

TEST_CASE("a number that would be another one in memory is refused") {
  const std::string expected = ", expected an integer of 64 bits";
  CHECK(refused_attribute("9223372036854775808") ==
        "x.json: key \"attributes.a\": found the number 9223372036854775808" + expected);
  CHECK(refused_attribute("-9223372036854775809") ==
        "x.json: key \"attributes.a\": found the number -9223372036854775809" + expected);
  CHECK(refused_attribute("100000000000000000000000") ==
        "x.json: key \"attributes.a\": found the number 100000000000000000000000" + expected);
  CHECK(refused_attribute("[1, 18446744073709551616]") ==
        "x.json: key \"attributes.a[1]\": found the number 18446744073709551616" + expected);
  CHECK(refused_attribute("1e999") ==
        "x.json: key \"attributes.a\": found the number 1e999, more than a double holds");
  for (const char* value : {"NaN", "Infinity", "-Infinity"}) {
    CAPTURE(value);
    CHECK(refused_attribute(value).starts_with("x.json: line 1, column 2"));
  }
}

TEST_CASE("keys that are unknown or given twice are refused") {
  CHECK(refused(R"({"dialekt": "torch"})") ==
        "x.json: key \"dialekt\": is unknown; expected dialect, attributes, layout, formats, "
        "precision, subject, note, verdict, diagnosis, detail or max_abs_error");
  CHECK(refused(R"({"note": "a", "note": "b"})") == "x.json: key \"note\": is there twice");
  CHECK(refused(R"({"attributes": {"a": 1, "b": 2, "a": 1}})") ==
        "x.json: key \"attributes.a\": is there twice");
  CHECK(refused("{\"a\\nb\\u0007\": 1}").starts_with("x.json: key \"a\\x0ab\\x07\": is unknown"));
}

TEST_CASE("values of the wrong type are refused") {
  CHECK(refused("[]") ==
        "x.json: found a list, expected an object such as {\"dialect\": \"onnx-24\"}");
  CHECK(refused("1") ==
        "x.json: found the number 1, expected an object such as {\"dialect\": \"onnx-24\"}");
  for (const std::string key :
       {"dialect", "subject", "note", "verdict", "diagnosis", "detail", "max_abs_error"})
    CHECK(refused("{\"" + key + "\": 24}") ==
          "x.json: key \"" + key + "\": found the number 24, expected a text");
  for (const std::string key : {"attributes", "formats"})
    CHECK(refused("{\"" + key + "\": \"none\"}") ==
          "x.json: key \"" + key + "\": found the text \"none\", expected an object");
  CHECK(refused(R"({"precision": 24})") ==
        "x.json: key \"precision\": found the number 24, expected a preset's name or an object");
  CHECK(refused(R"({"layout": "sbhd"})") ==
        "x.json: key \"layout\": found the text \"sbhd\", expected \"bhsd\" or \"bshd\"");
  CHECK(refused(R"({"layout": 4})") ==
        "x.json: key \"layout\": found the number 4, expected \"bhsd\" or \"bshd\"");
  CHECK(refused(R"({"formats": {"q": "float32"}})") ==
        "x.json: key \"formats.q\": found the text \"float32\", expected \"bfloat16\", "
        "\"float8_e4m3fn\" or \"float8_e5m2\"");
  CHECK(refused(R"({"formats": {"q": 16}})") ==
        "x.json: key \"formats.q\": found the number 16, expected \"bfloat16\", "
        "\"float8_e4m3fn\" or \"float8_e5m2\"");
}

TEST_CASE("text that is not JSON is refused at its line and column") {
  CHECK(refused("").starts_with("x.json: line 1, column 1: "));
  CHECK(refused("{\n\"note\": 'a'}").starts_with("x.json: line 2, column 9: "));
  CHECK(refused("{} {}").starts_with("x.json: line 1, column 4: "));
  CHECK(refused("{\"note\": \"\xff\"}").starts_with("x.json: line 1, column 11: "));
  for (const std::string& text : {std::string("{\"a\": \"\n\"}"), "{\"" + std::string(5000, 'a')}) {
    const std::string message = refused(text);
    CHECK(message != "accepted");
    CHECK(message.find('\n') == std::string::npos);
    CHECK(message.size() < 300);
  }
}

TEST_CASE("nesting without end does not overflow the stack") {
  const std::string deep(500'000, '[');
  CHECK(refused(deep) == "x.json: lists and objects are nested more than 8 deep");
  CHECK(refused_attribute(deep) == "x.json: lists and objects are nested more than 8 deep");
}

TEST_CASE("options of more than a megabyte are refused") {
  CHECK(refused(std::string((1 << 20) + 1, ' ')) ==
        "x.json: is 1048577 bytes of options; expected at most 1048576");
}
