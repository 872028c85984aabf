// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The tolerance certifies: honest implementations of the claimed arithmetic never exceed it, and it
// is not so wide that faults fit in. Honest arithmetic is simulated operation by operation: + − × ÷
// in double rounded to the format are the format's own, since double has more than twice its bits
// and two (Figueroa 1995).
#include "random_row.hpp"

#include <attest/oracle/score_tolerance.hpp>
#include <attest/oracle/tolerance.hpp>

#include <algorithm>
#include <numeric>

namespace {

using namespace attest;
using namespace attest::test;
using namespace attest::oracle;

// How an implementation goes about it; every choice is allowed by the claim.
struct Manner {
  bool reversed = false;         // sums from the last term
  bool pairwise = false;         // sums as a tree
  bool scale_query = false;      // scales q, not the product
  bool fused = false;            // multiply-add with one rounding
  bool normalise_first = false;  // divides the weights, not the sum
  bool root_of_scale = false;    // √c on both sides
  bool folded_exponent = false;  // exp2 of scores times log2 e, the product rounded
  std::size_t tile = 0;          // online softmax over tiles of so many keys; 0: whole
  double exp_error = 0;          // exp off by so many roundoffs, alternating
};

class Honest {
 public:
  Honest(const Precision& claim, const Manner& manner) : claim_(claim), manner_(manner) {}

  std::vector<double> operator()(const RandomRow& row) const {
    const RowData& data = row.data;
    std::vector<std::size_t> visible;
    std::vector<double> s;
    for (std::size_t j = 0; j < data.key_count; ++j) {
      if (!data.visible(j)) continue;
      visible.push_back(j);
      s.push_back(score(row, j));
    }
    std::vector<double> out(data.value_width);
    if (manner_.tile == 0)
      whole(data, visible, s, out);
    else
      online(data, visible, s, out);
    for (double& o : out) o = claim_.output.round(o);
    return out;
  }

 private:
  double accumulate(double x) const { return claim_.accumulate.round(x); }
  double softmax(double x) const { return claim_.softmax.round(x); }

  double sum_of_products(const std::vector<double>& x, const std::vector<double>& y) const {
    std::vector<double> terms(x.size());
    const std::size_t n = x.size();
    if (manner_.pairwise) {
      for (std::size_t i = 0; i < n; ++i) terms[i] = accumulate(x[i] * y[i]);
      for (std::size_t step = 1; step < n; step *= 2)
        for (std::size_t i = 0; i + step < n; i += 2 * step)
          terms[i] = accumulate(terms[i] + terms[i + step]);
      return n ? terms[0] : 0;
    }
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t at = manner_.reversed ? n - 1 - i : i;
      sum = manner_.fused ? accumulate(sum + x[at] * y[at])
                          : accumulate(sum + accumulate(x[at] * y[at]));
    }
    return sum;
  }

  double score(const RandomRow& row, std::size_t j) const {
    const RowData& data = row.data;
    std::vector<double> q(data.query, data.query + data.width),
        k(data.key(j), data.key(j) + data.width);
    const double c = row.rule.scale.by_width
                         ? accumulate(1 / accumulate(std::sqrt(static_cast<double>(data.width))))
                         : accumulate(row.rule.scale.given);
    if (manner_.root_of_scale) {
      const double root = accumulate(std::sqrt(c));
      for (double& x : q) x = claim_.scores.round(x * root);
      for (double& x : k) x = claim_.scores.round(x * root);
    } else if (manner_.scale_query) {
      for (double& x : q) x = claim_.scores.round(x * c);
    }
    double s = sum_of_products(q, k);
    if (!manner_.root_of_scale && !manner_.scale_query) s = accumulate(s * c);
    s = claim_.scores.round(s);
    if (row.rule.softcap != 0)
      s = claim_.scores.round(softmax(row.rule.softcap) *
                              softmax(std::tanh(softmax(s / softmax(row.rule.softcap)))));
    if (data.bias[j] != 0) s = claim_.scores.round(s + data.bias[j]);
    return claim_.softmax.round(s);
  }

  // e^(s − maximum)
  double exponential(double score, double maximum, std::size_t n) const {
    const double off = (n % 2 ? 1 : -1) * manner_.exp_error * claim_.softmax.unit_roundoff();
    double x = softmax(score - maximum);
    if (manner_.folded_exponent) {
      const double log2_e = softmax(1.4426950408889634);
      x = softmax(softmax(score * log2_e) - softmax(maximum * log2_e)) * 0.69314718055994531;
    }
    return x == 0 ? 1 : softmax(std::exp(x) * (1 + off));
  }

  void whole(const RowData& data, const std::vector<std::size_t>& visible,
             const std::vector<double>& s, std::vector<double>& out) const {
    const double maximum = *std::max_element(s.begin(), s.end());
    std::vector<double> e, ones(s.size(), 1);
    for (std::size_t n = 0; n < s.size(); ++n) e.push_back(exponential(s[n], maximum, n));
    double sum = 0;
    for (std::size_t n = 0; n < s.size(); ++n)
      sum = softmax(sum + e[manner_.reversed ? s.size() - 1 - n : n]);
    for (double& x : e) x = claim_.weights.round(manner_.normalise_first ? softmax(x / sum) : x);
    for (std::size_t t = 0; t < out.size(); ++t) {
      std::vector<double> v;
      for (std::size_t j : visible) v.push_back(data.value(j)[t]);
      const double blend = sum_of_products(e, v);
      out[t] = manner_.normalise_first ? blend : softmax(blend / sum);
    }
  }

  void online(const RowData& data, const std::vector<std::size_t>& visible,
              const std::vector<double>& s, std::vector<double>& out) const {
    double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t first = 0; first < s.size(); first += manner_.tile) {
      const std::size_t last = std::min(s.size(), first + manner_.tile);
      const double risen =
          std::max(maximum, *std::max_element(s.begin() + static_cast<long>(first),
                                              s.begin() + static_cast<long>(last)));
      const double rescale = first == 0 ? 0 : exponential(maximum, risen, first);
      std::vector<double> e;
      double tile_sum = 0;
      for (std::size_t n = first; n < last; ++n) {
        e.push_back(exponential(s[n], risen, n));
        tile_sum = softmax(tile_sum + e.back());
        e.back() = claim_.weights.round(e.back());
      }
      sum = softmax(softmax(sum * rescale) + tile_sum);
      for (std::size_t t = 0; t < out.size(); ++t) {
        std::vector<double> weights = e, v;
        for (std::size_t n = first; n < last; ++n) v.push_back(data.value(visible[n])[t]);
        weights.insert(weights.begin(), 1);
        v.insert(v.begin(), accumulate(out[t] * rescale));
        out[t] = sum_of_products(weights, v);
      }
      maximum = risen;
    }
    for (double& o : out) o = softmax(o / sum);
  }

  const Precision& claim_;
  Manner manner_;
};

// The usual arithmetics mostly, sometimes each step in a format of its own.
Precision any_claim() {
  const auto any_format = [] {
    return *rc::gen::element(formats::float32, formats::float16, formats::bfloat16);
  };
  if (*rc::gen::inRange(0, 3) != 0) return usual_precision(any_format());
  Precision claim = usual_precision(formats::float32);
  claim.accumulate = *rc::gen::element(formats::float32, formats::float32, formats::float16);
  claim.scores = any_format();
  claim.softmax = any_format();
  claim.weights = any_format();
  claim.output = any_format();
  return claim;
}

Manner any_manner() {
  Manner manner;
  manner.reversed = *rc::gen::arbitrary<bool>();
  manner.pairwise = *rc::gen::arbitrary<bool>();
  manner.scale_query = *rc::gen::arbitrary<bool>();
  manner.fused = *rc::gen::arbitrary<bool>();
  manner.normalise_first = *rc::gen::arbitrary<bool>();
  manner.root_of_scale = *rc::gen::arbitrary<bool>();
  manner.folded_exponent = *rc::gen::arbitrary<bool>();
  manner.tile = *rc::gen::element<std::size_t>(0, 0, 1, 4, 16);
  manner.exp_error = *rc::gen::element(0.0, 2.0);
  return manner;
}

struct Judged {
  RowEnclosure<Wide> exact;
  ScoreTolerance scores;
  RowTolerance tolerance;
};

Judged judged(const Rule& rule, const RowData& row, const Precision& claim) {
  Judged result;
  enclose_scores(rule, row, false, result.exact);
  ScoreArithmetic(rule, claim, row).tolerate(row, result.exact, result.scores);
  enclose_outputs(row, result.exact);
  tolerate_outputs(claim, row, result.exact, result.scores.biased, result.tolerance);
  return result;
}
Judged judged(const RandomRow& row, const Precision& claim) {
  return judged(row.rule, row.data, claim);
}

double allowed(const Judged& row, const Precision& claim, std::size_t t) {
  const double internal = row.tolerance.outputs[t];
  return internal +
         output_rounding(claim, claim.output, std::fabs(row.exact.outputs[t].high) + internal);
}

// Whether `got` is provably beyond what the claim allows in any manner.
bool fails(const Judged& row, const Precision& claim, std::size_t t, double got) {
  if (row.scores.may_overflow || !std::isfinite(got)) return false;
  const double internal = row.tolerance.folded_outputs[t];
  return row.exact.outputs[t].nearest(got) >
         internal +
             output_rounding(claim, claim.output, std::fabs(row.exact.outputs[t].high) + internal);
}

RowKind ordinary_kind() {
  RowKind kind{};
  kind.score_spread = std::ldexp(1.0, *rc::gen::inRange(-6, 7));
  kind.value_scale = 1;
  kind.cancelling = *rc::gen::inRange(0, 4) == 0;
  kind.offset = *rc::gen::inRange(0, 4) == 0;
  kind.mask_fraction = *rc::gen::element(0.0, 0.3);
  kind.bias_scale = *rc::gen::element(0.0, 0.0, 1.0);
  kind.softcap = *rc::gen::element(0.0, 0.0, 2.0, 50.0);
  return kind;
}

RandomRow any_row(const RowKind& kind, const NumberFormat& format) {
  return random_row(*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::inRange<std::size_t>(1, 40),
                    *rc::gen::inRange<std::size_t>(1, 6), *rc::gen::inRange<std::size_t>(1, 80),
                    kind, format);
}

}  // namespace

TEST_CASE("no honest implementation exceeds its tolerance") {
  rc::prop("in any order, tiling, place of the scale and error of exp the claim allows", [&] {
    const Precision claim = any_claim();
    RowKind kind = ordinary_kind();
    kind.value_scale = *rc::gen::element(1.0, 1.0, 0x1p-10, 0x1p10);
    const Manner manner = any_manner();
    const RandomRow row = any_row(kind, claim.output);
    const std::vector<double> got = Honest(claim, manner)(row);
    const Judged expected = judged(row, claim);
    RC_ASSERT(expected.exact.bounded);
    for (std::size_t t = 0; t < got.size(); ++t) {
      RC_ASSERT(!fails(expected, claim, t, got[t]));
      const double error = expected.exact.outputs[t].farthest(got[t]);
      const double limit = allowed(expected, claim, t);
      if (!manner.folded_exponent && std::isfinite(got[t]) && !expected.scores.may_overflow)
        RC_ASSERT(error <= limit);
    }
  });
}

TEST_CASE("the tolerance is of the size of errors that there are") {
  // 255 equal weights of 1/255 = 2^-8 (1 + 2^-8 + 2^-16 …) all become 2^-8 (1 + 2^-7) in bfloat16
  Precision claim = usual_precision(formats::float32);
  claim.weights = formats::bfloat16;
  Manner manner;
  manner.normalise_first = true;
  RandomRow row = random_row(1, 1, 1, 255, RowKind{}, formats::float32);
  row.query[0] = 0;
  std::fill(row.values.begin(), row.values.end(), 1);
  const double got = Honest(claim, manner)(row)[0];
  CHECK(got == 255 * 0x1p-8 * (1 + 0x1p-7));
  const Judged expected = judged(row, claim);
  CHECK(!fails(expected, claim, 0, got));
  CHECK(expected.exact.outputs[0].nearest(got) > 0.98 * allowed(expected, claim, 0));
}

TEST_CASE("exact scores of any size, in any manner") {
  rc::prop("small integers and scales that are powers of four", [] {
    const Precision claim = any_claim();
    RowKind kind = ordinary_kind();
    kind.softcap = 0;
    RandomRow row = any_row(kind, claim.output);
    const double size = *rc::gen::element(1.0, 8.0, 64.0);
    for (double& x : row.query) x = claim.output.round(std::nearbyint(x * size));
    for (double& x : row.keys) x = claim.output.round(std::nearbyint(x * size));
    row.rule.scale = Scale::of(*rc::gen::element(1.0, 0.25, 4.0));
    const std::vector<double> got = Honest(claim, any_manner())(row);
    const Judged expected = judged(row, claim);
    for (std::size_t t = 0; t < got.size(); ++t) RC_ASSERT(!fails(expected, claim, t, got[t]));
  });
}

TEST_CASE("subnormal values and underflowing weights are within tolerance") {
  rc::prop("float32 values down to the smallest", [] {
    const Precision claim = usual_precision(formats::float32);
    RowKind kind = ordinary_kind();
    kind.value_scale = *rc::gen::element(0x1p-140, 0x1p-149, 0x1p-126);
    kind.score_spread = *rc::gen::element(1.0, 100.0);
    const RandomRow row = any_row(kind, claim.output);
    const std::vector<double> got = Honest(claim, any_manner())(row);
    const Judged expected = judged(row, claim);
    for (std::size_t t = 0; t < got.size(); ++t)
      RC_ASSERT(expected.exact.outputs[t].farthest(got[t]) <= allowed(expected, claim, t));
  });
}

TEST_CASE("a fault of the size that suites miss is beyond tolerance") {
  // unit data in float32; the fault changes the exact result, the honest error is left out
  RowKind kind{};
  kind.score_spread = 1;
  kind.value_scale = 1;
  const Precision claim = usual_precision(formats::float32);
  const RandomRow row = random_row(3, 64, 8, 64, kind, formats::float32);
  const Judged expected = judged(row, claim);
  const auto detected = [&](const RandomRow& faulty, const RowData& data) {
    RandomRow wrong = faulty;
    wrong.data = data;
    const ExactRow other = exact_row(wrong);
    std::size_t beyond = 0;
    for (std::size_t t = 0; t < other.outputs.size(); ++t)
      beyond += expected.exact.outputs[t].nearest(static_cast<double>(other.outputs[t])) >
                allowed(expected, claim, t);
    return beyond;
  };
  SECTION("the right computation is not") {
    CHECK(detected(row, row.data) == 0);
  }
  SECTION("one key of 64 dropped") {
    RowData data = row.data;
    --data.key_count;
    CHECK(detected(row, data) > 0);
  }
  SECTION("scale off by 2^-12") {
    RandomRow faulty = row;
    faulty.rule.scale = Scale::of(0.125 * (1 + 0x1p-12));
    CHECK(detected(faulty, row.data) > 0);
  }
  SECTION("a cap of 50 on unit scores, which no tolerance of 1e-2 sees") {
    RandomRow faulty = row;
    faulty.rule.softcap = 50;
    CHECK(detected(faulty, row.data) > 0);
  }
}

TEST_CASE("scores that are exact lose nothing") {
  // powers of two: every product, sum and the scale 1/√16 are exact however large
  std::vector<double> query(16, 0), keys(3 * 16, 0);
  query[0] = 4;
  keys[0] = keys[16] = keys[32] = -0x1p120;
  const std::vector<double> values = {1, 2, 4}, bias = {0, 0, -HUGE_VAL};
  const RowData row{query.data(), keys.data(), values.data(), bias.data(), 16, 1, 3};
  const Precision claim = usual_precision(formats::float32);
  SECTION("whatever their size") {
    const Judged exact = judged(Rule{}, row, claim);
    CHECK(exact.scores.biased[0] == 0);
    CHECK_FALSE(exact.scores.may_overflow);
    CHECK_FALSE(exact.tolerance.vacuous[0]);
    CHECK(exact.tolerance.outputs[0] < 1e-6);
  }
  SECTION("and a sum that is not exact does") {
    query[1] = 1;
    keys[1] = 1;
    CHECK(judged(Rule{}, row, claim).scores.biased[0] > 0);
  }
  SECTION("nor is a sum that just exceeds the digits of its format") {
    // 2^53 + 1 in float64
    query[0] = query[1] = 1;
    keys[0] = 0x1p53;
    keys[1] = 1;
    CHECK(judged(Rule{}, row, usual_precision(formats::float64)).scores.biased[0] > 0);
  }
  SECTION("nor what its format cannot hold") {
    query[0] = 1 + 0x1p-10;  // a float32, no bfloat16
    Precision narrow = claim;
    narrow.scores = formats::bfloat16;
    CHECK(judged(Rule{}, row, narrow).scores.biased[0] > 0);
  }
}

TEST_CASE("a sum is rounded once") {
  // 1 + 2^-24 + 2^-60 lies just above the midpoint of 1 and its successor in float32; in double the
  // last term is lost
  const double a = 1 + 0x1p-24;
  CHECK(oracle::detail::rounded_sum(a, 0x1p-60, formats::float32) == 1 + 0x1p-23);
  CHECK(oracle::detail::rounded_sum(a, -0x1p-60, formats::float32) == 1);
  CHECK(oracle::detail::rounded_sum(a, 0, formats::float32) == 1);
}
