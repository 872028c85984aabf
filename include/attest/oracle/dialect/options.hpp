// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Options: a call's own option names and values, asked for one by one.
#pragma once
#include <attest/oracle/call.hpp>
#include <attest/rule.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace attest::oracle {
namespace detail {

// The options of a call, each asked for by name; what nobody asked for is an error.
class Options {
 public:
  Options(const Call& call) : attributes_(call.attributes), dialect_(call.dialect) {}

  bool given(const std::string& name) {
    asked_.insert(name);
    return attributes_.count(name) != 0;
  }
  double number(const std::string& name, double otherwise) {
    if (!given(name)) return otherwise;
    const Attribute& value = attributes_.at(name);
    if (const auto* real = std::get_if<double>(&value)) return *real;
    if (const auto* integer = std::get_if<std::int64_t>(&value))
      return static_cast<double>(*integer);
    throw wrong(name, "a number");
  }
  std::int64_t integer(const std::string& name, std::int64_t otherwise) {
    if (!given(name)) return otherwise;
    if (const auto* integer = std::get_if<std::int64_t>(&attributes_.at(name))) return *integer;
    throw wrong(name, "an integer");
  }
  // true, false, 1 or 0
  bool flag(const std::string& name) {
    if (!given(name)) return false;
    const Attribute& value = attributes_.at(name);
    if (const auto* boolean = std::get_if<bool>(&value)) return *boolean;
    const auto* integer = std::get_if<std::int64_t>(&value);
    if (integer && (*integer == 0 || *integer == 1)) return *integer == 1;
    throw wrong(name, "0, 1, true or false");
  }
  std::string word(const std::string& name, std::string_view otherwise,
                   std::initializer_list<std::string_view> known) {
    if (!given(name)) return std::string(otherwise);
    const auto* text = std::get_if<std::string>(&attributes_.at(name));
    if (text && std::find(known.begin(), known.end(), *text) != known.end()) return *text;
    std::string list;
    for (std::string_view word : known)
      list += (list.empty() ? "\"" : ", \"") + std::string(word) + "\"";
    throw wrong(name, "one of " + list);
  }
  std::vector<std::int64_t> integers(const std::string& name, std::size_t count,
                                     std::vector<std::int64_t> otherwise) {
    if (!given(name)) return otherwise;
    const auto* list = std::get_if<std::vector<std::int64_t>>(&attributes_.at(name));
    if (list && list->size() == count) return *list;
    throw wrong(name, "a list of " + std::to_string(count) + " integers");
  }
  // Scale as the framework means it: 1/√d_k unless given.
  Scale scale(const std::string& name = "scale") {
    const double value = number(name, 0);
    if (!given(name)) return Scale::one_over_root_width();
    if (!std::isfinite(value)) throw wrong(name, "a finite number");
    return Scale::of(value);
  }
  Scale required_scale(const std::string& name = "scale") {
    if (!given(name)) throw wrong(name, "a number: it has no default");
    return scale(name);
  }
  // Options that decide how fast the numbers come, or in which array, but not which.
  void without_effect(std::initializer_list<const char*> names) {
    for (const char* name : names) given(name);
  }
  void no_dropout(const std::string& name) {
    if (number(name, 0) != 0) throw wrong(name, "0: dropout has no one right output");
  }
  long window(const std::string& name, std::int64_t side) {
    if (side < -1 || side > INT32_MAX) throw wrong(name, "-1 (open) or a number of keys");
    return static_cast<long>(side);
  }

  BadCall wrong(const std::string& name, const std::string& expected) const {
    return BadCall("option \"" + name + "\" of dialect " + dialect_ + ": expected " + expected);
  }
  // Every option of the call has been asked for; otherwise it means something that would be
  // ignored.
  void no_others() const {
    for (const auto& [name, value] : attributes_)
      if (!asked_.count(name)) {
        std::string known;
        for (const std::string& one : asked_) known += (known.empty() ? "" : ", ") + one;
        throw BadCall("unknown option \"" + name + "\" of dialect " + dialect_ + "; it knows " +
                      known);
      }
  }

 private:
  const std::map<std::string, Attribute>& attributes_;
  const std::string& dialect_;
  std::set<std::string> asked_;
};

}  // namespace detail
}  // namespace attest::oracle
