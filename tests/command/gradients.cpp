// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A real capture with gradients: each array is judged, shown and found when it is changed.
#include "catch.hpp"

#include <attest/format/capture.hpp>
#include <attest/oracle/verdict.hpp>
#include <attest/report.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace attest;
using oracle::Verdict;

const std::string capture = ATTEST_TEST_DATA "/torch113-mha-basic16_grad.npz";

// The element of the largest magnitude of a float32 array, made larger by a thousandth.
std::vector<float> with_one_changed(const oracle::Tensor& array) {
  std::vector<float> numbers(array.size());
  std::memcpy(numbers.data(), array.data, numbers.size() * sizeof(float));
  const auto largest = std::max_element(
      numbers.begin(), numbers.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); });
  *largest *= 1.001f;
  return numbers;
}

}  // namespace

TEST_CASE("PyTorch's gradients pass; one changed by a thousandth fails in its own array") {
  format::Capture loaded = format::load_capture(capture);
  const oracle::Report right = oracle::judge(loaded.call);
  CHECK(right.verdict == Verdict::pass);
  CHECK(right.not_judged.empty());
  for (const std::string name : {"dq", "dk", "dv"}) {
    CAPTURE(name);
    oracle::Call call = loaded.call;
    const std::vector<float> changed = with_one_changed(call.arrays.at(name));
    call.arrays.at(name).data = reinterpret_cast<const std::byte*>(changed.data());
    for (const oracle::OutputReport& output : oracle::judge(call).outputs) {
      CAPTURE(output.name);
      CHECK(output.failed == (output.name == name ? 1 : 0));
    }
  }
}

TEST_CASE("the report names gradients, in words and in JSON, and where the worst element is") {
  const command::Outcome outcome = command::check(capture, {});
  const std::string words = command::in_words(outcome), json = command::as_json({outcome});
  for (const char* name : {"dq", "dk", "dv"}) {
    CHECK(words.find("  " + std::string(name) + ": pass, 1024 elements") != std::string::npos);
    CHECK(json.find("\"" + std::string(name) + "\": {") != std::string::npos);
  }
  const std::string of_key = words.substr(words.find("  dk: "));
  CHECK(of_key.substr(0, of_key.find("  dv: ")).find(", key ") != std::string::npos);
  const std::string of_query = words.substr(words.find("  dq: "));
  CHECK(of_query.substr(0, of_query.find("  dk: ")).find(", query ") != std::string::npos);
  CHECK(words.find("not judged") == std::string::npos);
}
