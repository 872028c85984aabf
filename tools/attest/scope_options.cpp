// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/scope_options.hpp>

#include <attest/oracle/needle/dialects.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cstddef>
#include <utility>
#include <vector>

namespace attest::command {
namespace {

struct ExtentName {
  const char* name;
  oracle::Extent oracle::Scope::*extent;
};
constexpr ExtentName extents[] = {
    {"batches", &oracle::Scope::batches}, {"heads", &oracle::Scope::query_heads},
    {"queries", &oracle::Scope::queries}, {"keys", &oracle::Scope::keys},
    {"width", &oracle::Scope::width},     {"value-width", &oracle::Scope::value_width},
};

// 64, 1:64 or 16:128:16, the last a number that it is a multiple of.
oracle::Extent extent_of(const std::string& name, const std::string& text) {
  std::vector<std::size_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    std::size_t number = 0;
    const auto parsed = std::from_chars(at, end, number);
    constexpr std::size_t most = 4096;
    if (parsed.ec != std::errc() || number == 0 || number > most) break;
    numbers.push_back(number);
    at = parsed.ptr;
    if (at == end || *at != ':') break;
    ++at;
  }
  oracle::Extent extent{numbers.empty() ? 0 : numbers[0], numbers.empty() ? 0 : numbers.back(), 1};
  if (numbers.size() >= 2) extent.most = numbers[1];
  if (numbers.size() == 3) extent.multiple_of = numbers[2];
  if (at != end || numbers.empty() || numbers.size() > 3 || !extent.holds(extent.nearest(1)))
    throw oracle::BadCall(fmt::format(
        "--{}: found {}, expected N, LEAST:MOST or LEAST:MOST:MULTIPLE, each from 1 to 4096", name,
        text));
  return extent;
}

}  // namespace

ScopeOptions::ScopeOptions(CLI::App& command) {
  std::vector<std::string_view> names;
  for (const oracle::FeatureName& one : oracle::feature_names) names.push_back(one.name);
  command
      .add_option("--for", features_,
                  fmt::format("what may be asked of it, separated by commas; all, none, or of {}",
                              fmt::join(names, ", ")))
      ->capture_default_str()
      ->type_name("LIST");
  command.add_option("--dialect", dialect_, "whose options and definition")->capture_default_str();
  command.add_option("--type", type_, "format of q, k, v and out")->capture_default_str();
  command.add_option("--precision", precision_,
                     "the arithmetic claimed: see attest precisions; by default the usual");
  for (const ExtentName& one : extents)
    command.add_option(std::string("--") + one.name, extents_[one.name],
                       "N, LEAST:MOST or LEAST:MOST:MULTIPLE");
}

oracle::Scope ScopeOptions::scope() const {
  oracle::Scope scope;
  scope.dialect = dialect_;
  const oracle::RecipeDialect* dialect = oracle::find_recipe_dialect(dialect_);
  if (!dialect) {
    std::vector<std::string_view> known;
    for (const oracle::RecipeDialect& one : oracle::recipe_dialects) known.push_back(one.name);
    throw oracle::BadCall(fmt::format("--dialect: found {}, calls can be made for {}", dialect_,
                                      fmt::join(known, ", ")));
  }
  scope.one_width = dialect->one_width;
  const oracle::ElementTypeFacts* type = nullptr;
  for (const oracle::ElementTypeFacts& one : oracle::element_types)
    if (one.format && one.bytes > 1 && one.name == type_) type = &one;
  if (!type)
    throw oracle::BadCall(
        fmt::format("--type: found {}, expected float64, float32, float16 or bfloat16", type_));
  scope.type = type->type;
  if (!precision_.empty()) scope.precision["preset"] = precision_;
  for (std::size_t from = 0; from <= features_.size();) {
    const std::size_t to = std::min(features_.find(',', from), features_.size());
    const std::string name = features_.substr(from, to - from);
    from = to + 1;
    if (name == "all") scope.features = dialect->features;
    if (name == "all" || name == "none") continue;
    bool known = false;
    for (const oracle::FeatureName& one : oracle::feature_names)
      if (one.name == name) known = scope.features.*one.feature = true;
    if (!known)
      throw oracle::BadCall(
          fmt::format("--for: found {}, which attest inputs --help does not list", name));
  }
  for (const ExtentName& one : extents)
    if (const std::string& text = extents_.at(one.name); !text.empty())
      scope.*one.extent = extent_of(one.name, text);
  return scope;
}

}  // namespace attest::command
