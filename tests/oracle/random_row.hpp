// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Random rows of attention in the magnitudes that matter, and their exact results by a second,
// plain implementation.
#pragma once
#include "catch.hpp"

#include <attest/oracle/enclosure.hpp>
#include <attest/oracle/number_format.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <ostream>
#include <random>
#include <vector>

namespace attest::test {

// 500 bits: far beyond what any tier under test resolves, and written without a line of the oracle.
using Reference =
    boost::multiprecision::number<boost::multiprecision::backends::cpp_bin_float<
                                      500, boost::multiprecision::backends::digit_base_2>,
                                  boost::multiprecision::et_off>;

// What makes a row hard: how far scores spread, what the values are.
struct RowKind {
  double score_spread;   // standard deviation of the scores
  double value_scale;    // magnitude of the values; may be subnormal
  bool cancelling;       // values come in pairs ±v, so that outputs are small differences
  bool offset;           // values share a large common part
  double mask_fraction;  // of keys that are masked
  double bias_scale;     // of the finite bias
  double softcap;        // 0: none
};

// What RapidCheck prints of a failing row.
inline std::ostream& operator<<(std::ostream& out, const RowKind& kind) {
  return out << "spread " << kind.score_spread << ", values " << kind.value_scale
             << (kind.cancelling ? ", cancelling" : "") << (kind.offset ? ", offset" : "")
             << ", masked " << kind.mask_fraction << ", bias " << kind.bias_scale << ", softcap "
             << kind.softcap;
}

struct RandomRow {
  std::vector<double> query, keys, values, bias;
  Rule rule;
  oracle::RowData data;
};

inline RandomRow random_row(std::uint64_t seed, std::size_t width, std::size_t value_width,
                            std::size_t key_count, const RowKind& kind,
                            const oracle::NumberFormat& format) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  RandomRow row;
  const double q_scale = std::sqrt(kind.score_spread);
  const auto held = [&](double x) {
    return std::clamp(format.round(x), -format.largest, format.largest);
  };
  const auto fill = [&](std::vector<double>& numbers, std::size_t count, double scale) {
    numbers.resize(count);
    for (double& x : numbers) x = held(scale * normal(random));
  };
  fill(row.query, width, q_scale);
  fill(row.keys, key_count * width, q_scale);
  fill(row.values, key_count * value_width, kind.value_scale);
  for (std::size_t j = 0; j < key_count; ++j)
    for (std::size_t t = 0; t < value_width; ++t) {
      double& v = row.values[j * value_width + t];
      if (kind.cancelling && j % 2) v = -row.values[(j - 1) * value_width + t];
      if (kind.offset) v = held(v + 100 * kind.value_scale);
    }
  if (kind.cancelling)  // equal keys in each pair: equal weights, so that the pair's values cancel
    for (std::size_t j = 1; j < key_count; j += 2)
      for (std::size_t t = 0; t < width; ++t)
        row.keys[j * width + t] = row.keys[(j - 1) * width + t];
  row.bias.resize(key_count);
  for (double& b : row.bias) {
    b = kind.bias_scale == 0 ? 0 : held(kind.bias_scale * normal(random));
    if (uniform(random) < kind.mask_fraction) b = -std::numeric_limits<double>::infinity();
  }
  if (key_count) row.bias[random() % key_count] = 0;  // at least one visible key
  row.rule.softcap = kind.softcap;
  row.data = {row.query.data(), row.keys.data(), row.values.data(), row.bias.data(), width,
              value_width,      key_count};
  return row;
}

inline RowKind any_kind() {
  RowKind kind{};
  kind.score_spread = std::ldexp(1.0, *rc::gen::inRange(-12, 12));
  kind.value_scale = std::ldexp(1.0, *rc::gen::element(0, 0, 0, 3, -20, 100, -140, -1040, -1070));
  kind.cancelling = *rc::gen::inRange(0, 4) == 0;
  kind.offset = *rc::gen::inRange(0, 4) == 0;
  kind.mask_fraction = *rc::gen::element(0.0, 0.3, 0.9);
  kind.bias_scale = *rc::gen::element(0.0, 0.0, 1.0, 1e4);
  kind.softcap = *rc::gen::element(0.0, 0.0, 2.0, 50.0, 1e-3, 1e6);
  return kind;
}

// Scores that double bounds with ease, of any values.
inline RowKind bounded_kind() {
  RowKind kind = any_kind();
  kind.score_spread = std::ldexp(1.0, *rc::gen::inRange(-12, 4));
  kind.bias_scale = *rc::gen::element(0.0, 1.0);
  kind.softcap = *rc::gen::element(0.0, 2.0, 50.0);
  return kind;
}

struct ExactRow {
  std::vector<Reference> scaled, capped, biased, weights, outputs;
};

inline ExactRow exact_row(const RandomRow& row) {
  const oracle::RowData& data = row.data;
  ExactRow exact;
  const Reference scale = row.rule.scale.by_width ? Reference(1 / sqrt(Reference(data.width)))
                                                  : Reference(row.rule.scale.given);
  Reference maximum = -std::numeric_limits<Reference>::infinity();
  for (std::size_t j = 0; j < data.key_count; ++j) {
    Reference s = 0;
    for (std::size_t t = 0; t < data.width; ++t)
      s += Reference(data.query[t]) * Reference(data.key(j)[t]);
    s *= scale;
    exact.scaled.push_back(s);
    if (row.rule.softcap != 0) s = row.rule.softcap * tanh(Reference(s / row.rule.softcap));
    exact.capped.push_back(s);
    if (data.visible(j)) {
      s += data.bias[j];
      if (s > maximum) maximum = s;
    }
    exact.biased.push_back(s);
  }
  Reference sum = 0;
  for (std::size_t j = 0; j < data.key_count; ++j) {
    exact.weights.push_back(data.visible(j) ? Reference(exp(Reference(exact.biased[j] - maximum)))
                                            : Reference(0));
    sum += exact.weights.back();
  }
  for (Reference& weight : exact.weights) weight /= sum;
  for (std::size_t t = 0; t < data.value_width; ++t) {
    Reference o = 0;
    for (std::size_t j = 0; j < data.key_count; ++j)
      o += exact.weights[j] * Reference(data.value(j)[t]);
    exact.outputs.push_back(o);
  }
  return exact;
}

}  // namespace attest::test
