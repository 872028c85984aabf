// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Fuzz: whatever call is made up, it is judged or refused as a bad call; nothing else is thrown,
// nothing read beside the arrays (the sanitizers look on), and it ends.
#include "catch.hpp"

#include <attest/check.hpp>
#include <attest/oracle/verdict.hpp>
#include <attest/report.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "../oracle/call_builder.hpp"

namespace {

using namespace attest;
using attest::test::CallBuilder;
using oracle::Attribute;
using oracle::ElementType;
using oracle::Shape;

constexpr std::size_t type_count = std::size(oracle::element_types);

// Makes up calls: shapes that mostly fit, elements and options from the edges of what there is.
class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  CallBuilder call() {
    static const std::vector<std::string> dialects = {"onnx-23", "onnx-24", "onnx-25", "torch",
                                                      "plain"};
    const std::string dialect = pick(dialects);
    const bool onnx = dialect.starts_with("onnx");
    CallBuilder builder(dialect);
    edge_ = pick<int>({0, 0, 0, 1, 2, 3, 4, 5});
    const std::size_t batches = 1 + below(2), groups = 1 + below(2),
                      heads = groups * (1 + below(3));
    const std::size_t queries = 1 + below(4), width = 1 + below(3), value_width = 1 + below(3);
    const std::size_t fresh = one_in(10) ? 0 : below(7), past = onnx && one_in(3) ? below(4) : 0;
    const std::size_t keys = past + fresh;
    const ElementType type = pick<ElementType>(
        {ElementType::float32, ElementType::float32, ElementType::float64, ElementType::float16,
         ElementType::bfloat16, ElementType::float8_e4m3fn, ElementType::float8_e5m2});
    const auto kin = [&] { return one_in(8) ? any_type() : type; };

    bool split = onnx && one_in(4);
    const auto heads_of = [&](std::size_t h, std::size_t rows, std::size_t columns) -> Shape {
      if (split) return {batches, rows, h * columns};
      if (builder.call.layout == "bshd") return {batches, rows, h, columns};
      return {batches, h, rows, columns};
    };
    if (one_in(5)) builder.call.layout = "bshd";
    if (split) {
      builder.option("q_num_heads", static_cast<std::int64_t>(heads));
      builder.option("kv_num_heads", static_cast<std::int64_t>(groups));
    }
    put(builder, "q", kin(), heads_of(heads, queries, width));
    put(builder, "k", kin(), heads_of(groups, fresh, width));
    put(builder, "v", kin(), heads_of(groups, fresh, value_width));
    if (!one_in(10)) put(builder, "out", kin(), heads_of(heads, queries, value_width));
    if (past) {
      put(builder, "past_key", kin(), {batches, groups, past, width});
      if (!one_in(20)) put(builder, "past_value", kin(), {batches, groups, past, value_width});
    }
    if (onnx && one_in(3)) put(builder, "present_key", kin(), {batches, groups, keys, width});
    if (onnx && one_in(3))
      put(builder, "present_value", kin(), {batches, groups, keys, value_width});
    if (onnx && one_in(3)) put(builder, "qk_matmul_output", kin(), {batches, heads, queries, keys});
    if (one_in(2)) {
      Shape mask = {batches, heads, queries, keys};
      for (std::size_t& extent : mask)
        if (one_in(4)) extent = 1;
      if (one_in(5) && mask[3]) mask[3] = below(mask[3]);
      mask.erase(mask.begin(), mask.begin() + static_cast<std::ptrdiff_t>(below(4)));
      put(builder, "attn_mask", one_in(2) ? ElementType::boolean : any_type(), mask);
    }
    if (one_in(6) && dialect != "onnx-23") {
      std::vector<std::int64_t> lengths(batches);
      for (auto& length : lengths)
        length = one_in(12) ? pick<std::int64_t>({-1, INT64_MIN, INT64_MAX, 1 << 20})
                            : static_cast<std::int64_t>(below(keys + 1));
      if (onnx || one_in(10)) builder.integers("nonpad_kv_seqlen", {batches}, lengths);
    }
    options(builder, onnx);
    if (one_in(4)) damage(builder);
    return builder;
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class T>
  T pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }
  ElementType any_type() { return oracle::element_types[below(type_count)].type; }

  // A number of the sort that this call is about.
  double number() {
    static const std::vector<double> extreme = {
        0.0,           -0.0,   1.0,   -1.0,   3e38,  -3e38,   1e308, -1e308, 1e-45,
        4.9e-324,      1e-310, 65504, -65504, 1e-7,  6e-8,    0.1,   1e30,   -1e30,
        -3.4028235e38, 448,    57344, 1e-20,  1e154, -1e-154, 709.0, 88.7,   -104.0};
    static const std::vector<double> unreal = {NAN, HUGE_VAL, -HUGE_VAL};
    const double common = std::normal_distribution<double>()(random_);
    switch (edge_) {
      case 0:
        return common;
      case 1:
        return one_in(3) ? pick(extreme) : common;
      case 2:
        return one_in(10) ? pick(unreal) : common;
      case 3:
        return one_in(3) ? pick(unreal) : pick(extreme);
      case 4:
        return pick(extreme);
      default:
        return std::ldexp(common, static_cast<int>(below(2200)) - 1100);
    }
  }

  void put(CallBuilder& builder, const std::string& name, ElementType type, Shape shape) {
    const std::size_t count = oracle::element_count(shape);
    const std::size_t bytes = oracle::facts(type).bytes;
    std::vector<std::uint8_t> memory(count * bytes);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t bits = random_();
      if (type == ElementType::float64) {
        const double x = number();
        std::memcpy(&bits, &x, sizeof x);
      } else if (type == ElementType::float32) {
        const auto x = static_cast<float>(number());
        std::memcpy(&bits, &x, sizeof x);
      } else if (type == ElementType::boolean) {
        bits &= 1;
      } else if (edge_ == 0) {
        bits &= bytes == 1 ? 0x3f : 0x3fff;  // no NaN, no infinity, nothing large
      }
      std::memcpy(memory.data() + i * bytes, &bits, bytes);
    }
    builder.array(name, type, std::move(shape), memory);
  }

  double attribute_number() {
    return pick<double>({0.0,    -0.0,     1.0,       -1.0,  0.5,    1e308, -1e308,
                         1e-300, 1e300,    4.9e-324,  1e-45, 3.4e38, 30.0,  1e-8,
                         NAN,    HUGE_VAL, -HUGE_VAL, 1e39,  2.0,    0.25});
  }

  void options(CallBuilder& builder, bool onnx) {
    const auto integer = [&](std::vector<std::int64_t> from) { return Attribute(pick(from)); };
    if (one_in(3)) {
      const double scale = attribute_number();
      builder.option("scale",
                     onnx && std::isfinite(scale) ? std::clamp(scale, -3e38, 3e38) : scale);
    }
    if (one_in(3) && builder.call.dialect != "torch") builder.option("softcap", attribute_number());
    if (builder.call.dialect == "plain") {
      if (one_in(2))
        builder.option("causal", pick<std::string>({"none", "top-left", "bottom-right"}));
      if (one_in(3)) builder.option("heads_map", pick<std::string>({"blocked", "tiled"}));
      if (one_in(2)) builder.option("empty_row", pick<std::string>({"zero", "nan", "mean", "any"}));
      if (one_in(3))
        builder.option("window",
                       std::vector<std::int64_t>{pick<std::int64_t>({-1, 0, 1, 2, INT32_MAX}),
                                                 pick<std::int64_t>({-1, 0, 1, 2, INT32_MAX})});
    } else if (one_in(2)) {
      builder.option("is_causal", integer({0, 1, 1, 1}));
    }
    if (builder.call.dialect == "torch") builder.option("enable_gqa", true);
    if (onnx) {
      if (one_in(2)) builder.option("qk_matmul_output_mode", integer({0, 1, 2, 3}));
      if (one_in(4)) builder.option("softmax_precision", integer({1, 10, 11, 16}));
    }
    if (builder.call.dialect == "onnx-25" && one_in(2)) {
      builder.option("left_window_size", integer({-1, 0, 1, 2, INT32_MAX}));
      builder.option("right_window_size", integer({-1, 0, 1, 2, INT32_MAX}));
    }
    if (one_in(3)) {
      for (const char* step : {"accumulate", "scores", "softmax", "weights"})
        if (one_in(2))
          builder.call.precision[step] = pick<std::string>(
              {"float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"});
      if (one_in(2)) builder.call.precision["tile"] = integer({0, 1, 2, 64, INT64_MAX});
    }
  }

  // What no honest call says.
  void damage(CallBuilder& builder) {
    static const std::vector<std::string> names = {"q",
                                                   "k",
                                                   "v",
                                                   "attn_mask",
                                                   "past_key",
                                                   "past_value",
                                                   "nonpad_kv_seqlen",
                                                   "out",
                                                   "qk_matmul_output",
                                                   "present_key",
                                                   "present_value",
                                                   "lse",
                                                   "dout",
                                                   "dq",
                                                   "dk",
                                                   "dv",
                                                   "dsinks",
                                                   "dattn_mask",
                                                   "dlse",
                                                   "sinks"};
    switch (below(5)) {
      case 0:
        builder.call.arrays.erase(pick(names));
        break;
      case 1: {
        Shape shape(below(6));
        for (std::size_t& extent : shape) extent = below(4);
        put(builder, pick(names), any_type(), shape);
        break;
      }
      case 2:
        builder.option(
            pick<std::string>({"scale", "softcap", "is_causal", "causal", "window", "q_num_heads",
                               "kv_num_heads", "left_window_size", "qk_matmul_output_mode",
                               "softmax_precision", "dropout_p", ""}),
            pick<Attribute>({true, std::int64_t{-1}, INT64_MIN, INT64_MAX, std::int64_t{0}, 1e300,
                             NAN, std::string("x"), std::vector<std::int64_t>{},
                             std::vector<std::int64_t>{INT64_MIN, 0}}));
        break;
      case 3:
        builder.call.precision[pick<std::string>({"tile", "weights", "output", ""})] =
            pick<Attribute>(
                {true, std::int64_t{-1}, INT64_MIN, 0.5, std::string("int8"), std::string("")});
        break;
      default:
        builder.call.layout = pick<std::string>({"bshd", "bhsd"});
    }
  }

  std::mt19937_64 random_;
  int edge_ = 0;
};

struct Tally {
  std::size_t judged = 0, refused = 0, passed = 0, failed = 0, open = 0;
  double slowest = 0;
};

Tally fuzz(std::uint64_t first_seed, std::size_t rounds) {
  Tally tally;
  for (std::uint64_t seed = first_seed; seed < first_seed + rounds; ++seed) {
    CAPTURE(seed);
    const CallBuilder builder = Maker(seed).call();
    const auto begin = std::chrono::steady_clock::now();
    try {
      command::Outcome outcome;
      outcome.capture = "x.npz";
      outcome.dialect = builder.call.dialect;
      outcome.report = oracle::judge(builder.call);
      ++tally.judged;
      const oracle::Report& report = outcome.report;
      tally.passed += report.verdict == oracle::Verdict::pass;
      tally.failed += report.verdict == oracle::Verdict::fail;
      tally.open += report.verdict == oracle::Verdict::no_certificate;
      for (const oracle::OutputReport& output : report.outputs) {
        if (output.failed + output.undecided + output.unspecified > output.elements)
          FAIL("more elements than there are");
        if (output.worst && output.worst->verdict != oracle::Verdict::no_certificate &&
            std::isfinite(output.worst->got) && std::isnan(output.worst->allowed))
          FAIL("a tolerance that is no number: " << command::in_words(outcome));
      }
      if (command::in_words(outcome).find("x.npz: ") != 0)
        FAIL("a report that does not name its capture");
      if (!nlohmann::json::parse(command::as_json({outcome})).contains("verdict"))
        FAIL("a report without verdict");
    } catch (const oracle::BadCall& bad) {
      ++tally.refused;
      const std::string message = bad.what();
      if (message.empty() || message.find('\n') != std::string::npos)
        FAIL("a message that is not one line: " << message);
    }
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    tally.slowest = std::max(tally.slowest, spent.count());
  }
  return tally;
}

}  // namespace

TEST_CASE("a made-up call is judged or refused, nothing else") {
  const Tally tally = fuzz(1, 2000);
  // of each kind many: a fuzz that is always refused at once tests only the first check
  CHECK(tally.judged > 200);
  CHECK(tally.refused > 200);
  CHECK(tally.passed > 0);  // made-up numbers are seldom right
  CHECK(tally.failed > 100);
  CHECK(tally.open > 5);
  CHECK(tally.slowest < 30);
}

TEST_CASE("a great many made-up calls are judged or refused, nothing else", "[.long]") {
  const std::uint64_t seed = (std::uint64_t{std::random_device{}()} << 20) + 1'000'000;
  WARN("seed " << seed);
  const Tally tally = fuzz(seed, 200'000);
  WARN(tally.judged << " judged (" << tally.passed << " pass, " << tally.failed << " fail, "
                    << tally.open << " undecided), " << tally.refused << " refused, the slowest in "
                    << tally.slowest << " s");
  CHECK(tally.slowest < 30);
}
