// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include "files.hpp"

#include <stdlib.h>  // mkdtemp is POSIX, not C++
#include <zip.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace files {
namespace {

std::uint32_t crc32(std::string_view text) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char letter : text) {
    crc ^= static_cast<unsigned char>(letter);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

void need(bool condition) {
  if (!condition) throw std::runtime_error("libzip could not make a file for a test");
}

// The bytes that libzip deflates `content` to.
std::string deflate(std::string_view content) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* file = zip_source_buffer_create(nullptr, 0, 0, &error);
  need(file);
  zip_source_keep(file);  // zip_close lets go of it once
  zip_t* archive = zip_open_from_source(file, ZIP_TRUNCATE, &error);
  need(archive);
  zip_source_t* source = zip_source_buffer(archive, content.data(), content.size(), 0);
  need(zip_file_add(archive, "x", source, 0) == 0);
  need(zip_set_file_compression(archive, 0, ZIP_CM_DEFLATE, 9) == 0);
  need(zip_close(archive) == 0);

  archive = zip_open_from_source(file, ZIP_RDONLY, &error);
  need(archive);
  zip_stat_t facts;
  need(zip_stat_index(archive, 0, 0, &facts) == 0 && facts.comp_method == ZIP_CM_DEFLATE);
  std::string result(static_cast<std::size_t>(facts.comp_size), '\0');
  zip_file_t* entry = zip_fopen_index(archive, 0, ZIP_FL_COMPRESSED);
  need(entry);
  need(zip_fread(entry, result.data(), result.size()) == static_cast<zip_int64_t>(result.size()));
  zip_fclose(entry);
  zip_discard(archive);
  return result;
}

}  // namespace

std::string npy_with_header(std::string_view header, std::string_view data, unsigned major) {
  std::string file = "\x93NUMPY";
  file += little_endian(major, 1) + little_endian(0, 1);
  file += little_endian(header.size(), major == 1 ? 2 : 4);
  return file.append(header).append(data);
}

std::string npy(std::string_view descr, std::string_view shape, std::string_view data,
                bool fortran_order, unsigned major) {
  std::string header = "{'descr': '" + std::string(descr) +
                       "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                       ", 'shape': " + std::string(shape) + ", }";
  while ((header.size() + (major == 1 ? 11 : 13)) % 64 != 0) header += ' ';
  return npy_with_header(header + "\n", data, major);
}

Entry stored(std::string name, std::string content) {
  return {.name = std::move(name), .content = content, .original = content};
}

Entry deflated(std::string name, std::string content) {
  return {.name = std::move(name),
          .content = deflate(content),
          .original = std::move(content),
          .method = 8};
}

std::string zip(const std::vector<Entry>& entries) {
  std::string file;
  std::string directory;
  std::size_t begin = 0;
  std::uint32_t checksum = 0;
  for (const Entry& entry : entries) {
    if (!entry.reuses_previous) checksum = entry.checksum ? *entry.checksum : crc32(entry.original);
    const std::uint64_t size = entry.claimed_size.value_or(entry.original.size());
    const std::uint64_t stored_size = entry.claimed_stored_size.value_or(entry.content.size());
    std::string extra;
    if (entry.zip64)
      extra = little_endian(1, 2) + little_endian(16, 2) + little_endian(size, 8) +
              little_endian(stored_size, 8);
    const std::string facts =
        little_endian(entry.zip64 ? 45 : 20, 2) + little_endian(entry.flags, 2) +
        little_endian(entry.method, 2) + little_endian(0, 2) + little_endian(0x21, 2) +
        little_endian(checksum, 4) + little_endian(entry.zip64 ? 0xffffffff : stored_size, 4) +
        little_endian(entry.zip64 ? 0xffffffff : size, 4) + little_endian(entry.name.size(), 2) +
        little_endian(extra.size(), 2);
    if (!entry.reuses_previous) {
      begin = file.size();
      file += "PK\x03\x04" + facts + entry.name + extra + entry.content;
    }
    directory += "PK\x01\x02" + little_endian(20, 2) + facts + little_endian(0, 2) +
                 little_endian(0, 2) + little_endian(0, 2) + little_endian(0, 4) +
                 little_endian(begin, 4) + entry.name + extra;
  }
  const std::string end = "PK\x05\x06" + little_endian(0, 4) + little_endian(entries.size(), 2) +
                          little_endian(entries.size(), 2) + little_endian(directory.size(), 4) +
                          little_endian(file.size(), 4) + little_endian(0, 2);
  return file + directory + end;
}

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "attest-format-XXXXXX").string();
  if (!mkdtemp(name.data())) throw std::runtime_error("no folder for a test's files");
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path Folder::write(const std::string& name, std::string_view content) const {
  const std::filesystem::path path = path_ / name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("a test needs " + path.string());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::filesystem::path> captures_under(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".npz")
      names.push_back(entry.path().parent_path() / entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace files
