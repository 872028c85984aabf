// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Damage: whatever happens to the bytes of a capture, it is read or refused with BadInput in one
// line; no other exception, no reading beside the data (the sanitizers look on).
#include "catch.hpp"

#include <attest/format/capture.hpp>

#include <algorithm>
#include <cstdint>
#include <random>

#include "files.hpp"

using attest::format::BadInput;
using attest::format::Capture;
using attest::format::parse_capture;

namespace {

struct Original {
  std::string npz;
  std::string json;
  std::vector<files::Entry> entries;  // the archive's, to damage an array under a true checksum
};

std::vector<Original> originals() {
  std::vector<Original> result;
  for (const auto& name : files::captures_under(ATTEST_TEST_DATA)) {
    Original original{
        files::read(name.string() + ".npz"), files::read(name.string() + ".json"), {}};
    if (original.npz.size() > 6000) continue;
    const auto arrays = attest::format::read_npz(files::as_bytes(original.npz), name);
    for (const auto& [array, content] : arrays)
      original.entries.push_back(
          files::stored(array + ".npy",
                        {reinterpret_cast<const char*>(content.file.data()), content.file.size()}));
    result.push_back(std::move(original));
  }
  return result;
}

// One thing that happens to a text; `place` and `value` are taken modulo what there is.
struct Edit {
  int kind;
  std::uint64_t place;
  std::uint64_t value;
};

void apply(const Edit& edit, std::string& text) {
  if (text.empty()) {
    text += static_cast<char>(edit.value & 0xff);
    return;
  }
  // Half of the places are near the ends, where an archive keeps its directory and an array its
  // header.
  std::size_t place = edit.place % text.size();
  const std::size_t near = (edit.place >> 16) % std::min<std::size_t>(text.size(), 200);
  if (edit.place & 1) place = edit.place & 2 ? near : text.size() - 1 - near;
  static const std::string telling[] = {std::string(4, '\xff'),
                                        std::string(4, '\0'),
                                        std::string("\0\0\0\x80", 4),
                                        "PK\x03\x04",
                                        "PK\x05\x06",
                                        "-1",
                                        "999999999999",
                                        "0",
                                        "(",
                                        ")",
                                        "[",
                                        "{",
                                        "}",
                                        ",",
                                        "\"",
                                        "'",
                                        ":",
                                        "True",
                                        "null",
                                        "<f8",
                                        "|b1",
                                        ">f4",
                                        "|O",
                                        "bfloat16",
                                        "\x93NUMPY"};
  const std::string& word = telling[edit.value % std::size(telling)];
  switch (edit.kind) {
    case 0:
      text[place] = static_cast<char>(text[place] ^ (1 << (edit.value % 8)));
      break;
    case 1:
      text[place] = static_cast<char>(edit.value & 0xff);
      break;
    case 2:
      text.resize(place);
      break;
    case 3:
      text.insert(place, 1 + edit.value % 16, static_cast<char>((edit.value >> 8) & 0xff));
      break;
    case 4:
      text.erase(place, 1 + edit.value % 64);
      break;
    case 5:
      text.insert(place, word);
      break;
    case 6:
      text.replace(place, std::min(word.size(), text.size() - place), word);
      break;
    default:
      text.insert(place, text.substr(edit.value % text.size(), 1 + (edit.value >> 32) % 64));
      break;
  }
}

constexpr int edit_kinds = 8;

enum class Target { archive, array, options };

// Every element of every array, so that a view that is too large is noticed.
double touch(const Capture& capture) {
  double sum = 0;
  for (const auto& [name, tensor] : capture.call.arrays) {
    std::vector<std::size_t> index(tensor.rank(), 0);
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      std::ptrdiff_t offset = 0;
      for (std::size_t axis = 0; axis < index.size(); ++axis)
        offset += static_cast<std::ptrdiff_t>(index[axis]) * tensor.strides[axis];
      sum += tensor.number_at(tensor.data + offset);
      for (std::size_t axis = index.size(); axis-- > 0;) {
        if (++index[axis] < tensor.shape[axis]) break;
        index[axis] = 0;
      }
    }
  }
  return sum;
}

// Whether the damaged capture was read; if it was not, that was said as it should be.
bool survives(const Original& original, Target target, std::size_t which,
              const std::vector<Edit>& edits) {
  std::string npz = original.npz;
  std::string json = original.json;
  if (target == Target::array) {
    std::vector<files::Entry> entries = original.entries;
    std::string& content = entries[which % entries.size()].content;
    for (const Edit& edit : edits) apply(edit, content);
    entries[which % entries.size()].original = content;
    npz = files::zip(entries);
  } else {
    for (const Edit& edit : edits) apply(edit, target == Target::archive ? npz : json);
  }
  try {
    // A buffer of exactly the size, so that the sanitizers see its end.
    const std::vector<std::byte> bytes = files::to_bytes(npz);
    touch(parse_capture(bytes, "x.npz", json, "x.json"));
    return true;
  } catch (const BadInput& error) {
    const std::string message = error.what();
    if (!message.starts_with("x.npz: ") && !message.starts_with("x.json: "))
      throw std::runtime_error("a message that names no file: " + message);
    for (const char letter : message)
      if (static_cast<unsigned char>(letter) < 0x20 || static_cast<unsigned char>(letter) > 0x7e)
        throw std::runtime_error("a message that is not one printable line: " + message);
    if (message.size() > 500) throw std::runtime_error("a message without end: " + message);
    return false;
  }
}

// `rounds` damaged captures; returns how many of each target were read all the same.
std::vector<int> damage(int rounds, std::uint64_t seed) {
  const std::vector<Original> all = originals();
  REQUIRE_FALSE(all.empty());
  std::mt19937_64 random(seed);
  std::vector<int> read(3, 0);
  for (int round = 0; round < rounds; ++round) {
    const auto target = static_cast<Target>(random() % 3);
    std::vector<Edit> edits(1 + random() % 4);
    const Original& original = all[random() % all.size()];
    const std::size_t which = random();
    for (Edit& edit : edits) edit = {static_cast<int>(random() % edit_kinds), random(), random()};
    CAPTURE(seed, round);
    bool survived = false;
    REQUIRE_NOTHROW(survived = survives(original, target, which, edits));
    read[static_cast<std::size_t>(target)] += survived;
  }
  return read;
}

}  // namespace

TEST_CASE("a damaged capture is read or refused, nothing else") {
  const std::vector<Original> all = originals();
  rc::prop("whatever is done to it", [&all] {
    const Original& original = all[*rc::gen::inRange<std::size_t>(0, all.size())];
    const auto target = *rc::gen::element(Target::archive, Target::array, Target::options);
    const auto which = *rc::gen::inRange<std::size_t>(0, 16);
    const auto kinds = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, edit_kinds));
    std::vector<Edit> edits;
    for (const int kind : kinds)
      edits.push_back(
          {kind, *rc::gen::arbitrary<std::uint64_t>(), *rc::gen::arbitrary<std::uint64_t>()});
    const bool survived = survives(original, target, which, edits);
    RC_ASSERT(survived || !edits.empty());  // without damage it is read
  });
}

TEST_CASE("thousands of damaged captures are read or refused, nothing else") {
  const std::vector<int> read = damage(6'000, 1);
  // Damage that is always noticed at once would test only the first check.
  for (const int count : read) CHECK(count > 0);
}

TEST_CASE("a million damaged captures are read or refused, nothing else", "[.long]") {
  const std::uint64_t seed = std::random_device{}();
  WARN("seed " << seed);
  damage(1'000'000, seed);
}
