// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// NaNs, infinities and rows without keys: expected results from IEEE 754 and the text of ONNX's
// operator, by hand.
#include "catch.hpp"

#include <attest/oracle/special_row.hpp>

#include <limits>
#include <vector>

namespace {

using namespace attest;
using namespace attest::oracle;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double NaN = std::numeric_limits<double>::quiet_NaN();

// One query of width 1 over three keys with one value each.
struct Case {
  std::vector<double> query = {1};
  std::vector<double> keys = {1, 2, 3};
  std::vector<double> values = {10, 20, 30};
  std::vector<double> bias = {0, 0, 0};
  Rule rule = onnx();

  static Rule onnx() {
    Rule rule;
    rule.masked_non_finite = MaskedNonFinite::propagate;
    return rule;
  }
  SpecialRow separated(bool negative_root = false) const {
    return separate(rule, {query.data(), keys.data(), values.data(), bias.data(), 1, 1, 3},
                    negative_root);
  }
  Special output() const { return separated().outputs[0]; }
};

bool only_nan(const Special& s) {
  return s.nan && !s.zero && !s.plus_infinity && !s.minus_infinity && !s.anything;
}

}  // namespace

TEST_CASE("an ordinary row has nothing special") {
  const SpecialRow row = Case{}.separated();
  CHECK_FALSE(row.outputs[0].any());
  for (int j = 0; j < 3; ++j) CHECK_FALSE(row.weights[static_cast<std::size_t>(j)].any());
}

TEST_CASE("a NaN score makes the row NaN") {
  SECTION("from a visible key") {
    CHECK(only_nan(Case{.keys = {1, NaN, 3}}.output()));
  }
  SECTION("from a masked key, for NaN - inf is NaN") {
    CHECK(only_nan(Case{.keys = {1, NaN, 3}, .bias = {0, -infinity, 0}}.output()));
  }
  SECTION("from the query") {
    CHECK(only_nan(Case{.query = {NaN}}.output()));
  }
  SECTION("from the mask") {
    CHECK(only_nan(Case{.bias = {0, NaN, 0}}.output()));
  }
  SECTION("from 0 times an infinite key") {
    CHECK(only_nan(Case{.query = {0}, .keys = {1, infinity, 3}}.output()));
  }
  SECTION("from the square root of a negative scale") {
    CHECK(only_nan(Case{}.separated(true).outputs[0]));
  }
}

TEST_CASE("a score of plus infinity makes the row NaN") {
  CHECK(only_nan(Case{.keys = {1, infinity, 3}}.output()));
  CHECK(only_nan(Case{.bias = {0, infinity, 0}}.output()));
  // the same infinity where the mask forbids the key is ∞ − ∞
  CHECK(only_nan(Case{.keys = {1, infinity, 3}, .bias = {0, -infinity, 0}}.output()));
}

TEST_CASE("a softcap makes an infinite score finite: softcap·tanh(∞)") {
  Rule capped = Case::onnx();
  capped.softcap = 2;
  const SpecialRow row =
      Case{.keys = {1, infinity, -infinity}, .bias = {0, 0.5, -infinity}, .rule = capped}
          .separated();
  CHECK_FALSE(row.outputs[0].any());
  CHECK(row.scaled[1].plus_infinity);
  CHECK(row.capped[1].anything);
  CHECK_FALSE(row.biased[1].any());
  CHECK(row.finite.key(1)[0] == 0);
  CHECK(row.finite.bias[1] == 2.5);
  CHECK(row.finite.bias[2] == -infinity);
}

TEST_CASE("a score of minus infinity is a key without weight") {
  const SpecialRow row = Case{.keys = {1, -infinity, 3}}.separated();
  CHECK_FALSE(row.outputs[0].any());
  CHECK(row.weights[1].zero);
  CHECK_FALSE(row.weights[0].any());
  CHECK(row.finite.bias[1] == -infinity);
  CHECK(row.biased[1].minus_infinity);
}

TEST_CASE("a row all of whose scores are minus infinity is NaN, or zero where it is guarded") {
  const Special output = Case{.keys = {-infinity, -infinity, -infinity}}.output();
  CHECK(output.accepts(NaN));
  CHECK(output.accepts(0));
  CHECK_FALSE(output.accepts(20));
}

TEST_CASE("a row without keys") {
  Case empty{.bias = {-infinity, -infinity, -infinity}};
  SECTION("zero") {
    CHECK(empty.output().accepts(0));
    CHECK_FALSE(empty.output().accepts(NaN));
  }
  SECTION("NaN") {
    empty.rule.empty_row = EmptyRow::nan;
    CHECK(only_nan(empty.output()));
  }
  SECTION("the mean of all values: all keys become visible with one score") {
    empty.rule.empty_row = EmptyRow::mean;
    const SpecialRow row = empty.separated();
    CHECK_FALSE(row.outputs[0].any());
    CHECK(row.finite.query[0] == 0);
    for (std::size_t j = 0; j < 3; ++j) CHECK(row.finite.visible(j));
  }
  SECTION("whatever it likes") {
    empty.rule.empty_row = EmptyRow::unspecified;
    CHECK(empty.output().anything);
  }
  SECTION("zero times an infinite value is NaN all the same") {
    empty.values = {10, infinity, 30};
    CHECK(only_nan(empty.output()));
  }
}

TEST_CASE("values that are no numbers") {
  SECTION("NaN with weight") {
    CHECK(only_nan(Case{.values = {10, NaN, 30}}.output()));
  }
  SECTION("NaN without weight: 0 times NaN") {
    CHECK(only_nan(Case{.values = {10, NaN, 30}, .bias = {0, -infinity, 0}}.output()));
  }
  SECTION("an infinity with weight") {
    const Special output = Case{.values = {10, infinity, 30}}.output();
    CHECK(output.accepts(infinity));
    CHECK_FALSE(output.accepts(-infinity));
    CHECK_FALSE(output.accepts(15));
  }
  SECTION("an infinity without weight: 0 times infinity") {
    CHECK(only_nan(Case{.values = {10, infinity, 30}, .bias = {0, -infinity, 0}}.output()));
  }
  SECTION("both infinities") {
    CHECK(only_nan(Case{.values = {infinity, -infinity, 30}}.output()));
  }
}

TEST_CASE("where the definition leaves masked NaNs open, nothing is judged") {
  Case open{.values = {10, NaN, 30}, .bias = {0, -infinity, 0}};
  open.rule.masked_non_finite = MaskedNonFinite::unspecified;
  CHECK(open.output().anything);
  Case key{.keys = {1, NaN, 3}, .bias = {0, -infinity, 0}};
  key.rule.masked_non_finite = MaskedNonFinite::unspecified;
  CHECK(key.output().anything);
}
