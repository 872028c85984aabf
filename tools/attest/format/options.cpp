// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/format/options.hpp>

#include <attest/format/bad_input.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace attest::format {
namespace {

using Json = nlohmann::json;
using oracle::Attribute;
using oracle::ElementType;

// Options need three levels; the rest is room for saying what is wrong with a fourth.
constexpr std::size_t most_levels = 8;

std::string with_key(const std::string& where, std::string_view key) {
  return fmt::format("{}: key \"{}\"", where, printable(key));
}

// Builds the value that the parser reads, and refuses on the way what JSON leaves open: keys given
// twice, integers that only a double would hold, nesting without end.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(const std::string& where) : where_(where) {}

  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override {
    if (value > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
      fail_too_large(std::to_string(value));
    return add(static_cast<std::int64_t>(value));
  }
  bool number_float(double value, const std::string& digits) override {
    if (digits.find_first_of(".eE") == std::string::npos) fail_too_large(digits);
    return add(value);
  }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(Json::binary_t&) override { return false; }  // not in JSON text

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    open_.back().key = name;
    if (open_.back().value->contains(name)) fail(with_key(where_, path()), "is there twice");
    return true;
  }

  bool parse_error(std::size_t, const std::string& token, const Json::exception& error) override {
    if (dynamic_cast<const Json::out_of_range*>(&error))
      fail(with_key(where_, path()),
           fmt::format("found the number {}, more than a double holds", printable(token, 40)));
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..." from "line" on.
    std::string_view text = error.what();
    text.remove_prefix(std::min(text.size(), text.find("] ") + 2));
    constexpr std::string_view opening = "parse error at ";
    if (text.starts_with(opening)) text.remove_prefix(opening.size());
    fail(where_, printable(text, 200));
  }

 private:
  struct Level {
    Json* value;
    std::string key;  // of the member being read
  };

  std::string path() const {
    std::string path;
    for (const Level& level : open_) {
      if (level.value->is_array())
        path += fmt::format("[{}]", level.value->size());
      else
        path += (path.empty() ? "" : ".") + level.key;
    }
    return path;
  }

  [[noreturn]] void fail_too_large(std::string_view digits) {
    fail(with_key(where_, path()),
         fmt::format("found the number {}, expected an integer of 64 bits", printable(digits, 40)));
  }

  Json& place(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    Level& level = open_.back();
    if (level.value->is_object()) return (*level.value)[level.key] = std::move(value);
    level.value->push_back(std::move(value));
    return level.value->back();
  }

  bool add(Json value) {
    place(std::move(value));
    return true;
  }

  bool open(Json empty) {
    if (open_.size() == most_levels)
      fail(where_, fmt::format("lists and objects are nested more than {} deep", most_levels));
    open_.push_back({&place(std::move(empty)), {}});
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& where_;
  Json root_;
  std::vector<Level> open_;
};

std::string in_words(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (value.is_string())
    return fmt::format("the text \"{}\"", printable(value.get_ref<const std::string&>()));
  return value.is_number() ? "the number " + value.dump() : value.dump();
}

[[noreturn]] void fail_found(const std::string& where, const Json& value,
                             std::string_view expected) {
  fail(where, fmt::format("found {}, expected {}", in_words(value), expected));
}

std::string to_text(const Json& value, const std::string& where) {
  if (!value.is_string()) fail_found(where, value, "a text");
  return value.get<std::string>();
}

std::string to_layout(const Json& value, const std::string& where) {
  if (value != "bhsd" && value != "bshd") fail_found(where, value, "\"bhsd\" or \"bshd\"");
  return value.get<std::string>();
}

Attribute to_attribute(const Json& value, const std::string& where) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array())
    fail_found(where, value, "true, false, a number, a text or a list of integers");
  std::vector<std::int64_t> integers;
  for (const Json& item : value) {
    if (!item.is_number_integer())
      fail(where, fmt::format("found {} in the list, expected integers", in_words(item)));
    integers.push_back(item.get<std::int64_t>());
  }
  return integers;
}

ElementType to_format(const Json& value, const std::string& where) {
  for (ElementType type :
       {ElementType::bfloat16, ElementType::float8_e4m3fn, ElementType::float8_e5m2})
    if (value == oracle::facts(type).name) return type;
  fail_found(where, value, "\"bfloat16\", \"float8_e4m3fn\" or \"float8_e5m2\"");
}

// The members of the object under `key`, each converted by `convert`.
template <class T>
std::map<std::string, T> members(const Json& value, const std::string& where, std::string_view key,
                                 T convert(const Json&, const std::string&)) {
  if (!value.is_object()) fail_found(with_key(where, key), value, "an object");
  std::map<std::string, T> result;
  for (const auto& [name, member] : value.items())
    result.emplace(name, convert(member, with_key(where, fmt::format("{}.{}", key, name))));
  return result;
}

}  // namespace

Options parse_options(std::string_view json, const std::filesystem::path& name) {
  const std::string where = printable_path(name);
  if (json.size() > most_option_bytes)
    fail(where, fmt::format("is {} bytes of options; expected at most {}", json.size(),
                            most_option_bytes));
  Builder builder(where);
  Json::sax_parse(json, &builder);
  const Json root = builder.take();
  if (!root.is_object()) fail_found(where, root, "an object such as {\"dialect\": \"onnx-24\"}");

  Options options;
  const std::pair<std::string_view, std::string*> texts[] = {
      {"dialect", &options.dialect},
      {"subject", &options.subject},
      {"note", &options.note},
      {"verdict", &options.verdict},
      {"diagnosis", &options.diagnosis},
      {"detail", &options.detail},
      {"max_abs_error", &options.max_abs_error}};
  for (const auto& [key, value] : root.items()) {
    const auto* text = std::find_if(std::begin(texts), std::end(texts),
                                    [&](const auto& entry) { return entry.first == key; });
    if (text != std::end(texts))
      *text->second = to_text(value, with_key(where, key));
    else if (key == "layout")
      options.layout = to_layout(value, with_key(where, key));
    else if (key == "attributes")
      options.attributes = members(value, where, key, to_attribute);
    else if (key == "precision" && value.is_string())
      options.precision["preset"] = value.get<std::string>();
    else if (key == "precision" && !value.is_object())
      fail_found(with_key(where, key), value, "a preset's name or an object");
    else if (key == "precision")
      options.precision = members(value, where, key, to_attribute);
    else if (key == "formats")
      options.formats = members(value, where, key, to_format);
    else
      fail(with_key(where, key),
           "is unknown; expected dialect, attributes, layout, formats, precision, subject, note, "
           "verdict, diagnosis, detail or max_abs_error");
  }
  return options;
}

}  // namespace attest::format
