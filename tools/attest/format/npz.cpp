// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/format/npz.hpp>

#include <attest/format/bad_input.hpp>

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

namespace attest::format {
namespace {

// Deflate's best: 258 bytes for one bit of length and one bit of distance.
constexpr std::uint64_t deflate_ratio = 1032;

constexpr std::string_view suffix = ".npy";
constexpr std::string_view entry_magic = "PK\x03\x04";

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, Discard>;

struct CloseEntry {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};
using Entry = std::unique_ptr<zip_file_t, CloseEntry>;

struct FreeSource {
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
using Source = std::unique_ptr<zip_source_t, FreeSource>;

class Error {
 public:
  Error() { zip_error_init(&error_); }
  ~Error() { zip_error_fini(&error_); }
  Error(const Error&) = delete;
  Error& operator=(const Error&) = delete;
  zip_error_t* get() { return &error_; }

 private:
  zip_error_t error_;
};

// In our words, because libzip's change from version to version.
std::string in_words(zip_error_t* error) {
  switch (zip_error_code_zip(error)) {
    case ZIP_ER_INCONS:
      return "contradicts itself";
    case ZIP_ER_CRC:
      return "is damaged: its bytes do not give its checksum";
    case ZIP_ER_ZLIB:
    case ZIP_ER_COMPRESSED_DATA:
      return "is damaged: its bytes are not deflated data";
    case ZIP_ER_EOF:
      return "ends before its data does";
    case ZIP_ER_MULTIDISK:
      return "is one part of an archive in several; expected a whole one";
    default:
      return fmt::format("cannot be read: {}", printable(zip_error_strerror(error)));
  }
}

// `beginning` is what the file begins with, `error` why libzip would not open it.
[[noreturn]] void fail_to_open(const std::string& where, std::string_view beginning,
                               zip_error_t* error) {
  const int code = zip_error_code_zip(error);
  bool no_directory = code == ZIP_ER_NOZIP;
#ifdef ZIP_ER_TRUNCATED_ZIP
  no_directory = no_directory || code == ZIP_ER_TRUNCATED_ZIP;
#endif
  if (no_directory && beginning == entry_magic)
    fail(where, "the archive is cut off: the directory at its end is missing");
  if (no_directory)
    fail(where, fmt::format("found \"{}\" at its beginning, expected a zip archive",
                            printable(beginning)));
  fail(where, "the archive " + in_words(error));
}

// Whether the entry is one whose bytes can be had, and in a size that can be true.
void check_entry(const zip_stat_t& entry, std::uint64_t archive_bytes, const std::string& where) {
  if (entry.encryption_method != ZIP_EM_NONE) fail(where, "is encrypted; expected plain data");
  if (entry.comp_method != ZIP_CM_STORE && entry.comp_method != ZIP_CM_DEFLATE)
    fail(where, fmt::format("is compressed by method {}; expected 0 (stored) or 8 (deflated)",
                            entry.comp_method));
  if (entry.comp_size > archive_bytes)
    fail(where, fmt::format("claims {} bytes of an archive of {}", entry.comp_size, archive_bytes));
  if (entry.comp_method == ZIP_CM_STORE && entry.size != entry.comp_size)
    fail(where, fmt::format("claims {} bytes, but {} are stored", entry.size, entry.comp_size));
  if (entry.size / deflate_ratio > entry.comp_size)
    fail(where, fmt::format("claims {} bytes, but its {} deflated bytes give at most {}",
                            entry.size, entry.comp_size, entry.comp_size * deflate_ratio));
  if (entry.size > std::uint64_t{std::numeric_limits<std::ptrdiff_t>::max()})
    fail(where, fmt::format("claims {} bytes, more than fit in memory", entry.size));
}

std::vector<std::byte> read_entry(zip_t* archive, std::uint64_t index, const zip_stat_t& claim,
                                  const std::string& where) {
  const Entry entry(zip_fopen_index(archive, index, 0));
  if (!entry) fail(where, in_words(zip_get_error(archive)));
  const auto read = [&](std::byte* to, std::size_t most) {
    const zip_int64_t count = zip_fread(entry.get(), to, most);
    if (count < 0) fail(where, in_words(zip_file_get_error(entry.get())));
    return static_cast<std::size_t>(count);
  };

  // Stored bytes are all in the file, so their number is no mere claim; deflated ones earn their
  // memory as they arrive.
  constexpr std::size_t first_piece = 1 << 16;
  const auto size = static_cast<std::size_t>(claim.size);
  std::vector<std::byte> content;
  std::size_t filled = 0;
  while (filled < size) {
    if (filled == content.size()) {
      const std::size_t earned = std::max(first_piece, 2 * filled);
      const std::size_t room = claim.comp_method == ZIP_CM_STORE ? size : std::min(size, earned);
      content.reserve(room);  // resize alone may take twice that
      content.resize(room);
    }
    const std::size_t count = read(content.data() + filled, content.size() - filled);
    if (count == 0) fail(where, fmt::format("claims {} bytes, but ends after {}", size, filled));
    filled += count;
  }
  // The checksum is compared when the end is reached, so the end must be asked for.
  std::byte beyond;
  if (read(&beyond, 1) != 0) fail(where, fmt::format("claims {} bytes, but has more", size));
  return content;
}

NpzArrays read_arrays(zip_t* archive, std::uint64_t archive_bytes, const std::string& where) {
  const auto entries = static_cast<std::uint64_t>(zip_get_num_entries(archive, 0));
  if (entries > most_entries)
    fail(where, fmt::format("has {} entries; expected at most {}", entries, most_entries));

  NpzArrays arrays;
  std::uint64_t bytes_left = archive_bytes;
  for (std::uint64_t index = 0; index < entries; ++index) {
    zip_stat_t entry;
    const char* raw_name = zip_get_name(archive, index, ZIP_FL_ENC_RAW);
    if (!raw_name || zip_stat_index(archive, index, 0, &entry) != 0)
      fail(where, fmt::format("entry {} {}", index, in_words(zip_get_error(archive))));
    std::string_view name = raw_name;
    if (!name.ends_with(suffix))
      fail(where, fmt::format("entry \"{}\" is not an array; expected a name ending in {}",
                              printable(name), suffix));
    name.remove_suffix(suffix.size());
    const std::string array = fmt::format("{}: array \"{}\"", where, printable(name));
    if (arrays.contains(std::string(name))) fail(array, "is there twice");

    check_entry(entry, archive_bytes, array);
    // Entries that share bytes would let a small file fill any memory.
    if (entry.comp_size > bytes_left)
      fail(array, fmt::format("shares bytes with another: it claims {}, {} are left",
                              entry.comp_size, bytes_left));
    bytes_left -= entry.comp_size;
    arrays.emplace(name, parse_npy(read_entry(archive, index, entry, array), array));
  }
  return arrays;
}

}  // namespace

NpzArrays read_npz(const std::filesystem::path& path) {
  const std::string where = printable_path(path);
  std::error_code unknown;
  const auto status = std::filesystem::status(path, unknown);
  if (!std::filesystem::exists(status)) fail(where, "there is no such file");
  if (!std::filesystem::is_regular_file(status)) fail(where, "is not a file");
  std::ifstream file(path, std::ios::binary);
  char beginning[entry_magic.size()];
  file.read(beginning, sizeof beginning);
  const auto read = static_cast<std::size_t>(file.gcount());
  if (!file.is_open()) fail(where, "cannot be opened");
  if (read == 0) fail(where, "is empty; expected a zip archive");
  const std::uint64_t bytes = std::filesystem::file_size(path, unknown);
  if (unknown) fail(where, "cannot be read");

  int code = 0;
  const Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive) {
    Error error;
    zip_error_init_with_code(error.get(), code);
    fail_to_open(where, {beginning, read}, error.get());
  }
  return read_arrays(archive.get(), bytes, where);
}

NpzArrays read_npz(std::span<const std::byte> archive_bytes, const std::filesystem::path& name) {
  const std::string where = printable_path(name);
  if (archive_bytes.empty()) fail(where, "is empty; expected a zip archive");
  Error error;
  Source source(
      zip_source_buffer_create(archive_bytes.data(), archive_bytes.size(), 0, error.get()));
  if (!source) fail(where, in_words(error.get()));
  const Archive archive(zip_open_from_source(source.get(), ZIP_RDONLY, error.get()));
  if (!archive) {
    const auto beginning = archive_bytes.first(std::min(archive_bytes.size(), entry_magic.size()));
    fail_to_open(where, {reinterpret_cast<const char*>(beginning.data()), beginning.size()},
                 error.get());
  }
  source.release();  // the archive owns it now
  return read_arrays(archive.get(), archive_bytes.size(), where);
}

}  // namespace attest::format
