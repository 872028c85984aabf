// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/format/bad_input.hpp>
#include <attest/format/write_npz.hpp>

#include <fmt/format.h>
#include <zip.h>

#include <memory>
#include <string_view>
#include <system_error>

namespace attest::format {
namespace {

using oracle::ElementType;

constexpr std::string_view descr(ElementType type) {
  switch (type) {
    case ElementType::float64:
      return "<f8";
    case ElementType::float32:
      return "<f4";
    case ElementType::float16:
      return "<f2";
    case ElementType::boolean:
      return "|b1";
    case ElementType::int8:
      return "|i1";
    case ElementType::int16:
      return "<i2";
    case ElementType::int32:
      return "<i4";
    case ElementType::int64:
      return "<i8";
    case ElementType::uint8:
    case ElementType::float8_e4m3fn:
    case ElementType::float8_e5m2:
      return "|u1";
    case ElementType::uint16:
    case ElementType::bfloat16:
      return "<u2";
    case ElementType::uint32:
      return "<u4";
    case ElementType::uint64:
      return "<u8";
  }
  return "";
}

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};

[[noreturn]] void fail_to_write(const std::string& where, zip_error_t* error) {
  fail(where, fmt::format("cannot be written: {}", printable(zip_error_strerror(error))));
}

}  // namespace

std::string npy_file(ElementType type, const oracle::Shape& shape,
                     std::span<const std::byte> data) {
  std::string extents;
  for (const std::size_t extent : shape) extents += fmt::format("{}, ", extent);
  if (shape.size() > 1) extents.resize(extents.size() - 2);
  if (shape.size() == 1) extents.resize(extents.size() - 1);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   descr(type), extents);
  // Format version 1.0: ten bytes, and a header that ends at a multiple of 64.
  constexpr std::size_t before = 10, alignment = 64;
  header.append(alignment - 1 - (before + header.size()) % alignment, ' ');
  header += '\n';
  std::string file = std::string("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  file.append(reinterpret_cast<const char*>(data.data()), data.size());
  return file;
}

void write_npz(const std::filesystem::path& path, const std::vector<NpzEntry>& entries) {
  const std::string where = printable_path(path);
  std::error_code unknown;
  const auto status = std::filesystem::status(path, unknown);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    fail(where, "cannot be written: it is there and is not a file");
  int code = 0;
  std::unique_ptr<zip_t, Discard> archive(zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  if (!archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    fail_to_write(where, &error);
  }
  for (const NpzEntry& entry : entries) {
    zip_source_t* source =
        zip_source_buffer(archive.get(), entry.content.data(), entry.content.size(), 0);
    const zip_int64_t index =
        source ? zip_file_add(archive.get(), entry.name.c_str(), source, ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0) {
      if (source) zip_source_free(source);
      fail_to_write(where, zip_get_error(archive.get()));
    }
    // 1 January 1980, the first day that a zip archive knows
    constexpr zip_uint16_t first_day = (1 << 5) | 1;
    if (zip_set_file_compression(archive.get(), static_cast<zip_uint64_t>(index), ZIP_CM_STORE,
                                 0) != 0 ||
        zip_file_set_dostime(archive.get(), static_cast<zip_uint64_t>(index), 0, first_day, 0) != 0)
      fail_to_write(where, zip_get_error(archive.get()));
  }
  // libzip writes to a temporary file in the same folder, which it renames here or removes.
  if (zip_close(archive.get()) != 0) fail_to_write(where, zip_get_error(archive.get()));
  archive.release();
}

}  // namespace attest::format
