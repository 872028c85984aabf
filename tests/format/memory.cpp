// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Memory: a file that claims to be large is refused within a memory in proportion to what it is.
#include "catch.hpp"

#include <attest/format/npz.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <functional>
#include <new>

#include "files.hpp"

namespace {

enum Outcome : int { read_whole, refused, out_of_memory, other };

// What comes of reading `archive` in a process that may take `bytes` more memory than this one has.
Outcome read_within(std::size_t bytes, const std::string& archive) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const rlimit limit{pages * page + bytes, pages * page + bytes};
    Outcome outcome = other;
    if (pages != 0 && setrlimit(RLIMIT_AS, &limit) == 0) {
      try {
        attest::format::read_npz(files::as_bytes(archive), "x.npz");
        outcome = read_whole;
      } catch (const attest::format::BadInput&) {
        outcome = refused;
      } catch (const std::bad_alloc&) {
        outcome = out_of_memory;
      }
    }
    _exit(outcome);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? static_cast<Outcome>(WEXITSTATUS(status)) : other;
}

constexpr std::size_t megabyte = 1 << 20;
constexpr std::size_t limit = 16 * megabyte;

files::Entry claiming(files::Entry entry, std::uint64_t size) {
  entry.claimed_size = size;
  entry.zip64 = true;
  return entry;
}

std::string zeros(std::size_t count) {
  return files::npy("|u1", "(" + std::to_string(count) + ",)", std::string(count, '\0'));
}

}  // namespace

TEST_CASE("the memory limit of these tests is felt") {
  const std::string honest = files::zip({files::stored("q.npy", zeros(24 * megabyte))});
  CHECK(read_within(limit, honest) != read_whole);
  CHECK(read_within(64 * megabyte, honest) == read_whole);
}

TEST_CASE("an array that claims 2 GB is refused without them") {
  const std::string array = files::npy("<f4", "(1000000, 500)", std::string(128, 'a'));
  CHECK(read_within(limit, files::zip({files::stored("k.npy", array)})) == refused);
  CHECK(read_within(limit, files::zip({files::deflated("k.npy", array)})) == refused);
}

TEST_CASE("an entry that claims gigabytes is refused without them") {
  const std::string small = files::npy("|u1", "(2,)", "ab");
  for (const std::uint64_t size : {std::uint64_t{2} << 30, std::uint64_t{1} << 40,
                                   (std::uint64_t{1} << 63) - 1, ~std::uint64_t{0}}) {
    CAPTURE(size);
    for (files::Entry entry : {files::stored("k.npy", small), files::deflated("k.npy", small)}) {
      entry = claiming(entry, size);
      CHECK(read_within(limit, files::zip({entry})) == refused);
      entry.claimed_stored_size = size;
      CHECK(read_within(limit, files::zip({entry})) == refused);
    }
  }
}

TEST_CASE("deflated bytes earn memory by what they give, not by what they could give") {
  // Half a megabyte that deflates badly could by its length have been 500 MB of zeros.
  std::string noise(megabyte / 2, '\0');
  std::uint32_t state = 1;
  for (char& letter : noise) {
    state = state * 1664525u + 1013904223u;
    letter = static_cast<char>(state >> 24);
  }
  const files::Entry entry =
      files::deflated("k.npy", files::npy("|u1", "(" + std::to_string(noise.size()) + ",)", noise));
  CHECK(read_within(limit, files::zip({claiming(entry, 400 * megabyte)})) == refused);
  CHECK(read_within(limit, files::zip({entry})) == read_whole);
}

TEST_CASE("a small file in which every entry is the same large one is refused") {
  const files::Entry first = files::deflated("0.npy", zeros(4 * megabyte));
  std::vector<files::Entry> bomb{first};
  for (int i = 1; i < 64; ++i) {
    bomb.push_back(first);
    bomb.back().name = std::to_string(i) + ".npy";
    bomb.back().reuses_previous = true;
  }
  CHECK(read_within(32 * megabyte, files::zip(bomb)) == refused);
}

TEST_CASE("an archive that claims billions of entries is refused without room for them") {
  std::string archive = files::zip({files::stored("k.npy", files::npy("|u1", "(2,)", "ab"))});
  for (std::size_t field = 8; field < 12; ++field) archive[archive.size() - 22 + field] = '\xfe';
  CHECK(read_within(limit, archive) == refused);

  // The same in the 64-bit directory end.
  const std::size_t place = archive.size() - 22;
  const std::string end64 =
      "PK\x06\x06" + files::little_endian(44, 8) + files::little_endian(45, 2) +
      files::little_endian(45, 2) + files::little_endian(0, 8) +
      files::little_endian(std::uint64_t{1} << 40, 8) +
      files::little_endian(std::uint64_t{1} << 40, 8) +
      files::little_endian(std::uint64_t{1} << 46, 8) + files::little_endian(0, 8);
  const std::string locator = "PK\x06\x07" + files::little_endian(0, 4) +
                              files::little_endian(place, 8) + files::little_endian(1, 4);
  std::string end = archive.substr(place);
  for (std::size_t field = 8; field < 20; ++field) end[field] = '\xff';
  CHECK(read_within(limit, archive.substr(0, place) + end64 + locator + end) == refused);
}
