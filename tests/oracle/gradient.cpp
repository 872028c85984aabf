// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Gradients and log-sum-exp: enclosed whatever the data, right implementations never called wrong,
// faults found in the array they are in.
#include "gradient_case.hpp"

#include <attest/oracle/double_double.hpp>
#include <attest/oracle/gradient_enclosure.hpp>
#include <attest/oracle/gradient_tolerance.hpp>
#include <attest/oracle/verdict.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace attest;
using namespace attest::test;
using oracle::OutputReport;
using oracle::Verdict;

const OutputReport& output(const oracle::Report& report, const std::string& name) {
  const auto found = std::find_if(report.outputs.begin(), report.outputs.end(),
                                  [&](const OutputReport& o) { return o.name == name; });
  REQUIRE(found != report.outputs.end());
  return *found;
}

double spread_of(std::uint64_t seed) {
  return std::ldexp(1.0, static_cast<int>(seed % 9) - 4);
}

// A case each of whose queries sees the first key.
GradientCase visible_case(std::uint64_t seed, const oracle::NumberFormat& format) {
  GradientCase c = random_case(seed, spread_of(seed), format);
  for (std::size_t n = 0; n < c.bias.size(); n += c.keys)
    if (std::isinf(c.bias[n])) c.bias[n] = 0;
  return c;
}

template <class Real>
void check_row(const RandomRow& row, const std::vector<double>& d_output, double d_lse) {
  const oracle::RowData& data = row.data;
  const ExactRow exact = exact_row(row);
  oracle::RowEnclosure<Real> enclosed;
  oracle::enclose_scores(row.rule, data, false, enclosed);
  oracle::RowGradient<Real> gradient;
  oracle::enclose_row_gradient(row.rule, data, enclosed, d_output.data(),
                               oracle::EnclosedNumber<Real>{Real(d_lse), 0}, gradient);
  const auto exponentials = oracle::enclose_exponentials(data, enclosed.scores);
  const auto lse = oracle::enclose_log_sum_exp(exponentials);
  Reference sum = 0, level = 0;
  std::vector<Reference> dp;
  Reference maximum = -std::numeric_limits<Reference>::infinity();
  for (std::size_t j = 0; j < data.key_count; ++j) {
    if (data.visible(j) && exact.biased[j] > maximum) maximum = exact.biased[j];
    Reference x = 0;
    for (std::size_t t = 0; t < data.value_width; ++t)
      x += Reference(d_output[t]) * Reference(data.value(j)[t]);
    dp.push_back(x);
    level += exact.weights[j] * x;
  }
  for (std::size_t j = 0; j < data.key_count; ++j)
    if (data.visible(j)) sum += exp(Reference(exact.biased[j] - maximum));
  const auto holds = [](const oracle::Enclosure& x, const Reference& y) {
    return abs(Reference(Reference(x.high) + x.low - y)) <= Reference(x.radius);
  };
  if (lse.radius < HUGE_VAL) {
    const Reference natural = maximum + log(sum);
    RC_ASSERT(holds(oracle::enclosure(lse.value, lse.radius), natural));
    const auto two = oracle::in_base_two(lse);
    RC_ASSERT(
        holds(oracle::enclosure(two.value, two.radius), Reference(natural / log(Reference(2)))));
  }
  if (!gradient.bounded) return;
  const Reference c = row.rule.scale.by_width ? Reference(1 / sqrt(Reference(data.width)))
                                              : Reference(row.rule.scale.given);
  for (std::size_t j = 0; j < data.key_count; ++j) {
    const Reference ds = exact.weights[j] * (dp[j] - level + d_lse);
    Reference g = c * ds;
    if (row.rule.softcap != 0) {
      const Reference x = cosh(Reference(exact.scaled[j] / row.rule.softcap));
      g /= x * x;
    }
    if (!data.visible(j)) g = 0;
    RC_ASSERT(
        holds(oracle::enclosure(gradient.weights[j], gradient.weight_radius[j]), exact.weights[j]));
    RC_ASSERT(holds(oracle::enclosure(gradient.scores[j], gradient.score_radius[j]), ds));
    RC_ASSERT(holds(oracle::enclosure(gradient.products[j], gradient.product_radius[j]), g));
  }
}

void check_row(std::uint64_t seed, std::size_t keys, const RowKind& kind) {
  RandomRow row = random_row(seed, 1 + seed % 9, 1 + seed % 5, keys, kind,
                             seed % 2 ? oracle::formats::float32 : oracle::formats::float64);
  // a key whose value is the mean of all: its own weight has no say in its derivative, D all of it
  if (seed % 4 < 2) {
    const ExactRow exact = exact_row(row);
    for (std::size_t t = 0; t < row.data.value_width; ++t) {
      const Reference own = exact.weights[0];
      const Reference others = exact.outputs[t] - own * row.values[t];
      if (own < Reference(0.9)) row.values[t] = static_cast<double>(Reference(others / (1 - own)));
    }
  }
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> d_output(row.data.value_width);
  for (double& a : d_output) a = normal(random);
  const double d_lse = seed % 3 ? normal(random) : 0;
  check_row<double>(row, d_output, d_lse);
  check_row<oracle::DoubleDouble>(row, d_output, d_lse);
  check_row<oracle::Wide>(row, d_output, d_lse);
}

}  // namespace

TEST_CASE("a row's weights, derivatives and log-sum-exp lie in their enclosures in every tier") {
  CHECK(rc::check("all kinds of rows", [] {
    const RowKind kind = any_kind();
    const auto first = *rc::gen::arbitrary<std::uint64_t>();
    const auto keys = static_cast<std::size_t>(*rc::gen::inRange(1, 24));
    for (std::uint64_t seed = first; seed - first < 12; ++seed) check_row(seed, keys, kind);
  }));
}

TEST_CASE("enclosures are narrow: of ordinary rows 12 digits in double, 60 in the wide tier") {
  const RowKind kind{1, 1, false, false, 0, 0, 0};
  const RandomRow row = random_row(1, 8, 4, 16, kind, oracle::formats::float32);
  const std::vector<double> d_output{1, -2, 0.5, 3};
  const auto widest = [&]<class Real>(Real) {
    oracle::RowEnclosure<Real> enclosed;
    oracle::enclose_scores(row.rule, row.data, false, enclosed);
    oracle::RowGradient<Real> gradient;
    oracle::enclose_row_gradient(row.rule, row.data, enclosed, d_output.data(),
                                 oracle::EnclosedNumber<Real>{Real(0), 0}, gradient);
    return *std::max_element(gradient.product_radius.begin(), gradient.product_radius.end());
  };
  CHECK(widest(double{}) < 1e-12);
  CHECK(widest(oracle::DoubleDouble{}) < 1e-25);
  CHECK(widest(oracle::Wide{}) < 1e-55);
}

// Every sum over keys, rows, heads: the exact results pass as float64, and one that is changed is
// shown with an enclosure that holds the exact one.
TEST_CASE("each gradient's enclosure holds the exact one; what is exact passes") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const GradientCase c = visible_case(seed, oracle::formats::float64);
    const Results<Reference> exact = exact_gradients(c);
    Results<double> rounded;
    for (const auto& [name, numbers] : exact)
      for (const Reference& x : numbers) rounded[name].push_back(static_cast<double>(x));
    const oracle::Report right = oracle::judge(call_of(c, rounded, oracle::formats::float64).call);
    CHECK(right.verdict == Verdict::pass);
    CHECK(right.not_judged.empty());
    Results<double> changed = rounded;
    std::map<std::string, std::size_t> at;
    for (auto& [name, numbers] : changed) {
      if (numbers.empty()) continue;
      at[name] = seed % numbers.size();
      numbers[at[name]] += 1;
    }
    const oracle::Report report = oracle::judge(call_of(c, changed, oracle::formats::float64).call);
    for (const auto& [name, n] : at) {
      CAPTURE(name);
      const OutputReport& found = output(report, name);
      CHECK(found.failed == 1);
      CHECK(found.elements == changed[name].size());
      const oracle::Enclosure& shown = found.worst->exact;
      CHECK(abs(Reference(Reference(shown.high) + shown.low - exact.at(name)[n])) <=
            Reference(shown.radius));
      CHECK(shown.radius < 1e-9);
    }
  }
}

TEST_CASE("right implementations in float32 pass, a log-sum-exp stored between or not") {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed)
    for (const bool by_log_sum_exp : {false, true}) {
      CAPTURE(seed, by_log_sum_exp);
      const GradientCase c = visible_case(seed, oracle::formats::float32);
      Backward how;
      how.by_log_sum_exp = by_log_sum_exp;
      const auto call = call_of(c, computed_gradients(c, how), oracle::formats::float32);
      const oracle::Report report = oracle::judge(call.call);
      for (const OutputReport& one : report.outputs) {
        CAPTURE(one.name);
        // out alone is open where scores are large enough for its own bounds
        if (one.name != "out") CHECK(one.verdict == Verdict::pass);
        CHECK(one.verdict != Verdict::fail);
      }
    }
}

TEST_CASE("weights and d_s in 16 bits are right where they are claimed, and only there") {
  std::size_t without_claim = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed)
    for (const auto* narrow : {&oracle::formats::float16, &oracle::formats::bfloat16}) {
      CAPTURE(seed, narrow->name);
      const GradientCase c = visible_case(seed, oracle::formats::float32);
      Backward how;
      how.by_log_sum_exp = seed % 2 == 0;
      how.narrow = narrow;
      auto call = call_of(c, computed_gradients(c, how), oracle::formats::float32);
      without_claim += oracle::judge(call.call).verdict == Verdict::fail;
      call.call.precision["weights"] = std::string(narrow->name);
      const oracle::Report report = oracle::judge(call.call);
      for (const OutputReport& one : report.outputs) CHECK(one.verdict != Verdict::fail);
      CHECK(output(report, "dv").verdict == Verdict::pass);
    }
  CHECK(without_claim > 300);
}

TEST_CASE("arrays in bfloat16, the output that D is made of rounded too, are right") {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    CAPTURE(seed);
    GradientCase c = visible_case(seed, oracle::formats::bfloat16);
    Backward how;
    how.by_log_sum_exp = seed % 2 == 0;
    how.heads_apart = seed % 4 < 2;
    how.narrow = how.stored = &oracle::formats::bfloat16;
    const auto call = call_of(c, computed_gradients(c, how), oracle::formats::bfloat16);
    for (const OutputReport& one : oracle::judge(call.call).outputs) {
      CAPTURE(one.name);
      CHECK(one.verdict != Verdict::fail);
    }
  }
}

TEST_CASE("with weights in float32, D of the stored output and heads stored apart are right") {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    CAPTURE(seed);
    GradientCase c = visible_case(seed, oracle::formats::bfloat16);
    for (double& v : c.v) v = oracle::formats::bfloat16.round(v + 10);  // an output far from 0
    c.d_log_sum_exp.clear();
    Backward how;
    how.by_log_sum_exp = how.heads_apart = true;
    how.stored = &oracle::formats::bfloat16;
    auto call = call_of(c, computed_gradients(c, how), oracle::formats::bfloat16);
    for (const char* step : {"scores", "weights"})
      call.call.precision[step] = std::string("float32");
    for (const OutputReport& one : oracle::judge(call.call).outputs) {
      CAPTURE(one.name);
      // those of float32 are stored in bfloat16 here, which is not claimed
      if (one.name != "dsinks" && one.name != "dattn_mask") CHECK(one.verdict != Verdict::fail);
    }
  }
}

TEST_CASE("a fault is found in the arrays it is in, and in no other") {
  const std::vector<std::pair<Fault, std::vector<std::string>>> faults{
      {Fault::no_level, {"dq", "dk", "dsinks", "dattn_mask"}},
      {Fault::query_unscaled, {"dq"}},
      {Fault::key_unscaled, {"dk"}},
      {Fault::one_head, {"dk"}},
      {Fault::other_base, {"lse"}},
      {Fault::no_maximum, {"lse"}},
      {Fault::sink_sign, {"dsinks"}},
      {Fault::value_transposed, {"dv"}},
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const auto& [fault, where] : faults) {
      CAPTURE(seed, static_cast<int>(fault));
      GradientCase c;
      c.base_two = seed % 2 == 0;
      std::mt19937_64 random(seed);
      std::normal_distribution<double> normal;
      const auto fill = [&](std::vector<double>& numbers, std::size_t count) {
        for (std::size_t n = 0; n < count; ++n)
          numbers.push_back(oracle::formats::float32.round(normal(random)));
      };
      fill(c.q, c.query_heads * c.queries * c.width);
      fill(c.k, c.key_heads * c.keys * c.width);
      fill(c.v, c.key_heads * c.keys * c.columns);
      fill(c.d_output, c.query_heads * c.queries * c.columns);
      fill(c.bias, c.queries * c.keys);
      fill(c.sinks, c.query_heads);
      Backward how;
      how.fault = fault;
      const oracle::Report report =
          oracle::judge(call_of(c, computed_gradients(c, how), oracle::formats::float32).call);
      for (const OutputReport& one : report.outputs) {
        CAPTURE(one.name);
        const bool faulty = std::find(where.begin(), where.end(), one.name) != where.end();
        CHECK(one.verdict == (faulty ? Verdict::fail : Verdict::pass));
      }
    }
}

TEST_CASE("the log-sum-exp of a row without keys is what the option says") {
  CallBuilder builder("plain");
  builder.floats("q", {2, 1}, {1, 1}).floats("k", {1, 1}, {2}).floats("v", {1, 1}, {3});
  builder.booleans("attn_mask", {2, 1}, {1, 0}).option("scale", 1.0);
  const float infinity = std::numeric_limits<float>::infinity();
  const auto with = [&](const char* option, float lse) {
    builder.option("empty_lse", std::string(option));
    return oracle::judge(builder.floats("lse", {2}, {2, lse}).call).verdict;
  };
  CHECK(with("-inf", -infinity) == Verdict::pass);
  CHECK(with("-inf", infinity) == Verdict::fail);
  CHECK(with("-inf", -1e30f) == Verdict::fail);
  CHECK(with("inf", infinity) == Verdict::pass);
  CHECK(with("inf", -infinity) == Verdict::fail);
  CHECK(with("large-negative", -2.38e38f) == Verdict::pass);
  CHECK(with("large-negative", -infinity) == Verdict::pass);
  CHECK(with("large-negative", -1e4f) == Verdict::fail);
  CHECK(with("any", 5) == Verdict::pass);
  // with a sink there is no such row
  builder.floats("sinks", {1}, {0.5f});
  CHECK(with("-inf", -infinity) == Verdict::fail);
  // ln(e² + e^0.5), and the sink itself
  builder.option("empty_lse", std::string("-inf"));
  CHECK(oracle::judge(builder.floats("lse", {2}, {2.20141327f, 0.5f}).call).verdict ==
        Verdict::pass);
}

TEST_CASE("a row without keys adds nothing to a gradient, or the mean's share to d_value") {
  // query 0 sees the only key, query 1 none
  CallBuilder builder("plain");
  builder.floats("q", {2, 1}, {1, 1}).floats("k", {2, 1}, {2, 2}).floats("v", {2, 1}, {3, 5});
  builder.booleans("attn_mask", {2, 2}, {1, 0, 0, 0}).floats("dout", {2, 1}, {7, 8});
  builder.floats("dq", {2, 1}, {0, 0}).floats("dk", {2, 1}, {0, 0});
  const auto with = [&](const char* empty_row, std::vector<float> dv) {
    builder.option("empty_row", std::string(empty_row));
    return oracle::judge(builder.floats("dv", {2, 1}, dv).call).verdict;
  };
  CHECK(with("zero", {7, 0}) == Verdict::pass);
  CHECK(with("zero", {11, 4}) == Verdict::fail);
  CHECK(with("mean", {11, 4}) == Verdict::pass);
  CHECK(with("mean", {7, 0}) == Verdict::fail);
  CHECK(with("any", {7, 0}) == Verdict::no_certificate);
}

TEST_CASE("gradients of scores that decide nothing are not certified, and NaN never passes") {
  // float32: 1e30 + 1 and 1e30 + 0 are the same number
  CallBuilder builder("plain");
  builder.floats("q", {1, 1}, {1}).floats("k", {2, 1}, {1, 0}).floats("v", {2, 1}, {0, 1});
  builder.floats("attn_mask", {1, 2}, {1e30f, 1e30f}).option("scale", 1.0);
  builder.floats("dout", {1, 1}, {1}).floats("dv", {2, 1}, {0.73105858f, 0.26894142f});
  CHECK(oracle::judge(builder.call).verdict == Verdict::no_certificate);
  builder.floats("dv", {2, 1}, {3, 0.26894142f});
  CHECK(oracle::judge(builder.call).verdict == Verdict::fail);
  builder.floats("attn_mask", {1, 2}, {0, 0});
  builder.floats("dv", {2, 1}, {0.73105858f, 0.26894142f});
  CHECK(oracle::judge(builder.call).verdict == Verdict::pass);
  builder.floats("dv", {2, 1}, {std::numeric_limits<float>::quiet_NaN(), 0.26894142f});
  CHECK(oracle::judge(builder.call).verdict == Verdict::fail);
}

TEST_CASE("an output right by another dialect is named so only if its gradients are") {
  GradientCase c;
  c.causal = true;
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (auto [numbers, count] : {std::pair{&c.q, c.query_heads * c.queries * c.width},
                                std::pair{&c.k, c.key_heads * c.keys * c.width},
                                std::pair{&c.v, c.key_heads * c.keys * c.columns},
                                std::pair{&c.d_output, c.query_heads * c.queries * c.columns}})
    for (std::size_t n = 0; n < count; ++n)
      numbers->push_back(oracle::formats::float32.round(normal(random)));
  const auto top_left = [&](Fault fault) {
    Backward how;
    how.fault = fault;
    auto call = call_of(c, computed_gradients(c, how), oracle::formats::float32);
    call.option("causal", std::string("bottom-right"));
    return oracle::judge(call.call);
  };
  const oracle::Report right = top_left(Fault::none);
  CHECK(output(right, "out").verdict == Verdict::fail);
  CHECK(output(right, "dk").verdict == Verdict::fail);
  CHECK_FALSE(right.other_readings.empty());
  CHECK(top_left(Fault::key_unscaled).other_readings.empty());
}

TEST_CASE("gradients that do not fit the call are refused") {
  const auto call = [] {
    auto builder = ordinary_call("plain");
    builder.floats("dout", {2, 4, 3, 2}).floats("dq", {2, 4, 3, 4});
    return builder;
  };
  CHECK_NOTHROW(oracle::read_problem(call().call));
  auto without_start = call();
  without_start.call.arrays.erase("dout");
  CHECK_THROWS_AS(oracle::read_problem(without_start.call), oracle::BadCall);
  CHECK_THROWS_AS(oracle::read_problem(call().floats("dk", {2, 4, 3, 4}).call), oracle::BadCall);
  CHECK_THROWS_AS(oracle::read_problem(call().floats("dsinks", {4}).call), oracle::BadCall);
  CHECK_THROWS_AS(oracle::read_problem(call().floats("lse", {2, 4, 5}).call), oracle::BadCall);
  CHECK_THROWS_AS(oracle::read_problem(call().floats("dattn_mask", {3, 5}).call), oracle::BadCall);
}
