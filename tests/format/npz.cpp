// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The archive: stored and deflated arrays come back whole; damage and lies are refused in one line,
// before any memory is spent on them.
#include "catch.hpp"

#include <attest/format/npz.hpp>

#include <algorithm>
#include <cstdint>

#include "files.hpp"

using attest::format::read_npz;
using attest::oracle::Shape;
using files::deflated;
using files::Entry;
using files::npy;
using files::refusal;
using files::stored;

namespace {

std::string refused(std::string_view archive) {
  return refusal([&] { read_npz(files::as_bytes(archive), "x.npz"); });
}

std::string refused(const Entry& entry) {
  return refused(files::zip({entry}));
}

const std::string two_bytes = npy("|u1", "(2,)", "ab");

std::string zeros(std::size_t count) {
  return npy("|u1", "(" + std::to_string(count) + ",)", std::string(count, '\0'));
}

}  // namespace

TEST_CASE("stored and deflated arrays are read, from a file and from memory") {
  const std::string long_data(1 << 18, 'z');  // in several pieces
  std::string archive = files::zip({stored("q.npy", two_bytes), deflated("k.npy", two_bytes),
                                    deflated("v.npy", npy("|u1", "(512, 512)", long_data))});
  const files::Folder folder;
  const auto path = folder.write("x.npz", archive);
  for (const auto& arrays : {read_npz(path), read_npz(files::as_bytes(archive), "x.npz")}) {
    REQUIRE(arrays.size() == 3);
    CHECK(arrays.at("q").shape == Shape{2});
    CHECK(std::memcmp(arrays.at("q").view().data, "ab", 2) == 0);
    CHECK(std::memcmp(arrays.at("k").view().data, "ab", 2) == 0);
    CHECK(std::memcmp(arrays.at("v").view().data, long_data.data(), long_data.size()) == 0);
  }
}

TEST_CASE("deflate at its best is believed") {
  CHECK(refused(deflated("q.npy", zeros(8'000'000))) == "accepted");
}

TEST_CASE("sizes in 64-bit fields are read") {
  Entry entry = stored("q.npy", two_bytes);
  entry.zip64 = true;
  CHECK(refused(entry) == "accepted");
}

TEST_CASE("names are only names") {
  const auto arrays =
      read_npz(files::as_bytes(files::zip({stored("../../etc/q.npy", two_bytes)})), "x.npz");
  CHECK(arrays.contains("../../etc/q"));
}

TEST_CASE("what is not an archive is refused") {
  const files::Folder folder;
  const auto path = [&](const std::string& name) { return (folder.path() / name).string(); };
  const auto read = [&](const std::string& name) {
    return refusal([&] { read_npz(folder.path() / name); });
  };
  folder.write("empty.npz", "");
  folder.write("text.npz", "hello");
  folder.write("array.npz", two_bytes);
  folder.write("cut.npz", files::zip({stored("q.npy", two_bytes)}).substr(0, 100));
  folder.write("tiny.npz", "PK");
  CHECK(read("no.npz") == path("no.npz") + ": there is no such file");
  CHECK(read("new\nline.npz") == path("new\\x0aline.npz") + ": there is no such file");
  CHECK(read(".") == path(".") + ": is not a file");
  CHECK(read("empty.npz") == path("empty.npz") + ": is empty; expected a zip archive");
  CHECK(read("text.npz") ==
        path("text.npz") + ": found \"hell\" at its beginning, expected a zip archive");
  CHECK(read("array.npz") ==
        path("array.npz") + ": found \"\\x93NUM\" at its beginning, expected a zip archive");
  CHECK(read("tiny.npz") ==
        path("tiny.npz") + ": found \"PK\" at its beginning, expected a zip archive");
  CHECK(read("cut.npz") ==
        path("cut.npz") + ": the archive is cut off: the directory at its end is missing");
  CHECK(refused("") == "x.npz: is empty; expected a zip archive");
  CHECK(refused("hello") == "x.npz: found \"hell\" at its beginning, expected a zip archive");
}

TEST_CASE("an archive cut off anywhere is refused") {
  const std::string whole = files::zip({stored("q.npy", two_bytes), deflated("k.npy", two_bytes)});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK(refused(std::string_view(whole).substr(0, length)) != "accepted");
  }
}

TEST_CASE("entries that are not arrays, or not one array each, are refused") {
  CHECK(refused(stored("readme.txt", "hello")) ==
        "x.npz: entry \"readme.txt\" is not an array; expected a name ending in .npy");
  CHECK(refused(stored("q", two_bytes)) ==
        "x.npz: entry \"q\" is not an array; expected a name ending in .npy");
  CHECK(refused(stored("two\nlines\xff/", "")) ==
        "x.npz: entry \"two\\x0alines\\xff/\" is not an array; expected a name ending in .npy");
  CHECK(refused(stored("q.npy", "hello, world")) ==
        "x.npz: array \"q\": found \"hello,\" at its beginning, expected \"\\x93NUMPY\"");
  CHECK(refused(files::zip({stored("q.npy", two_bytes), stored("q.npy", two_bytes)})) ==
        "x.npz: array \"q\": is there twice");
  std::vector<Entry> many;
  for (int i = 0; i < 65; ++i) many.push_back(stored(std::to_string(i) + ".npy", two_bytes));
  CHECK(refused(files::zip(many)) == "x.npz: has 65 entries; expected at most 64");
  many.pop_back();
  CHECK(refused(files::zip(many)) == "accepted");
}

TEST_CASE("damaged and unreadable entries are refused") {
  Entry entry = stored("q.npy", two_bytes);
  entry.content.back() = 'c';
  CHECK(refused(entry) == "x.npz: array \"q\": is damaged: its bytes do not give its checksum");
  entry = deflated("q.npy", two_bytes);
  entry.checksum = 1;
  CHECK(refused(entry) == "x.npz: array \"q\": is damaged: its bytes do not give its checksum");
  entry = deflated("q.npy", two_bytes);
  entry.content[0] = '\xff';
  CHECK(refused(entry) == "x.npz: array \"q\": is damaged: its bytes are not deflated data");
  entry = stored("q.npy", two_bytes);
  entry.flags = 1;
  CHECK(refused(entry) == "x.npz: array \"q\": is encrypted; expected plain data");
  entry = stored("q.npy", two_bytes);
  entry.method = 14;
  CHECK(refused(entry) ==
        "x.npz: array \"q\": is compressed by method 14; expected 0 (stored) or 8 (deflated)");
}

TEST_CASE("sizes that cannot be true are refused") {
  Entry entry = stored("q.npy", two_bytes);
  entry.claimed_size = 0x80000000;
  CHECK(refused(entry) == "x.npz: array \"q\": claims 2147483648 bytes, but 130 are stored");
  entry.claimed_stored_size = 0x80000000;
  CHECK(refused(entry) == "x.npz: array \"q\": claims 2147483648 bytes of an archive of 238");
  entry.zip64 = true;
  entry.claimed_size = entry.claimed_stored_size = std::uint64_t{1} << 40;
  CHECK(refused(entry) == "x.npz: array \"q\": claims 1099511627776 bytes of an archive of 278");

  entry = deflated("q.npy", two_bytes);
  entry.zip64 = true;
  entry.claimed_size = std::uint64_t{1} << 62;
  const std::string stored_size = std::to_string(entry.content.size());
  CHECK(refused(entry) == "x.npz: array \"q\": claims 4611686018427387904 bytes, but its " +
                              stored_size + " deflated bytes give at most " +
                              std::to_string(entry.content.size() * 1032));

  // Within what deflate could do, but not what it did.
  entry = deflated("q.npy", two_bytes);
  entry.claimed_size = 131;
  CHECK(refused(entry) != "accepted");
  entry.claimed_size = 129;
  CHECK(refused(entry) != "accepted");
}

TEST_CASE("entries that share their bytes are refused") {
  Entry first = deflated("0.npy", zeros(100'000));
  std::vector<Entry> bomb{first};
  for (int i = 1; i < 20; ++i) {
    bomb.push_back(first);
    bomb.back().name = std::to_string(i) + ".npy";
    bomb.back().reuses_previous = true;
  }
  CHECK(refused(files::zip(bomb)).find(": shares bytes with another: it claims ") !=
        std::string::npos);
}
