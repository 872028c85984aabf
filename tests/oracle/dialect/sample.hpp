// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Attention by the words of a definition, in long double, and calls that hold its output: what a
// dialect's tests compare with. It shares nothing with the oracle but the arrays.
#pragma once
#include <attest/oracle/reference.hpp>
#include <attest/oracle/verdict.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../call_builder.hpp"

namespace attest::test {

using oracle::Verdict;

// Batches, query heads, key/value heads, queries, keys, width, value width.
struct Extents {
  std::size_t b = 2, hq = 4, hkv = 2, s = 3, t = 5, d = 4, dv = 4;
};

// The numbers of q, k and v: (batch, head, row, column), last fastest.
struct Sample {
  Extents n;
  std::vector<float> q, k, v;

  explicit Sample(Extents extents = {}, unsigned seed = 1) : n(extents) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> numbers(-2, 2);
    for (auto* array : {&q, &k, &v})
      array->resize(array == &q   ? n.b * n.hq * n.s * n.d
                    : array == &k ? n.b * n.hkv * n.t * n.d
                                  : n.b * n.hkv * n.t * n.dv);
    for (auto* array : {&q, &k, &v})
      for (float& x : *array) x = numbers(random);
  }
  CallBuilder call(const std::string& dialect) const {
    CallBuilder builder(dialect);
    builder.floats("q", {n.b, n.hq, n.s, n.d}, q);
    builder.floats("k", {n.b, n.hkv, n.t, n.d}, k);
    builder.floats("v", {n.b, n.hkv, n.t, n.dv}, v);
    return builder;
  }
  float query(std::size_t b, std::size_t h, std::size_t i, std::size_t c) const {
    return q[((b * n.hq + h) * n.s + i) * n.d + c];
  }
  float key(std::size_t b, std::size_t g, std::size_t j, std::size_t c) const {
    return k[((b * n.hkv + g) * n.t + j) * n.d + c];
  }
  float value(std::size_t b, std::size_t g, std::size_t j, std::size_t c) const {
    return v[((b * n.hkv + g) * n.t + j) * n.dv + c];
  }
};

enum class Empty { zero, nan, mean };

// What a definition says of batch entry b, query head h, query i and key j.
struct Definition {
  double scale = 0;  // 0: 1/√d
  double softcap = 0;
  std::function<bool(int b, int h, int i, int j)> sees = [](int, int, int, int) { return true; };
  std::function<double(int b, int h, int i, int j)> added = [](int, int, int, int) { return 0.0; };
  std::function<int(int h)> head = nullptr;  // blocked
  std::vector<double> sinks = {};
  Empty empty = Empty::zero;
};

// The output as float, (batch, head, row, column).
inline std::vector<float> output(const Sample& x, const Definition& by) {
  const auto count = [](std::size_t n) { return static_cast<int>(n); };
  std::vector<float> out;
  for (int b = 0; b < count(x.n.b); ++b)
    for (int h = 0; h < count(x.n.hq); ++h)
      for (int i = 0; i < count(x.n.s); ++i) {
        const auto g =
            static_cast<std::size_t>(by.head ? by.head(h) : h / (count(x.n.hq) / count(x.n.hkv)));
        const auto bu = static_cast<std::size_t>(b), hu = static_cast<std::size_t>(h),
                   iu = static_cast<std::size_t>(i);
        std::vector<long double> e(x.n.t, 0);
        long double sum = by.sinks.empty() ? 0 : std::exp(static_cast<long double>(by.sinks[hu]));
        for (std::size_t j = 0; j < x.n.t; ++j) {
          if (!by.sees(b, h, i, static_cast<int>(j))) continue;
          long double s = 0;
          for (std::size_t c = 0; c < x.n.d; ++c)
            s += static_cast<long double>(x.query(bu, hu, iu, c)) * x.key(bu, g, j, c);
          s *= by.scale != 0 ? by.scale : 1 / std::sqrt(static_cast<long double>(x.n.d));
          if (by.softcap != 0) s = by.softcap * std::tanh(s / by.softcap);
          e[j] = std::exp(s + by.added(b, h, i, static_cast<int>(j)));
          sum += e[j];
        }
        for (std::size_t c = 0; c < x.n.dv; ++c) {
          long double o = 0;
          for (std::size_t j = 0; j < x.n.t; ++j)
            o += (sum != 0 ? e[j] / sum : 1 / static_cast<long double>(x.n.t)) *
                 x.value(bu, g, j, c);
          if (sum == 0 && by.empty == Empty::zero) o = 0;
          if (sum == 0 && by.empty == Empty::nan) o = std::numeric_limits<long double>::quiet_NaN();
          out.push_back(static_cast<float>(o));
        }
      }
  return out;
}

// Judged row by row and in blocks, which must find the same; no certificate where they do not.
inline Verdict verdict_of(const oracle::Call& call) {
  const oracle::Report rows = oracle::judge(call);
  oracle::JudgeOptions in_blocks;
  in_blocks.blocks_from = 0;
  const oracle::Report blocks = oracle::judge(call, in_blocks);
  const bool same = rows.verdict == blocks.verdict &&
                    rows.outputs[0].elements == blocks.outputs[0].elements &&
                    rows.outputs[0].failed == blocks.outputs[0].failed &&
                    rows.outputs[0].unspecified == blocks.outputs[0].unspecified;
  return same ? rows.verdict : Verdict::no_certificate;
}

inline Verdict verdict_on(CallBuilder builder, const Sample& x, const std::vector<float>& out) {
  builder.floats("out", {x.n.b, x.n.hq, x.n.s, x.n.dv}, out);
  return verdict_of(builder.call);
}
// Whether the dialect accepts exactly what the definition gives.
inline Verdict verdict(const CallBuilder& builder, const Sample& x, const Definition& by) {
  return verdict_on(builder, x, output(x, by));
}

inline std::string refusal(const oracle::Call& call) {
  try {
    oracle::read_problem(call);
  } catch (const oracle::BadCall& bad) {
    return bad.what();
  }
  return "accepted";
}

}  // namespace attest::test
