// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Blocks of rows: what they enclose holds the exact value, for the kernels of every instruction set
// this machine has; their verdicts are those of one row at a time, whatever the number of threads.
#include "call_builder.hpp"
#include "random_row.hpp"

#include <attest/oracle/block_enclosure.hpp>
#include <attest/oracle/block_judge.hpp>
#include <attest/oracle/parallel.hpp>
#include <attest/oracle/verdict.hpp>
#include <boost/multiprecision/cpp_int.hpp>

#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <set>

namespace {

using namespace attest;
using namespace attest::test;
using namespace attest::oracle;
using oracle::detail::BlockHead;
using oracle::detail::BlockRows;
using oracle::detail::Kernels;

constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

// The row as a problem whose query is asked `copies` times, so that every tile of rows takes part.
Problem problem_of(const RandomRow& row, std::size_t copies, const std::vector<double>& output) {
  const auto bytes = [](const std::vector<double>& numbers) {
    return reinterpret_cast<const std::byte*>(numbers.data());
  };
  const auto type = ElementType::float64;
  const RowData& data = row.data;
  Problem problem;
  problem.rule = row.rule;
  problem.format = formats::float64;
  problem.query = Tensor::row_major(type, {1, 1, copies, data.width}, bytes(row.query));
  problem.key = Tensor::row_major(type, {1, 1, data.key_count, data.width}, bytes(row.keys));
  problem.value =
      Tensor::row_major(type, {1, 1, data.key_count, data.value_width}, bytes(row.values));
  problem.mask = Tensor::row_major(type, {1, 1, copies, data.key_count}, bytes(row.bias));
  problem.output =
      Claim{"out", Tensor::row_major(type, {1, 1, copies, data.value_width}, bytes(output))};
  for (Tensor* repeated : {&problem.query, &*problem.mask, &problem.output->got})
    repeated->strides[2] = 0;
  problem.offsets = {0};
  problem.lengths = {data.key_count};
  return problem;
}

// Checks all copies; returns whether the row was bounded.
bool check_block(const RandomRow& row, const ExactRow& exact, const Kernels& kernels, bool split) {
  const std::size_t copies = 13;
  const std::vector<double> output(row.data.value_width, 0);
  const Problem problem = problem_of(row, copies, output);
  BlockHead head;
  head.read(problem, 0, 0, split);
  RC_ASSERT(head.finite);
  BlockRows block(problem, kernels);
  block.compute(head, 0, 0, 0, copies);
  for (std::size_t r = 0; r < copies; ++r) {
    if (!block.rows[r].bounded) continue;
    for (std::size_t t = 0; t < row.data.value_width; ++t) {
      const Enclosure got = block.output(r, t);
      RC_ASSERT(abs(exact.outputs[t] - Reference(got.high) - Reference(got.low)) <=
                Reference(got.radius));
      Reference size = 0;
      for (std::size_t j = 0; j < row.data.key_count; ++j)
        size += exact.weights[j] * Reference(std::fabs(row.data.value(j)[t]));
      RC_ASSERT(Reference(block.size(r, t)) <= size);
    }
  }
  return block.rows[0].bounded;
}

void check_blocks(bool split) {
  for (const Kernels* kernels : oracle::detail::available_kernels()) {
    const auto check_kind = [&](RowKind kind) {
      if (split) kind.softcap = 0;
      const RandomRow row =
          random_row(*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::inRange<std::size_t>(1, 70),
                     *rc::gen::inRange<std::size_t>(1, 30), *rc::gen::inRange<std::size_t>(1, 300),
                     kind, *rc::gen::element(formats::float64, formats::float32, formats::float16));
      return check_block(row, exact_row(row), *kernels, split);
    };
    const std::string by = std::string(", by the kernels for ") + kernels->name;
    rc::prop("of any row" + by, [&] { check_kind(any_kind()); });
    // blocks that never bound anything would pass that
    rc::prop("of every row of ordinary scores" + by,
             [&] { RC_ASSERT(check_kind(bounded_kind())); });
  }
}

// A call with outputs as a plain implementation in its own format returns them, some changed.
struct Shape4 {
  std::size_t heads, key_heads, queries, keys, width, value_width;
};
template <class T>
CallBuilder any_call(std::uint64_t seed, const Shape4& shape, ElementType type, double spread) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const auto numbers = [&](std::size_t count, double scale) {
    std::vector<T> result(count);
    for (T& x : result) x = static_cast<T>(scale * normal(random));
    return result;
  };
  const std::vector<T> q = numbers(shape.heads * shape.queries * shape.width, spread);
  const std::vector<T> k = numbers(shape.key_heads * shape.keys * shape.width, 1);
  const std::vector<T> v = numbers(shape.key_heads * shape.keys * shape.value_width, 1);
  CallBuilder builder("plain");
  builder.array("q", type, {1, shape.heads, shape.queries, shape.width}, q);
  builder.array("k", type, {1, shape.key_heads, shape.keys, shape.width}, k);
  builder.array("v", type, {1, shape.key_heads, shape.keys, shape.value_width}, v);
  builder.array("out", type, {1, shape.heads, shape.queries, shape.value_width},
                std::vector<T>(shape.heads * shape.queries * shape.value_width));
  return builder;
}

// What the call should return, in double, by the oracle's own scalar tier: whether it is exact does
// not matter here, only that one way of judging says the same of it as the other.
template <class T>
std::vector<T> right_outputs(const CallBuilder& builder) {
  const Problem problem = read_problem(builder.call);
  std::vector<T> result;
  std::vector<double> query(problem.width()), keys(problem.keys() * problem.width());
  std::vector<double> values(problem.keys() * problem.value_width()), bias(problem.keys());
  for (std::size_t h = 0; h < problem.query_heads(); ++h) {
    for (std::size_t j = 0; j < problem.keys(); ++j) {
      problem.read_key(0, problem.key_value_head_of(h), j, keys.data() + j * problem.width());
      problem.read_value(0, problem.key_value_head_of(h), j,
                         values.data() + j * problem.value_width());
    }
    for (std::size_t i = 0; i < problem.queries(); ++i) {
      problem.query.read_row(0, h, i, query.data());
      for (std::size_t j = 0; j < problem.keys(); ++j) bias[j] = problem.bias(0, h, i, j);
      const RowData row{query.data(),    keys.data(),           values.data(), bias.data(),
                        problem.width(), problem.value_width(), problem.keys()};
      RowEnclosure<DoubleDouble> enclosed;
      enclose_scores(problem.rule, row, false, enclosed);
      enclose_outputs(row, enclosed);
      for (const Enclosure& output : enclosed.outputs)
        result.push_back(static_cast<T>(output.high));
    }
  }
  return result;
}

void check_same(const Report& blocks, const Report& rows) {
  RC_ASSERT(blocks.verdict == rows.verdict);
  RC_ASSERT(blocks.rows == rows.rows);
  RC_ASSERT(blocks.outputs.size() == rows.outputs.size());
  for (std::size_t n = 0; n < rows.outputs.size(); ++n) {
    RC_ASSERT(blocks.outputs[n].elements == rows.outputs[n].elements);
    RC_ASSERT(blocks.outputs[n].failed == rows.outputs[n].failed);
    RC_ASSERT(blocks.outputs[n].suspected == rows.outputs[n].suspected);
    RC_ASSERT(blocks.outputs[n].undecided == rows.outputs[n].undecided);
    RC_ASSERT(blocks.outputs[n].unspecified == rows.outputs[n].unspecified);
    RC_ASSERT(blocks.outputs[n].beyond_hull == rows.outputs[n].beyond_hull);
    RC_ASSERT(blocks.outputs[n].verdict == rows.outputs[n].verdict);
  }
}

void check_both_ways(const Call& call) {
  const std::vector<const Kernels*> kernels = oracle::detail::available_kernels();
  JudgeOptions one_by_one, blocks;
  one_by_one.blocks_from = never;
  blocks.blocks_from = 0;
  blocks.kernels = kernels[*rc::gen::inRange<std::size_t>(0, kernels.size())];
  check_same(judge(call, blocks), judge(call, one_by_one));
}

// A call whose verdict is known, by every kernel and row by row.
void check_verdict(const Call& call, Verdict expected, std::size_t elements) {
  JudgeOptions options;
  options.blocks_from = never;
  const Report rows = judge(call, options);
  CHECK(rows.verdict == expected);
  const OutputReport& output = rows.outputs[0];
  CHECK(output.failed == (expected == Verdict::fail ? elements : 0));
  CHECK(output.suspected == (expected == Verdict::suspect ? elements : 0));
  CHECK(output.undecided == (expected == Verdict::no_certificate ? elements : 0));
  options.blocks_from = 0;
  for (const Kernels* kernels : oracle::detail::available_kernels()) {
    CAPTURE(kernels->name);
    options.kernels = kernels;
    const Report blocks = judge(call, options);
    CHECK(blocks.verdict == expected);
    CHECK(blocks.outputs[0].failed == output.failed);
    CHECK(blocks.outputs[0].suspected == output.suspected);
    CHECK(blocks.outputs[0].undecided == output.undecided);
  }
}

// Right outputs pass, one changed fails alone, and sums in 8 bits over 600 keys lose everything.
template <class T>
void check_each_verdict(ElementType type) {
  const Shape4 shape{2, 1, 21, 600, 8, 5};
  CallBuilder builder = any_call<T>(1, shape, type, 1);
  std::vector<T> out = right_outputs<T>(builder);
  const auto returns = [&](const std::vector<T>& numbers) {
    return builder.array("out", type, {1, shape.heads, shape.queries, shape.value_width}, numbers)
        .call;
  };
  check_verdict(returns(out), Verdict::pass, out.size());
  std::vector<T> wrong = out;
  wrong[out.size() / 2] += static_cast<T>(0.01);
  check_verdict(returns(wrong), Verdict::fail, 1);
  builder.call.precision["accumulate"] = std::string("bfloat16");
  check_verdict(returns(out), Verdict::no_certificate, out.size());
}

template <class T>
void check_call(ElementType type) {
  const std::size_t key_heads = *rc::gen::inRange<std::size_t>(1, 3);
  const Shape4 shape{key_heads * *rc::gen::inRange<std::size_t>(1, 3),
                     key_heads,
                     *rc::gen::inRange<std::size_t>(1, 40),
                     *rc::gen::inRange<std::size_t>(1, 90),
                     *rc::gen::inRange<std::size_t>(1, 40),
                     *rc::gen::inRange<std::size_t>(1, 20)};
  const double spread = *rc::gen::element(0.0, 1.0, 1.0, 8.0, 200.0, 1e5);
  CallBuilder builder = any_call<T>(*rc::gen::arbitrary<std::uint64_t>(), shape, type, spread);
  builder.option("causal", *rc::gen::element(std::string("none"), std::string("top-left"),
                                             std::string("bottom-right")));
  if (*rc::gen::inRange(0, 3) == 0)
    builder.option("window", std::vector<std::int64_t>{*rc::gen::inRange<std::int64_t>(-1, 20),
                                                       *rc::gen::inRange<std::int64_t>(-1, 20)});
  if (*rc::gen::inRange(0, 4) == 0) builder.option("softcap", *rc::gen::element(0.5, 30.0));
  const int mask = *rc::gen::inRange(0, 4);
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  if (mask == 1) {
    std::vector<std::uint8_t> pattern(shape.queries * shape.keys);
    for (std::uint8_t& seen_key : pattern) seen_key = random() % 3 != 0;
    builder.booleans("attn_mask", {shape.queries, shape.keys}, pattern);
  } else if (mask == 2) {
    std::vector<T> bias(shape.queries * shape.keys);
    for (T& b : bias)
      b = random() % 4 ? static_cast<T>(static_cast<double>(random() % 64) / 8 - 4)
                       : -std::numeric_limits<T>::infinity();
    if (random() % 8 == 0) bias[0] = std::numeric_limits<T>::quiet_NaN();
    builder.array("attn_mask", type, {shape.queries, shape.keys}, bias);
  }
  if (*rc::gen::inRange(0, 4) == 0)
    builder.call.precision[*rc::gen::element(std::string("weights"), std::string("scores"),
                                             std::string("accumulate"), std::string("softmax"))] =
        *rc::gen::element(std::string("float16"), std::string("bfloat16"), std::string("float32"));
  if (*rc::gen::inRange(0, 4) == 0)
    builder.call.precision["input"] = *rc::gen::element(
        std::string("tensorfloat32"), std::string("bfloat16"), std::string("float16"));
  if (*rc::gen::inRange(0, 3) == 0)
    builder.call.precision["tile"] = *rc::gen::element<std::int64_t>(0, 7, 64);

  std::vector<T> out = right_outputs<T>(builder);
  const double change =
      *rc::gen::element(0.0, 0.0, 0.0, 1e-16, 1e-14, 1e-7, 1e-6, 1e-5, 1e-3, 0.5, 100.0);
  const bool everywhere = *rc::gen::inRange(0, 3) == 0;
  for (T& x : out)
    if (everywhere || random() % 50 == 0) x = static_cast<T>(x + change * (random() % 2 ? 1 : -1));
  if (*rc::gen::inRange(0, 5) == 0)
    out[random() % out.size()] =
        *rc::gen::element(std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                          -std::numeric_limits<T>::infinity());
  builder.array("out", type, {1, shape.heads, shape.queries, shape.value_width}, out);

  check_both_ways(builder.call);
}

// Where the worst case and what independent roundings reach lie far apart.
void check_near_tolerance() {
  const Shape4 shape{1, 1, 8, *rc::gen::inRange<std::size_t>(200, 500), 16, 5};
  // with a spread of 12 a few keys have all the weight, and errors of their scores decide
  const double spread = *rc::gen::element(1.0, 4.0, 12.0);
  CallBuilder builder =
      any_call<float>(*rc::gen::arbitrary<std::uint64_t>(), shape, ElementType::float32, spread);
  builder.call.precision["preset"] = *rc::gen::element(
      std::string("tensor-core-bf16"), std::string("unfused-bf16"), std::string("float32"));
  if (*rc::gen::inRange(0, 3) == 0)
    builder.call.precision["input"] =
        *rc::gen::element(std::string("tensorfloat32"), std::string("bfloat16"));
  std::vector<float> out = right_outputs<float>(builder);
  const double change = std::pow(10.0, -0.1 * *rc::gen::inRange(15, 60));
  for (float& x : out) x = static_cast<float>(static_cast<double>(x) + change);
  builder.array("out", ElementType::float32, {1, 1, shape.queries, shape.value_width}, out);
  check_both_ways(builder.call);
}

}  // namespace

TEST_CASE("blocks in double enclose outputs") {
  check_blocks(false);
}

TEST_CASE("blocks in split double enclose outputs") {
  check_blocks(true);
}

TEST_CASE("blocks in split double enclose narrowly enough for a subject in double") {
  RowKind kind{};
  kind.score_spread = 1;
  kind.value_scale = 1;
  const RandomRow row = random_row(7, 64, 64, 2048, kind, formats::float64);
  const std::vector<double> output(64, 0);
  const Problem problem = problem_of(row, 1, output);
  for (const bool split : {false, true}) {
    BlockHead head;
    head.read(problem, 0, 0, split);
    BlockRows block(problem, oracle::detail::best_kernels());
    block.compute(head, 0, 0, 0, 1);
    REQUIRE(block.rows[0].bounded);
    for (std::size_t t = 0; t < 64; ++t)
      CHECK(block.output(0, t).radius < (split ? 0x1p-55 : 0x1p-38));
  }
}

TEST_CASE("leading parts of scores are summed exactly") {
  using boost::multiprecision::cpp_rational;
  for (const Kernels* kernels : oracle::detail::available_kernels())
    for (const std::size_t width : {1u, 3u, 64u, 127u, 256u}) {
      RowKind kind{};
      kind.score_spread = 4;
      kind.value_scale = 1;
      const RandomRow row = random_row(width, width, 1, 30, kind, formats::float64);
      const std::vector<double> output(1, 0);
      const Problem problem = problem_of(row, 1, output);
      BlockHead head;
      head.read(problem, 0, 0, true);
      double largest = 0;
      for (const double q : row.query) largest = std::max(largest, std::fabs(q));
      const double shift =
          oracle::detail::splitting_shift(oracle::detail::power_above(largest), head.bits);
      std::vector<double> leading, rests, scores(48), score_rests(48), room(48 * width);
      for (const double q : row.query) {
        leading.push_back((q + shift) - shift);
        rests.push_back(q - leading.back());
      }
      oracle::detail::ScoreStep step{leading.data(),
                                     1,
                                     width,
                                     head.panels.data(),
                                     0,
                                     2,
                                     scores.data(),
                                     48,
                                     rests.data(),
                                     head.key_shifts.data(),
                                     score_rests.data(),
                                     room.data()};
      kernels->split_scores(step);
      for (std::size_t j = 0; j < 30; ++j) {
        cpp_rational sum = 0, all = 0;
        for (std::size_t t = 0; t < width; ++t) {
          const double k = row.data.key(j)[t];
          const double k1 = (k + head.key_shifts[j]) - head.key_shifts[j];
          sum += cpp_rational(leading[t]) * cpp_rational(k1);
          all += cpp_rational(row.query[t]) * cpp_rational(k);
        }
        CHECK(sum == cpp_rational(scores[j]));
        const cpp_rational error = abs(all - sum - cpp_rational(score_rests[j]));
        CHECK(error < cpp_rational(std::ldexp(static_cast<double>(width), -60)));
      }
    }
}

TEST_CASE("exponentials of every kernel keep their bounds") {
  std::mt19937_64 random(1);
  for (const Kernels* kernels : oracle::detail::available_kernels()) {
    CAPTURE(kernels->name);
    std::uniform_real_distribution<double> magnitude(-60, 9.44), part(-1, 1);
    std::vector<double> y(24 * 100), rest(y.size());
    for (std::size_t j = 0; j < y.size(); ++j) {
      y[j] = -std::exp2(magnitude(random));
      rest[j] = part(random) * 0x1p-30;
    }
    y[0] = 0;
    y[1] = -std::numeric_limits<double>::infinity();
    std::vector<double> e = y, e1 = y, e2 = rest;
    const double sum = kernels->exponentials(e.data(), y.size(), 0);
    double sums[2];
    kernels->split_exponentials(e1.data(), e2.data(), y.size(), 0, sums);
    CHECK(e[1] == 0);
    CHECK((e1[1] == 0 && e2[1] == 0));
    Reference all = 0, all_split = 0;
    for (std::size_t j = 0; j < y.size(); ++j) {
      all += Reference(e[j]);
      all_split += Reference(e1[j]) + Reference(e2[j]);
      CHECK(std::ldexp(e1[j], 23) == std::nearbyint(std::ldexp(e1[j], 23)));
      if (j == 1) continue;
      const Reference exact = exp(Reference(y[j]));
      if (y[j] > -708)
        CHECK(abs(Reference(e[j]) - exact) <= exact * Reference(Arithmetic<double>::exp_error));
      const Reference with_rest = exp(Reference(y[j]) + Reference(rest[j]));
      const Reference got = Reference(e1[j]) + Reference(e2[j]);
      CHECK(abs(got - with_rest) <=
            with_rest * Reference(0x1p-66) + Reference(0x1p-76) + Reference(0x1p-1008));
    }
    CHECK(abs(all - Reference(sum)) < all * Reference(0x1p-42));
    CHECK(abs(all_split - Reference(sums[0]) - Reference(sums[1])) < Reference(0x1p-58));
  }
}

TEST_CASE("blocks judge as one row at a time does") {
  SECTION("where the verdict is known, in float32") {
    check_each_verdict<float>(ElementType::float32);
  }
  SECTION("where the verdict is known, in float64") {
    check_each_verdict<double>(ElementType::float64);
  }
  SECTION("whatever the call is") {
    rc::prop("float32", [] { check_call<float>(ElementType::float32); });
    rc::prop("float64", [] { check_call<double>(ElementType::float64); });
  }
}

TEST_CASE("blocks suspect what one row at a time does") {
  rc::prop("errors of every size", [] { check_near_tolerance(); });
  for (const char* preset : {"tensor-core-bf16", "float32"}) {
    CAPTURE(preset);
    const Shape4 shape{1, 1, 8, 400, 16, 5};
    CallBuilder builder = any_call<float>(1, shape, ElementType::float32, 1);
    builder.call.precision["preset"] = std::string(preset);
    std::vector<float> out = right_outputs<float>(builder);
    const auto returns = [&] {
      return builder.floats("out", {1, 1, shape.queries, shape.value_width}, out).call;
    };
    check_verdict(returns(), Verdict::pass, out.size());
    // half of the way from what is likely to what is possible is neither
    const Report right = judge(returns());
    const Element& element = *right.outputs[0].worst;
    REQUIRE(element.likely < 0.9 * element.allowed);
    out[element.index[2] * shape.value_width + element.index[3]] =
        static_cast<float>(element.exact.high + 0.5 * (element.likely + element.allowed));
    check_verdict(returns(), Verdict::suspect, 1);
  }
}

TEST_CASE("blocks decide about each row of a right output, its inputs rounded first or not") {
  const Shape4 shape{1, 1, 32, 2048, 16, 8};
  struct Case {
    const char* name;
    NumberFormat format;
    double spread;  // of 6: few keys have all the weight
  };
  const Case cases[] = {{"float32", formats::float32, 1},
                        {"float32", formats::float32, 6},
                        {"tensorfloat32", formats::tensorfloat32, 1},
                        {"tensorfloat32", formats::tensorfloat32, 6},
                        {"bfloat16", formats::bfloat16, 1}};
  for (const auto& [name, format, spread] : cases) {
    CAPTURE(name, spread);
    CallBuilder builder = any_call<float>(1, shape, ElementType::float32, spread);
    CallBuilder rounded = builder;
    for (const char* array : {"q", "k", "v"}) {
      const Tensor& given = builder.call.arrays.at(array);
      std::vector<float> numbers(given.size());
      std::memcpy(numbers.data(), given.data, numbers.size() * sizeof(float));
      for (float& x : numbers) x = static_cast<float>(format.round(static_cast<double>(x)));
      rounded.floats(array, given.shape, numbers);
    }
    builder.floats("out", {1, 1, shape.queries, shape.value_width}, right_outputs<float>(rounded));
    builder.call.precision["input"] = std::string(name);
    const Problem problem = read_problem(builder.call);
    const Precision claim = claimed_precision(builder.call, problem);
    BlockHead head;
    head.read(problem, 0, 0, false);
    BlockRows block(problem, oracle::detail::best_kernels(), oracle::detail::sums_wanted(claim));
    block.compute(head, 0, 0, 0, shape.queries);
    oracle::detail::BlockJudge judge(problem, claim);
    std::vector<double> got(shape.value_width);
    for (std::size_t r = 0; r < shape.queries; ++r) {
      problem.output->got.read_row(0, 0, r, got.data());
      judge.judge(head, block, r, got.data());
      CHECK_FALSE(judge.any_open);
    }
  }
}

TEST_CASE("blocks allow for values rounded first what one row at a time does, and only for those") {
  // all scores are 0, so that nothing else is rounded to the input format
  const Shape4 shape{1, 1, 6, 6, 4, 3};
  for (const bool masked : {false, true})
    for (const char* held : {"none", "all", "but the last"}) {
      CAPTURE(held, masked);
      CallBuilder builder = any_call<float>(1, shape, ElementType::float32, 0);
      builder.option("causal", std::string("top-left"));
      if (masked) {
        std::vector<std::uint8_t> seen(shape.queries * shape.keys, 1);
        seen[shape.keys * 2 + 1] = 0;
        builder.booleans("attn_mask", {shape.queries, shape.keys}, seen);
      }
      std::vector<float> v(shape.keys * shape.value_width);
      for (std::size_t n = 0; n < v.size(); ++n) v[n] = 1 + 0.125f * static_cast<float>(n);
      for (std::size_t n = 0; n < v.size(); ++n)
        if (held[0] == 'n' || (held[0] == 'b' && n + shape.value_width >= v.size()))
          v[n] += 0.0001f;
      builder.floats("v", {1, 1, shape.keys, shape.value_width}, v);
      builder.call.precision["input"] = std::string("tensorfloat32");
      const std::vector<float> right = right_outputs<float>(builder);
      // from errors of float32 to such of tensorfloat32, whose roundoff is 2^-11
      for (int step = 0; step < 70; ++step) {
        CAPTURE(step);
        std::vector<float> out = right;
        const double change = std::exp2(-25 + 0.25 * step);
        for (float& x : out) x = static_cast<float>(static_cast<double>(x) * (1 + change));
        builder.floats("out", {1, 1, shape.queries, shape.value_width}, out);
        JudgeOptions options;
        options.blocks_from = never;
        const Report rows = judge(builder.call, options);
        options.blocks_from = 0;
        const Report blocks = judge(builder.call, options);
        CHECK(blocks.outputs[0].failed == rows.outputs[0].failed);
        CHECK(blocks.outputs[0].suspected == rows.outputs[0].suspected);
        CHECK(blocks.outputs[0].undecided == rows.outputs[0].undecided);
      }
    }
}

TEST_CASE("what is found does not depend on the number of threads") {
  const Shape4 shape{4, 2, 70, 90, 16, 8};
  CallBuilder builder = any_call<float>(3, shape, ElementType::float32, 1);
  std::vector<float> out = right_outputs<float>(builder);
  for (std::size_t n = 0; n < out.size(); n += 97) out[n] += 0.01f;
  builder.floats("out", {1, shape.heads, shape.queries, shape.value_width}, out);
  for (const std::size_t from : {std::size_t{0}, never}) {
    JudgeOptions options;
    options.blocks_from = from;
    const Report one = judge(builder.call, options);
    CHECK(one.verdict == Verdict::fail);
    for (const std::size_t threads : {2u, 5u, 64u}) {
      options.threads = threads;
      const Report many = judge(builder.call, options);
      check_same(many, one);
      CHECK(many.outputs[0].worst->index == one.outputs[0].worst->index);
      CHECK(many.double_double_rows == one.double_double_rows);
    }
  }
}

TEST_CASE("the parts of work come from several threads, each part once, and errors come back") {
  std::mutex lock;
  std::multiset<std::size_t> parts;
  oracle::detail::in_parallel(4, 100, [&](std::size_t worker, std::size_t part) {
    const std::lock_guard held(lock);
    CHECK(worker < 4);
    parts.insert(part);
  });
  CHECK(parts.size() == 100);
  CHECK(std::set<std::size_t>(parts.begin(), parts.end()).size() == 100);
  CHECK_THROWS_AS(oracle::detail::in_parallel(3, 10,
                                              [](std::size_t, std::size_t part) {
                                                if (part == 7) throw std::bad_alloc();
                                              }),
                  std::bad_alloc);
}

TEST_CASE("progress is told, and ends with the whole") {
  const Shape4 shape{2, 1, 40, 30, 8, 8};
  const CallBuilder builder = any_call<float>(3, shape, ElementType::float32, 1);
  JudgeOptions options;
  options.blocks_from = 0;
  std::vector<double> told;
  options.progress = [&](double part) { told.push_back(part); };
  judge(builder.call, options);
  REQUIRE(!told.empty());
  CHECK(std::is_sorted(told.begin(), told.end()));
  CHECK(told.back() == 1);
}
