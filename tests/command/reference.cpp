// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// attest reference: the file it writes, against an independent computation, as an input of attest
// check, and where it cannot be written.
#include "catch.hpp"

#include <attest/format/npz.hpp>
#include <attest/oracle/number_format.hpp>

#include "program.hpp"

#include <unistd.h>
#include <zip.h>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "../oracle/call_builder.hpp"
#include "../oracle/nearest_number.hpp"

namespace {

using namespace attest;
using test::CallBuilder;
using test::lines;
using test::ordinary_call;
using test::Result;
using test::run;
using test::write_capture;
namespace fs = std::filesystem;

// The certificate out of an archive, and the arrays of the same archive without it: NumPy reads
// those, read_npz wants arrays only.
struct Written {
  nlohmann::json certificate;
  format::NpzArrays arrays;
};

Written open(const fs::path& path) {
  Written written;
  zip_t* archive = zip_open(path.c_str(), ZIP_RDONLY, nullptr);
  REQUIRE(archive);
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive, 0); ++i) {
    zip_stat_t facts;
    REQUIRE(zip_stat_index(archive, static_cast<zip_uint64_t>(i), 0, &facts) == 0);
    std::string content(static_cast<std::size_t>(facts.size), '\0');
    zip_file_t* entry = zip_fopen_index(archive, static_cast<zip_uint64_t>(i), 0);
    REQUIRE(entry);
    REQUIRE(zip_fread(entry, content.data(), content.size()) ==
            static_cast<zip_int64_t>(content.size()));
    zip_fclose(entry);
    const std::string name = facts.name;
    if (name == "certificate.json")
      written.certificate = nlohmann::json::parse(content);
    else
      written.arrays.emplace(name.substr(0, name.size() - 4),
                             format::parse_npy(files::to_bytes(content), name));
  }
  zip_discard(archive);
  return written;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> result;
  for (const auto& entry : fs::directory_iterator(folder)) result.push_back(entry.path());
  std::sort(result.begin(), result.end());
  return result;
}

// 130 decimal digits: neither the bits nor the code of the oracle.
using Real = boost::multiprecision::number<boost::multiprecision::backends::cpp_bin_float<130>,
                                           boost::multiprecision::et_off>;

struct Random {
  std::size_t queries = 4, keys = 9, width = 3, value_width = 5;
  std::vector<float> q, k, v;
  Random() {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (auto [numbers, count] : {std::pair{&q, queries * width}, std::pair{&k, keys * width},
                                  std::pair{&v, keys * value_width}})
      for (std::size_t i = 0; i < count; ++i) numbers->push_back(normal(random));
  }
  CallBuilder call() const {
    CallBuilder builder("plain");
    builder.floats("q", {queries, width}, q).floats("k", {keys, width}, k);
    builder.floats("v", {keys, value_width}, v).option("causal", std::string("bottom-right"));
    return builder;
  }
  std::vector<Real> attention() const {
    std::vector<Real> out;
    for (std::size_t i = 0; i < queries; ++i) {
      std::vector<Real> e;
      Real sum = 0;
      for (std::size_t j = 0; j + queries <= i + keys; ++j) {
        Real s = 0;
        for (std::size_t t = 0; t < width; ++t) s += Real(q[i * width + t]) * k[j * width + t];
        e.push_back(exp(Real(s / sqrt(Real(width)))));
        sum += e.back();
      }
      for (std::size_t t = 0; t < value_width; ++t) {
        Real o = 0;
        for (std::size_t j = 0; j < e.size(); ++j) o += e[j] * v[j * value_width + t];
        out.push_back(o / sum);
      }
    }
    return out;
  }
};

double element(const format::NpyArray& array, oracle::ElementType type, std::size_t i) {
  oracle::Tensor view = array.view();
  view.type = type;
  return view.number_at(view.data + i * oracle::facts(type).bytes);
}

// One line on standard error that holds `words`, exit code 2.
void check_refused(const Result& result, const std::vector<std::string>& words) {
  CAPTURE(result.err);
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  CHECK(lines(result.err) == 1);
  CHECK(result.err.rfind("attest: ", 0) == 0);
  for (const std::string& word : words) CHECK(result.err.find(word) != std::string::npos);
}

}  // namespace

TEST_CASE("the reference is the exact result rounded once, in every format") {
  const files::Folder folder;
  const Random random;
  const std::string capture = write_capture(folder, "x", random.call().call).string();
  const std::string to = (folder.path() / "reference.npz").string();
  const std::vector<Real> exact = random.attention();
  for (const oracle::ElementTypeFacts& facts : oracle::element_types) {
    if (!facts.format) continue;
    CAPTURE(facts.name);
    const Result result =
        run({"reference", capture, "-o", to, "--format", std::string(facts.name)});
    CAPTURE(result.err);
    REQUIRE(result.code == 0);
    const Written written = open(to);
    REQUIRE(written.arrays.size() == 1);
    const format::NpyArray& out = written.arrays.at("out");
    CHECK(out.shape == oracle::Shape{4, 5});
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const double expected = facts.format->precision == 53
                                  ? static_cast<double>(exact[i])
                                  : test::nearest_number(exact[i], *facts.format);
      CHECK(element(out, facts.type, i) == expected);
    }
    const auto& certificate = written.certificate.at("arrays").at("out");
    CHECK(certificate.at("format") == facts.name);
    CHECK(certificate.at("elements") == 20);
    CHECK(certificate.at("not_certified") == 0);
    CHECK(certificate.at("widest_interval") < 1e-12);
    std::size_t certified = 0;
    for (const auto& [by, count] : certificate.at("certified_by").items())
      certified += count.get<std::size_t>();
    CHECK(certified == 20);
    const bool bits =
        out.type == oracle::ElementType::uint16 || out.type == oracle::ElementType::uint8;
    CHECK(bits == written.certificate.at("formats").contains("out"));
  }
}

TEST_CASE("the reference of a capture in the place of its outputs is right") {
  std::size_t captures = 0, undecided = 0, wrong_before = 0;
  for (const auto& name : files::captures_under(ATTEST_TEST_DATA)) {
    if (!fs::exists(name.string() + ".json")) continue;  // arrays that are no capture
    CAPTURE(name);
    const files::Folder folder;
    const std::string capture = name.string() + ".npz";
    const std::string to = (folder.path() / "reference.npz").string();
    REQUIRE(run({"reference", capture, "-o", to}).code == 0);
    const Written written = open(to);
    auto arrays = format::read_npz(capture);
    for (const char* output : {"out", "qk_matmul_output", "present_key", "present_value"})
      CHECK(arrays.contains(output) == written.arrays.contains(output));
    std::vector<files::Entry> zipped;
    for (const auto& [array, content] : arrays) {
      const auto replaced = written.arrays.find(array);
      const std::vector<std::byte>& bytes =
          replaced == written.arrays.end() ? content.file : replaced->second.file;
      zipped.push_back(files::stored(array + ".npy",
                                     {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    }
    const auto again = folder.write("again.npz", files::zip(zipped));
    folder.write("again.json", files::read(name.string() + ".json"));
    const Result judged = run({"check", again.string()});
    CAPTURE(judged.out, judged.err);
    // where float32 does not hold the scores, nothing can be certified, the exact result neither
    const bool open = judged.out.find("the scores decide nothing") != std::string::npos;
    CHECK(judged.code == (open ? 3 : 0));
    undecided += open;
    ++captures;
    wrong_before += run({"check", capture}).code == 1;
  }
  CHECK(captures > 5);
  CHECK(undecided <= 1);
  CHECK(wrong_before > 0);
}

TEST_CASE("an element that nothing certifies is counted, listed and told by the exit code") {
  const files::Folder folder;
  CallBuilder builder("plain");
  builder.floats("q", {2, 1}, {1, 1}).floats("k", {1, 1}, {1}).floats("v", {1, 1}, {1});
  builder.booleans("attn_mask", {2, 1}, {1, 0}).option("empty_row", std::string("any"));
  const std::string capture = write_capture(folder, "x", builder.call).string();
  const std::string to = (folder.path() / "reference.npz").string();
  const Result result = run({"reference", capture, "-o", to});
  CHECK(result.code == 3);
  CHECK(result.out.find("NOT CERTIFIED: 1") != std::string::npos);
  const auto certificate = open(to).certificate.at("arrays").at("out");
  CHECK(certificate.at("not_certified") == 1);
  CHECK(certificate.at("not_certified_at") == nlohmann::json({{1, 0}}));
}

TEST_CASE("the same capture gives the same file, and an old one is replaced") {
  const files::Folder folder;
  const std::string capture = write_capture(folder, "x", ordinary_call("plain").call).string();
  const auto to = folder.write("reference.npz", "something old");
  REQUIRE(run({"reference", capture, "-o", to.string()}).code == 0);
  const std::string first = files::read(to);
  REQUIRE(run({"reference", capture, "-o", to.string()}).code == 0);
  CHECK(files::read(to) == first);
  CHECK(entries(folder.path()).size() == 3);
}

TEST_CASE("where the reference cannot be had nothing is written") {
  const files::Folder folder;
  const std::string capture = write_capture(folder, "x", ordinary_call("plain").call).string();
  const std::string to = (folder.path() / "reference.npz").string();
  const auto before = entries(folder.path());
  check_refused(run({"reference", capture}), {"--output"});
  check_refused(run({"reference", capture, "-o", ""}), {"output"});
  check_refused(run({"reference", "-o", to}), {"CAPTURE"});
  check_refused(run({"reference", capture + "x", "-o", to}), {"NAME.npz"});
  check_refused(run({"reference", (folder.path() / "y.npz").string(), "-o", to}), {"no such file"});
  check_refused(run({"reference", capture, "-o", to, "--format", "float9"}),
                {"float9", "bfloat16"});
  check_refused(run({"reference", capture, "-o", to, "--dialect", "onnx-22"}), {"onnx-22"});
  check_refused(run({"reference", capture, "-o", folder.path().string()}), {"not a file"});
  check_refused(run({"reference", capture, "-o", (folder.path() / "none" / "r.npz").string()}),
                {"none/r.npz", "cannot be written"});
  CHECK(entries(folder.path()) == before);

  folder.write("y.npz", "no archive");
  folder.write("reference.npz", "something old");
  const std::string bad = (folder.path() / "y.npz").string();
  check_refused(run({"reference", bad, "-o", to}), {"y.npz"});
  CHECK(files::read(to) == "something old");

  fs::permissions(folder.path(), fs::perms(0555));
  const auto user = geteuid() == 0 ? test::User::nobody : test::User::same;
  if (run({"--help"}, user).code == 0) {
    fs::permissions(capture, fs::perms(0444));
    fs::permissions(folder.path() / "x.json", fs::perms(0444));
    check_refused(run({"reference", capture, "-o", to}, user), {"cannot be written"});
    CHECK(files::read(to) == "something old");
  }
  fs::permissions(folder.path(), fs::perms(0755));
}
