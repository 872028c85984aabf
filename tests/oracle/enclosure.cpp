// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The exact value always lies inside: every enclosure of random rows against a plain reference of
// 500 bits.
#include "random_row.hpp"

#include <attest/oracle/enclosure.hpp>

namespace {

using namespace attest;
using namespace attest::test;
using oracle::Wide;

bool inside(const Reference& exact, const oracle::Enclosure& enclosure) {
  return abs(exact - (Reference(enclosure.high) + Reference(enclosure.low))) <=
         Reference(enclosure.radius);
}

// Checks every stage of the row, and returns the largest ratio of an output's error to its radius.
template <class Real>
double check_row(const RandomRow& row, bool& bounded) {
  oracle::RowEnclosure<Real> enclosed;
  oracle::enclose_scores(row.rule, row.data, true, enclosed);
  oracle::enclose_outputs(row.data, enclosed);
  const ExactRow exact = exact_row(row);
  for (std::size_t j = 0; j < row.data.key_count; ++j) {
    const auto& score = enclosed.scores[j];
    RC_ASSERT(inside(exact.scaled[j], oracle::enclosure(score.scaled, score.scaled_radius)));
    RC_ASSERT(inside(exact.capped[j], oracle::enclosure(score.capped, score.capped_radius)));
    RC_ASSERT(inside(exact.biased[j], oracle::enclosure(score.biased, score.biased_radius)));
  }
  bounded = enclosed.bounded;
  if (!bounded) return 0;
  double used = 0;
  for (std::size_t j = 0; j < row.data.key_count; ++j)
    RC_ASSERT(inside(exact.weights[j],
                     oracle::enclosure(enclosed.weights[j], enclosed.weight_radius[j])));
  for (std::size_t t = 0; t < row.data.value_width; ++t) {
    RC_ASSERT(inside(exact.outputs[t], enclosed.outputs[t]));
    const Reference error = abs(exact.outputs[t] - Reference(enclosed.outputs[t].high) -
                                Reference(enclosed.outputs[t].low));
    used = std::max(used, static_cast<double>(error / Reference(enclosed.outputs[t].radius)));
  }
  return used;
}

RandomRow any_row(const RowKind& kind) {
  return random_row(*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::inRange<std::size_t>(1, 20),
                    *rc::gen::inRange<std::size_t>(1, 6), *rc::gen::inRange<std::size_t>(1, 40),
                    kind,
                    *rc::gen::element(oracle::formats::float64, oracle::formats::float32,
                                      oracle::formats::float16));
}

}  // namespace

TEST_CASE("the double tier encloses scores, weights and outputs") {
  std::size_t rows = 0, bounded_rows = 0;
  rc::prop("of any row", [&] {
    bool bounded = false;
    check_row<double>(any_row(any_kind()), bounded);
    ++rows;
    bounded_rows += bounded;
  });
  // a tier that never bounds anything would pass the property
  CHECK(bounded_rows * 2 > rows);
}

TEST_CASE("the wide tier bounds every row, scores of any size included") {
  rc::prop("of any row", [] {
    bool bounded = false;
    check_row<Wide>(any_row(any_kind()), bounded);
    RC_ASSERT(bounded);
  });
  rc::prop("of scores up to 10^30, where double bounds nothing", [] {
    RowKind kind = any_kind();
    kind.score_spread = std::ldexp(1.0, *rc::gen::inRange(50, 100));
    bool bounded = false;
    check_row<Wide>(any_row(kind), bounded);
    RC_ASSERT(bounded);
  });
}

TEST_CASE("the enclosure in double is narrow where the data are ordinary") {
  // unit scores, unit values: the widths that docs and reports rest on
  RowKind kind{};
  kind.score_spread = 1;
  kind.value_scale = 1;
  const RandomRow row = random_row(7, 64, 64, 256, kind, oracle::formats::float32);
  oracle::RowEnclosure<double> enclosed;
  oracle::enclose_scores(row.rule, row.data, false, enclosed);
  oracle::enclose_outputs(row.data, enclosed);
  REQUIRE(enclosed.bounded);
  for (const oracle::Enclosure& output : enclosed.outputs) CHECK(output.radius < 1e-12);
}

TEST_CASE("results that are known without computing") {
  // q = 0 gives every visible key the same weight: the output is the mean of the visible values
  const std::vector<double> query = {0, 0}, keys = {1, 2, 3, 4, 5, 6}, values = {1, 5, 9};
  const double hidden = -std::numeric_limits<double>::infinity();
  const std::vector<double> bias = {0, hidden, 0};
  const oracle::RowData row{query.data(), keys.data(), values.data(), bias.data(), 2, 1, 3};
  oracle::RowEnclosure<Wide> enclosed;
  oracle::enclose_scores(Rule{}, row, false, enclosed);
  oracle::enclose_outputs(row, enclosed);
  REQUIRE(enclosed.bounded);
  CHECK(enclosed.outputs[0].farthest(5) < 1e-30);
  CHECK(enclosed.weights == std::vector<double>{0.5, 0, 0.5});
  CHECK(enclosed.below_maximum[1] == -hidden);
}
