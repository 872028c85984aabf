// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/format/capture.hpp>

#include <attest/format/bad_input.hpp>
#include <attest/oracle/dialect.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

namespace attest::format {
namespace {

constexpr std::string_view known_arrays[] = {"q",
                                             "k",
                                             "v",
                                             "attn_mask",
                                             "past_key",
                                             "past_value",
                                             "nonpad_kv_seqlen",
                                             "seqused_k",
                                             "cu_seqlens_q",
                                             "cu_seqlens_k",
                                             "sinks",
                                             "alibi_slopes",
                                             "out",
                                             "lse",
                                             "qk_matmul_output",
                                             "present_key",
                                             "present_value",
                                             "dout",
                                             "dq",
                                             "dk",
                                             "dv",
                                             "dsinks",
                                             "dlse",
                                             "dattn_mask"};

// Whether some dialect has an array of this name; its reader says which of them a call may hold.
bool is_of_a_dialect(std::string_view name) {
  for (const oracle::Dialect& dialect : oracle::dialects())
    for (const oracle::Term& term : dialect.arrays)
      for (std::string_view rest = term.name; !rest.empty();) {
        const std::size_t end = std::min(rest.find(", "), rest.size());
        if (rest.substr(0, end) == name) return true;
        rest.remove_prefix(std::min(end + 2, rest.size()));
      }
  return false;
}

std::string read_text(const std::filesystem::path& path, const std::filesystem::path& npz_path) {
  const std::string where = printable_path(path);
  std::error_code unknown;
  const auto status = std::filesystem::status(path, unknown);
  if (!std::filesystem::exists(status))
    fail(printable_path(npz_path),
         "expected the options of the call in " + where + ", which is not there");
  if (!std::filesystem::is_regular_file(status)) fail(where, "is not a file");
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(where, "cannot be opened");
  // One byte more than is allowed shows that there are too many.
  std::string text(most_option_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) fail(where, "cannot be read");
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > most_option_bytes)
    fail(where, fmt::format("is more than {} bytes of options", most_option_bytes));
  return text;
}

// Bits become numbers: an array stored as integers is read in the format the options name.
void apply_formats(NpzArrays& arrays, const Options& options, const std::string& npz,
                   const std::string& json) {
  for (const auto& [name, type] : options.formats) {
    const std::string where = fmt::format("{}: key \"formats.{}\"", json, printable(name));
    const auto array = arrays.find(name);
    if (array == arrays.end()) {
      std::vector<std::string_view> there;
      for (const auto& [other, unused] : arrays) there.push_back(other);
      fail(where, fmt::format("{} has no such array, only {}", npz, fmt::join(there, ", ")));
    }
    const auto storage =
        oracle::facts(type).bytes == 2 ? oracle::ElementType::uint16 : oracle::ElementType::uint8;
    if (array->second.type != storage)
      fail(where, fmt::format("the array in {} is {}; {} is stored as {}", npz,
                              oracle::facts(array->second.type).name, oracle::facts(type).name,
                              oracle::facts(storage).name));
    array->second.type = type;
  }
}

Capture assemble(NpzArrays arrays, Options options, const std::filesystem::path& npz_name,
                 const std::filesystem::path& json_name) {
  const std::string npz = printable_path(npz_name);
  if (arrays.empty()) fail(npz, "holds no arrays");
  for (const auto& [name, array] : arrays)
    if (std::find(std::begin(known_arrays), std::end(known_arrays), name) ==
            std::end(known_arrays) &&
        !is_of_a_dialect(name))
      fail(fmt::format("{}: array \"{}\"", npz, printable(name)),
           fmt::format("is unknown; expected {}", fmt::join(known_arrays, ", ")));
  apply_formats(arrays, options, npz, printable_path(json_name));

  Capture capture;
  capture.buffers = std::move(arrays);
  for (const auto& [name, array] : capture.buffers) capture.call.arrays.emplace(name, array.view());
  capture.call.dialect = std::move(options.dialect);
  capture.call.attributes = std::move(options.attributes);
  capture.call.layout = std::move(options.layout);
  capture.call.precision = std::move(options.precision);
  capture.call.subject = std::move(options.subject);
  capture.verdict = std::move(options.verdict);
  capture.diagnosis = std::move(options.diagnosis);
  capture.note = std::move(options.note);
  capture.detail = std::move(options.detail);
  capture.max_abs_error = std::move(options.max_abs_error);
  return capture;
}

}  // namespace

Capture load_capture(const std::filesystem::path& npz_path) {
  if (npz_path.extension() != ".npz")
    fail(printable_path(npz_path), "expected a file named NAME.npz, with NAME.json beside it");
  std::filesystem::path json_path = npz_path;
  json_path.replace_extension(".json");
  NpzArrays arrays = read_npz(npz_path);
  Options options = parse_options(read_text(json_path, npz_path), json_path);
  return assemble(std::move(arrays), std::move(options), npz_path, json_path);
}

Capture parse_capture(std::span<const std::byte> npz, const std::filesystem::path& npz_name,
                      std::string_view json, const std::filesystem::path& json_name) {
  return assemble(read_npz(npz, npz_name), parse_options(json, json_name), npz_name, json_name);
}

}  // namespace attest::format
