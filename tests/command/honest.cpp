// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Honest implementations and faulty ones, written here as plain loops: the honest are never failed,
// and a fault that moves the result is never passed.
#include "catch.hpp"

#include <attest/oracle/verdict.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "../oracle/call_builder.hpp"

namespace {

using namespace attest;
using attest::test::CallBuilder;
using oracle::ElementType;
using oracle::Verdict;

enum class Fault { none, causal_offset, scale_one_over_d, mask_ignored, heads_tiled };

// One call of the dialect plain, as its implementation sees it.
template <class T>
struct Problem {
  std::size_t batches = 1, heads = 1, groups = 1, queries = 1, keys = 1, width = 1, value_width = 1;
  std::vector<T> q, k, v;
  std::vector<std::uint8_t> allowed;  // (query, key); empty: no mask
  std::vector<T> added;               // (query, key); empty: no mask
  std::string causal = "none";
  std::int64_t left = -1, right = -1;
  bool tiled = false, scale_given = false;
  double scale = 0, softcap = 0;
};

// As it is written on the blackboard, every step in Real.
template <class Real, class T>
std::vector<Real> attention(const Problem<T>& p, Fault fault) {
  std::vector<Real> out(p.batches * p.heads * p.queries * p.value_width, Real(0));
  Real scale =
      p.scale_given ? static_cast<Real>(p.scale) : 1 / std::sqrt(static_cast<Real>(p.width));
  if (fault == Fault::scale_one_over_d) scale = 1 / static_cast<Real>(p.width);
  const auto cap = static_cast<Real>(p.softcap);
  const bool tiled = fault == Fault::heads_tiled ? !p.tiled : p.tiled;
  std::vector<Real> score(p.keys);
  std::vector<std::uint8_t> sees(p.keys);
  for (std::size_t b = 0; b < p.batches; ++b)
    for (std::size_t h = 0; h < p.heads; ++h)
      for (std::size_t i = 0; i < p.queries; ++i) {
        const std::size_t g = b * p.groups + (tiled ? h % p.groups : h / (p.heads / p.groups));
        const std::size_t row = (b * p.heads + h) * p.queries + i;
        Real maximum = -std::numeric_limits<Real>::infinity();
        bool any = false;
        for (std::size_t j = 0; j < p.keys; ++j) {
          const std::ptrdiff_t offset =
              p.causal == "bottom-right"
                  ? static_cast<std::ptrdiff_t>(p.keys) - static_cast<std::ptrdiff_t>(p.queries)
                  : 0;
          const std::ptrdiff_t ahead =
              static_cast<std::ptrdiff_t>(j) - static_cast<std::ptrdiff_t>(i) - offset;
          sees[j] = true;
          if (p.causal != "none" && ahead > (fault == Fault::causal_offset ? 1 : 0))
            sees[j] = false;
          if ((p.left >= 0 && -ahead > p.left) || (p.right >= 0 && ahead > p.right))
            sees[j] = false;
          if (!p.allowed.empty() && fault != Fault::mask_ignored && !p.allowed[i * p.keys + j])
            sees[j] = false;
          if (!sees[j]) continue;
          Real s = 0;
          for (std::size_t t = 0; t < p.width; ++t)
            s += static_cast<Real>(p.q[row * p.width + t]) *
                 static_cast<Real>(p.k[(g * p.keys + j) * p.width + t]);
          s *= scale;
          if (cap != 0) s = cap * std::tanh(s / cap);
          if (!p.added.empty() && fault != Fault::mask_ignored)
            s += static_cast<Real>(p.added[i * p.keys + j]);
          score[j] = s;
          any = true;
          maximum = std::max(maximum, s);
        }
        if (!any) continue;
        Real sum = 0;
        for (std::size_t j = 0; j < p.keys; ++j)
          if (sees[j]) sum += score[j] = std::exp(score[j] - maximum);
        for (std::size_t t = 0; t < p.value_width; ++t) {
          Real o = 0;
          for (std::size_t j = 0; j < p.keys; ++j)
            if (sees[j])
              o += score[j] / sum * static_cast<Real>(p.v[(g * p.keys + j) * p.value_width + t]);
          out[row * p.value_width + t] = o;
        }
      }
  return out;
}

template <class T>
constexpr ElementType type_of =
    std::is_same_v<T, float> ? ElementType::float32 : ElementType::float64;

template <class T>
CallBuilder to_call(const Problem<T>& p, const std::vector<T>& out) {
  CallBuilder builder("plain");
  const ElementType type = type_of<T>;
  builder.array("q", type, {p.batches, p.heads, p.queries, p.width}, p.q);
  builder.array("k", type, {p.batches, p.groups, p.keys, p.width}, p.k);
  builder.array("v", type, {p.batches, p.groups, p.keys, p.value_width}, p.v);
  builder.array("out", type, {p.batches, p.heads, p.queries, p.value_width}, out);
  if (!p.allowed.empty()) builder.booleans("attn_mask", {p.queries, p.keys}, p.allowed);
  if (!p.added.empty()) builder.array("attn_mask", type, {p.queries, p.keys}, p.added);
  builder.option("causal", p.causal)
      .option("heads_map", std::string(p.tiled ? "tiled" : "blocked"));
  builder.option("window", std::vector<std::int64_t>{p.left, p.right});
  if (p.scale_given) builder.option("scale", p.scale);
  if (p.softcap != 0) builder.option("softcap", p.softcap);
  return builder;
}

// What is drawn: ordinary magnitudes, or such that scores, values or the mask are extreme.
enum class Sort { ordinary, wide_scores, tiny_values, huge_values, extreme };

template <class T>
Problem<T> random_problem(std::uint64_t seed, Sort sort) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::normal_distribution<double> normal;
  Problem<T> p;
  p.batches = 1 + below(2);
  p.groups = 1 + below(3);
  p.heads = p.groups * (1 + below(3));
  p.queries = 1 + below(5);
  p.keys = 1 + below(9);
  p.width = 1 + below(8);
  p.value_width = 1 + below(4);
  double score_size = 1, value_size = 1;
  if (sort == Sort::wide_scores) score_size = std::ldexp(1.0, static_cast<int>(below(14)) - 4);
  if (sort == Sort::tiny_values) value_size = std::is_same_v<T, float> ? 1e-43 : 1e-320;
  if (sort == Sort::huge_values) value_size = std::is_same_v<T, float> ? 3e37 : 3e307;
  if (sort == Sort::extreme) {
    const int reach = std::is_same_v<T, float> ? 60 : 500;
    score_size =
        std::ldexp(1.0, static_cast<int>(below(static_cast<std::size_t>(2 * reach))) - reach);
    value_size =
        std::ldexp(1.0, static_cast<int>(below(static_cast<std::size_t>(4 * reach))) - 2 * reach);
  }
  const auto fill = [&](std::vector<T>& numbers, std::size_t count, double size) {
    numbers.resize(count);
    for (T& x : numbers) x = static_cast<T>(std::clamp(normal(random), -3.0, 3.0) * size);
  };
  fill(p.q, p.batches * p.heads * p.queries * p.width, score_size);
  fill(p.k, p.batches * p.groups * p.keys * p.width, score_size);
  fill(p.v, p.batches * p.groups * p.keys * p.value_width, value_size);
  const std::size_t mask = below(3);
  if (mask == 1)
    for (std::size_t n = 0; n < p.queries * p.keys; ++n) p.allowed.push_back(below(3) != 0);
  if (mask == 2) {
    fill(p.added, p.queries * p.keys, sort == Sort::extreme ? score_size : 1);
    for (T& x : p.added)
      if (sort != Sort::ordinary && below(6) == 0) x = std::numeric_limits<T>::lowest();
  }
  p.causal = std::vector<std::string>{"none", "top-left", "bottom-right"}[below(3)];
  if (below(4) == 0) p.left = static_cast<std::int64_t>(below(4));
  if (below(4) == 0) p.right = static_cast<std::int64_t>(below(4));
  p.tiled = below(2) != 0;
  p.scale_given = below(3) == 0;
  if (p.scale_given) p.scale = static_cast<double>(static_cast<T>(std::abs(normal(random)) + 0.1));
  if (below(4) == 0) {
    static const std::vector<double> caps = {0.5, 2, 30, 1e-3, 1e6, 1e30, 1e-30};
    const double cap =
        sort == Sort::ordinary ? 2 + static_cast<double>(below(30)) : caps[below(caps.size())];
    p.softcap = static_cast<double>(static_cast<T>(cap));
  }
  return p;
}

template <class T>
std::string failure(const std::vector<T>& out, const CallBuilder& builder) {
  const oracle::Report report = oracle::judge(builder.call);
  if (report.verdict != Verdict::fail) return "";
  std::ostringstream text;
  text.precision(17);
  const oracle::Element& worst = *report.outputs.at(0).worst;
  text << "got " << worst.got << ", exact " << worst.exact.high << ", allowed " << worst.allowed
       << ", expects a special result: " << worst.expected.any() << ", of " << out.size();
  return text.str();
}

template <class T>
void honest_pass(std::uint64_t first_seed, std::size_t rounds) {
  std::size_t passed = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + rounds; ++seed)
    for (const Sort sort :
         {Sort::ordinary, Sort::wide_scores, Sort::tiny_values, Sort::huge_values, Sort::extreme}) {
      const Problem<T> p = random_problem<T>(seed, sort);
      const std::vector<T> out = attention<T>(p, Fault::none);
      const CallBuilder builder = to_call(p, out);
      const std::string what = failure(out, builder);
      if (!what.empty()) {
        CAPTURE(seed, static_cast<int>(sort), p.softcap, p.causal);
        FAIL_CHECK(what);
      }
      if (sort == Sort::ordinary) passed += oracle::judge(builder.call).verdict == Verdict::pass;
    }
  // "never fail" would be kept by a judge that never decides
  CHECK(passed == rounds);
}

template <class T>
void faults_are_caught(std::uint64_t first_seed, std::size_t rounds) {
  for (const Fault fault :
       {Fault::causal_offset, Fault::scale_one_over_d, Fault::mask_ignored, Fault::heads_tiled}) {
    std::size_t moved = 0;
    for (std::uint64_t seed = first_seed; seed < first_seed + rounds; ++seed) {
      const Problem<T> p = random_problem<T>(seed, Sort::ordinary);
      const std::vector<double> right = attention<double>(p, Fault::none),
                                wrong = attention<double>(p, fault);
      double distance = 0;
      for (std::size_t n = 0; n < right.size(); ++n)
        distance = std::max(distance, std::fabs(right[n] - wrong[n]));
      if (distance <= 1e-3) continue;
      ++moved;
      const CallBuilder builder = to_call(p, attention<T>(p, fault));
      const Verdict verdict = oracle::judge(builder.call).verdict;
      if (verdict != Verdict::fail) {
        CAPTURE(seed, static_cast<int>(fault), distance, to_string(verdict));
        FAIL_CHECK("a fault was not caught");
      }
    }
    CAPTURE(static_cast<int>(fault));
    CHECK(moved > rounds / 10);
  }
}

}  // namespace

TEST_CASE("plain loops in float32 are never failed") {
  honest_pass<float>(1, 150);
}
TEST_CASE("plain loops in float64 are never failed") {
  honest_pass<double>(1, 60);
}
TEST_CASE("faults that move the result are never passed, in float32") {
  faults_are_caught<float>(1, 150);
}
TEST_CASE("faults that move the result are never passed, in float64") {
  faults_are_caught<double>(1, 60);
}

TEST_CASE("plain loops are never failed, faults never passed, on a great many calls", "[.long]") {
  const std::uint64_t seed = (std::uint64_t{std::random_device{}()} << 20) + 1'000'000;
  WARN("seed " << seed);
  honest_pass<float>(seed, 20'000);
  honest_pass<double>(seed, 5'000);
  faults_are_caught<float>(seed, 20'000);
  faults_are_caught<double>(seed, 5'000);
}
