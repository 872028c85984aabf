// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Outputs made with a wrong scale tell it; right outputs, and outputs that are wrong otherwise,
// tell none. The outputs are plain loops of their own, in float.
#include "call_builder.hpp"
#include "catch.hpp"

#include <attest/oracle/scale_estimate.hpp>
#include <attest/oracle/verdict.hpp>

#include <cmath>
#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace attest::oracle;
using attest::test::CallBuilder;

struct Extents {
  std::size_t heads = 3, queries = 24, keys = 40, width = 64, value_width = 16;
};

struct Input {
  Extents n;
  std::vector<float> q, k, v;

  explicit Input(std::uint64_t seed, Extents extents = {}, float size = 1) : n(extents) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    const auto fill = [&](std::vector<float>& x, std::size_t count, float times) {
      x.resize(count);
      for (float& y : x) y = normal(random) * times;
    };
    fill(q, n.heads * n.queries * n.width, size);
    fill(k, n.heads * n.keys * n.width, 1);
    fill(v, n.heads * n.keys * n.value_width, 1);
  }

  // Attention of the `keys` first keys with the given scale, and softcap unless that is 0.
  std::vector<float> attend(float scale, float softcap = 0, std::size_t keys = 0) const {
    if (keys == 0) keys = n.keys;
    std::vector<float> out(n.heads * n.queries * n.value_width), e(keys);
    for (std::size_t h = 0; h < n.heads; ++h)
      for (std::size_t i = 0; i < n.queries; ++i) {
        float maximum = -HUGE_VALF, sum = 0;
        for (std::size_t j = 0; j < keys; ++j) {
          float s = 0;
          for (std::size_t t = 0; t < n.width; ++t)
            s += q[(h * n.queries + i) * n.width + t] * k[(h * n.keys + j) * n.width + t];
          e[j] = softcap == 0 ? s * scale : softcap * std::tanh(s * scale / softcap);
          maximum = std::max(maximum, e[j]);
        }
        for (float& x : e) sum += x = std::exp(x - maximum);
        for (std::size_t t = 0; t < n.value_width; ++t) {
          float o = 0;
          for (std::size_t j = 0; j < keys; ++j)
            o += e[j] * v[(h * n.keys + j) * n.value_width + t];
          out[(h * n.queries + i) * n.value_width + t] = o / sum;
        }
      }
    return out;
  }

  CallBuilder call(const std::vector<float>& out) const {
    CallBuilder builder("plain");
    builder.floats("q", {1, n.heads, n.queries, n.width}, q);
    builder.floats("k", {1, n.heads, n.keys, n.width}, k);
    builder.floats("v", {1, n.heads, n.keys, n.value_width}, v);
    builder.floats("out", {1, n.heads, n.queries, n.value_width}, out);
    return builder;
  }
};

std::optional<ScaleEstimate> estimate(const Call& call) {
  const Problem problem = read_problem(call);
  const Precision claim = claimed_precision(call, problem);
  return estimate_scale(problem, claim, judge(problem, claim));
}

}  // namespace

TEST_CASE("a wrong scale is told from the output") {
  const Input input(1);
  const std::vector<std::pair<double, std::string>> wrong = {
      {1 / std::sqrt(128.0), "1/√128"},  // the width of another model
      {1 / std::sqrt(192.0), "1/√192"},  // 3 heads of 64: the width of the embedding
      {1.0 / 64, "1/64"},                // divided by d instead of its root
      {1 / std::sqrt(63.0), "1/√63"},
      {0.125 * 1.4426950408889634, "log₂e times the scale"},
      {0, "0"},
      {1, "1"}};
  for (const auto& [scale, name] : wrong) {
    CAPTURE(scale, name);
    const auto found = estimate(input.call(input.attend(static_cast<float>(scale))).call);
    REQUIRE(found);
    CHECK(found->named == name);
    CHECK(std::fabs(found->scale - scale) <= 1e-6 * std::fabs(scale));
    CHECK(std::fabs(found->fit.scale - scale) <= 1e-5 * (std::fabs(scale) + 1e-2));
  }
  const Report report = judge(input.call(input.attend(1 / std::sqrt(128.0f))).call);
  REQUIRE(report.scale_estimate);
  CHECK(in_words(*report.scale_estimate) ==
        "the output fits a scale of 0.0883883 = 1/√128 instead of 0.125 = 1/√64");
}

TEST_CASE("a wrong scale without a name is told to a millionth") {
  const Input input(2);
  for (const double scale : {0.1, 0.1251, 0.13, 0.4}) {
    CAPTURE(scale);
    const auto found = estimate(input.call(input.attend(static_cast<float>(scale))).call);
    REQUIRE(found);
    CHECK(std::fabs(found->fit.scale - scale) <= 1e-5 * scale);
    CHECK(found->fit.standard_error <= 1e-6);
    CHECK(found->fit.rows == 72);
  }
}

TEST_CASE("a wrong scale is told beneath a softcap too") {
  const Input input(3, {}, 4);
  CallBuilder call = input.call(input.attend(1 / std::sqrt(128.0f), 2.5f));
  call.option("softcap", 2.5);
  const auto found = estimate(call.call);
  REQUIRE(found);
  CHECK(found->named == "1/√128");
}

TEST_CASE("right outputs fit their own scale, and no estimate is made") {
  for (std::uint64_t seed = 10; seed < 40; ++seed) {
    const Extents n{1 + seed % 3, 1 + seed % 7, 1 + 5 * (seed % 9), 1 + 7 * (seed % 5),
                    1 + seed % 4};
    const Input input(seed, n, seed % 4 == 0 ? 8.0f : 1.0f);
    const CallBuilder call = input.call(input.attend(1 / std::sqrt(static_cast<float>(n.width))));
    CAPTURE(seed);
    CHECK(!estimate(call.call));
  }
  const Input input(5);
  const CallBuilder call = input.call(input.attend(0.125f));
  const Problem problem = read_problem(call.call);
  const auto fit = fit_scale(problem, claimed_precision(call.call, problem));
  REQUIRE(fit);
  CHECK(std::fabs(fit->scale - 0.125) <= 1e-6);
}

TEST_CASE("what is wrong otherwise is not called a scale") {
  const Input input(6);
  // the last key dropped
  CHECK(!estimate(input.call(input.attend(0.125f, 0, input.n.keys - 1)).call));
  // values of another head
  std::vector<float> out = input.attend(0.125f);
  std::rotate(out.begin(), out.begin() + 24 * 16, out.end());
  CHECK(!estimate(input.call(out).call));
  // one row wrong, whatever the scale
  out = input.attend(0.125f);
  for (std::size_t t = 0; t < 16; ++t) out[t] = 0;
  CHECK(!estimate(input.call(out).call));
  // some scale fits a single number always
  const Input tiny(7, {1, 1, 5, 4, 1});
  CHECK(!estimate(tiny.call(tiny.attend(0.9f)).call));
}

TEST_CASE("a scale is estimated only of what does not pass, and only if all of it does by that") {
  const Input input(8);
  // so little that the arithmetic may lose as much: the fit sees it, the verdict does not
  const CallBuilder slightly = input.call(input.attend(0.125f * (1 + 0x1p-19f)));
  const Problem problem = read_problem(slightly.call);
  const Precision claim = claimed_precision(slightly.call, problem);
  const auto fit = fit_scale(problem, claim);
  REQUIRE(fit);
  CHECK(fit->scale - 0.125 > 6 * fit->standard_error);
  CHECK(fit->left < 0.5);
  CHECK(judge(slightly.call).verdict == Verdict::pass);
  CHECK(!estimate(slightly.call));

  std::vector<float> out = input.attend(1 / std::sqrt(128.0f));
  CHECK(estimate(input.call(out).call));
  out.back() += 1;
  CHECK(!estimate(input.call(out).call));
}
