// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The exact value always lies inside: every enclosure of random rows against a plain reference of
// 500 bits, against the tier above, and where weights are equal against exact rationals.
#include "random_row.hpp"

#include <attest/oracle/double_double.hpp>
#include <attest/oracle/enclosure.hpp>
#include <boost/multiprecision/cpp_int.hpp>

namespace {

using namespace attest;
using namespace attest::test;
using oracle::DoubleDouble;
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

// Whether both can hold the same number.
bool meet(const oracle::Enclosure& a, const oracle::Enclosure& b) {
  return abs((Reference(a.high) + Reference(a.low)) - (Reference(b.high) + Reference(b.low))) <=
         Reference(a.radius) + Reference(b.radius);
}

template <class Real>
oracle::RowEnclosure<Real> enclose(const RandomRow& row) {
  oracle::RowEnclosure<Real> enclosed;
  oracle::enclose_scores(row.rule, row.data, false, enclosed);
  oracle::enclose_outputs(row.data, enclosed);
  return enclosed;
}

template <class Real>
void check_mean(const RandomRow& row) {
  using boost::multiprecision::cpp_rational;
  const oracle::RowEnclosure<Real> enclosed = enclose<Real>(row);
  RC_ASSERT(enclosed.bounded);
  for (std::size_t t = 0; t < row.data.value_width; ++t) {
    cpp_rational sum = 0;
    int visible = 0;
    for (std::size_t j = 0; j < row.data.key_count; ++j) {
      if (!row.data.visible(j)) continue;
      sum += cpp_rational(row.data.value(j)[t]);
      ++visible;
    }
    const oracle::Enclosure& output = enclosed.outputs[t];
    RC_ASSERT(abs(sum / visible - cpp_rational(output.high) - cpp_rational(output.low)) <=
              cpp_rational(output.radius));
  }
}

}  // namespace

TEST_CASE("the double tier encloses scores, weights and outputs") {
  rc::prop("of any row", [] {
    bool bounded = false;
    check_row<double>(any_row(any_kind()), bounded);
  });
  // a tier that never bounds anything would pass that
  rc::prop("of every row of ordinary scores", [] {
    bool bounded = false;
    check_row<double>(any_row(bounded_kind()), bounded);
    RC_ASSERT(bounded);
  });
}

TEST_CASE("the double-double tier encloses scores, weights and outputs") {
  rc::prop("of any row", [] {
    bool bounded = false;
    check_row<DoubleDouble>(any_row(any_kind()), bounded);
  });
  rc::prop("of every row of ordinary scores", [] {
    bool bounded = false;
    check_row<DoubleDouble>(any_row(bounded_kind()), bounded);
    RC_ASSERT(bounded);
  });
}

TEST_CASE("what one tier encloses the next one encloses too, and more narrowly") {
  rc::prop("outputs of any row", [] {
    const RandomRow row = any_row(any_kind());
    const auto in_double = enclose<double>(row);
    const auto in_pairs = enclose<DoubleDouble>(row);
    const auto wide = enclose<Wide>(row);
    // Double-double takes weights for 0 that double still holds: at most so much of each key, times
    // its distance from the output, 2 max |v|.
    double largest = 0;
    for (const double v : row.values) largest = std::max(largest, std::fabs(v));
    const double flushed = 2.1 * static_cast<double>(row.data.key_count) * largest *
                           oracle::Arithmetic<DoubleDouble>::neglected;
    for (std::size_t t = 0; t < row.data.value_width; ++t) {
      if (in_double.bounded) RC_ASSERT(meet(in_double.outputs[t], in_pairs.outputs[t]));
      if (in_pairs.bounded) RC_ASSERT(meet(in_pairs.outputs[t], wide.outputs[t]));
      if (in_double.bounded && in_pairs.bounded)
        RC_ASSERT(in_pairs.outputs[t].radius <= in_double.outputs[t].radius + flushed + 0x1p-1060);
    }
  });
}

TEST_CASE("equal weights give the mean of the visible values, in rationals") {
  rc::prop("in every tier", [] {
    RowKind kind = any_kind();
    kind.bias_scale = 0;
    RandomRow row = any_row(kind);
    for (double& q : row.query) q = 0;
    check_mean<double>(row);
    check_mean<DoubleDouble>(row);
    check_mean<Wide>(row);
  });
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
  const auto in_pairs = enclose<DoubleDouble>(row);
  REQUIRE(in_pairs.bounded);
  for (const oracle::Enclosure& output : in_pairs.outputs) CHECK(output.radius < 1e-26);
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
