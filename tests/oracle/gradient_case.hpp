// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Random calls of attention with gradients, their exact results from the definition in 500 bits,
// and implementations as frameworks have them: written without a line of the oracle but its
// rounding to a format.
#pragma once
#include "call_builder.hpp"
#include "random_row.hpp"

#include <attest/oracle/number_format.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace attest::test {

// One batch entry; arrays row by row, query heads first.
struct GradientCase {
  std::size_t query_heads = 2, key_heads = 1, queries = 3, keys = 5, width = 4, columns = 3;
  double scale = 0.5, softcap = 0;
  bool causal = false;  // top-left
  bool base_two = false;
  std::vector<double> q, k, v, d_output;
  std::vector<double> bias;   // (query, key), for every head; empty: none
  std::vector<double> sinks;  // of each query head; empty: none
  std::vector<double> d_log_sum_exp;

  std::size_t read(std::size_t h) const { return h / (query_heads / key_heads); }
  bool sees(std::size_t i, std::size_t j) const {
    return (!causal || j <= i) && (bias.empty() || bias[i * keys + j] != -HUGE_VAL);
  }
};

// `spread`: of the scores, as a standard deviation.
inline GradientCase random_case(std::uint64_t seed, double spread,
                                const oracle::NumberFormat& format) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  GradientCase c;
  c.key_heads = 1 + below(2);
  c.query_heads = c.key_heads * (1 + below(2));
  c.queries = 1 + below(6);
  c.keys = 1 + below(9);
  c.width = 1 + below(5);
  c.columns = 1 + below(4);
  c.scale = below(2) ? 0.5 : 0.3;
  c.softcap = below(3) ? 0 : 2;
  c.causal = below(2) == 0;
  const auto fill = [&](std::vector<double>& numbers, std::size_t count, double size) {
    for (std::size_t n = 0; n < count; ++n) numbers.push_back(format.round(size * normal(random)));
  };
  const double size = std::sqrt(spread);
  fill(c.q, c.query_heads * c.queries * c.width, size);
  fill(c.k, c.key_heads * c.keys * c.width, size);
  fill(c.v, c.key_heads * c.keys * c.columns, 1);
  fill(c.d_output, c.query_heads * c.queries * c.columns, 1);
  if (below(2)) fill(c.bias, c.queries * c.keys, 1);
  if (!c.bias.empty() && below(2)) c.bias[below(c.bias.size())] = -HUGE_VAL;
  if (below(2)) fill(c.sinks, c.query_heads, 1);
  if (below(2)) fill(c.d_log_sum_exp, c.query_heads * c.queries, 1);
  c.base_two = below(2) == 0;
  return c;
}

// Results by array name, in the arrays' order.
template <class Number>
using Results = std::map<std::string, std::vector<Number>>;
template <class Number>
std::vector<Number> zeros(std::size_t n) {
  return std::vector<Number>(n, Number(0));
}
template <class Number>
Results<Number> zero_results(const GradientCase& c) {
  return {{"out", zeros<Number>(c.d_output.size())},
          {"lse", zeros<Number>(c.query_heads * c.queries)},
          {"dq", zeros<Number>(c.q.size())},
          {"dk", zeros<Number>(c.k.size())},
          {"dv", zeros<Number>(c.v.size())},
          {"dsinks", zeros<Number>(c.sinks.size())},
          {"dattn_mask", zeros<Number>(c.bias.size())}};
}

// By the whole Jacobian of softmax, score by score.
inline Results<Reference> exact_gradients(const GradientCase& c) {
  Results<Reference> r = zero_results<Reference>(c);
  const Reference base = c.base_two ? Reference(1 / log(Reference(2))) : Reference(1);
  for (std::size_t h = 0; h < c.query_heads; ++h)
    for (std::size_t i = 0; i < c.queries; ++i) {
      const std::size_t g = c.read(h), row = h * c.queries + i, all = c.keys + !c.sinks.empty();
      const double* q = &c.q[row * c.width];
      const double* a = &c.d_output[row * c.columns];
      std::vector<Reference> score = zeros<Reference>(all), slope(all, Reference(1)),
                             p = zeros<Reference>(all), dp = zeros<Reference>(all);
      std::vector<bool> counts(all, true);
      Reference sum = 0;
      for (std::size_t j = 0; j < c.keys; ++j) {
        counts[j] = c.sees(i, j);
        for (std::size_t t = 0; t < c.width; ++t)
          score[j] += Reference(q[t]) * c.k[(g * c.keys + j) * c.width + t];
        score[j] *= Reference(c.scale);
        if (c.softcap != 0) {
          const Reference x = tanh(Reference(score[j] / c.softcap));
          slope[j] = 1 - x * x;
          score[j] = c.softcap * x;
        }
        if (!c.bias.empty() && counts[j]) score[j] += c.bias[i * c.keys + j];
        for (std::size_t t = 0; t < c.columns; ++t)
          dp[j] += Reference(a[t]) * c.v[(g * c.keys + j) * c.columns + t];
      }
      if (!c.sinks.empty()) score[c.keys] = c.sinks[h];
      for (std::size_t j = 0; j < all; ++j)
        if (counts[j]) sum += exp(score[j]);
      r["lse"][row] = log(sum) * base;
      for (std::size_t j = 0; j < all; ++j) {
        if (counts[j]) p[j] = exp(score[j]) / sum;
        for (std::size_t t = 0; t < c.columns && j < c.keys; ++t) {
          r["out"][row * c.columns + t] += p[j] * c.v[(g * c.keys + j) * c.columns + t];
          r["dv"][(g * c.keys + j) * c.columns + t] += p[j] * a[t];
        }
      }
      for (std::size_t j = 0; j < all; ++j) {
        Reference ds =
            c.d_log_sum_exp.empty() ? Reference(0) : Reference(p[j] * c.d_log_sum_exp[row] * base);
        for (std::size_t n = 0; n < all; ++n)
          ds += ((j == n ? p[j] : Reference(0)) - p[j] * p[n]) * dp[n];
        if (j == c.keys) {
          r["dsinks"][h] += ds;
          continue;
        }
        if (!c.bias.empty()) r["dattn_mask"][i * c.keys + j] += ds;
        const Reference by_product = Reference(c.scale) * slope[j] * ds;
        for (std::size_t t = 0; t < c.width; ++t) {
          r["dq"][row * c.width + t] += by_product * c.k[(g * c.keys + j) * c.width + t];
          r["dk"][(g * c.keys + j) * c.width + t] += by_product * q[t];
        }
      }
    }
  return r;
}

// What a faulty backward pass leaves out or takes for something else.
enum class Fault {
  none,
  no_level,          // d_s = p d_p, without D
  query_unscaled,    // d_query without the scale
  key_unscaled,      // d_key without the scale
  one_head,          // d_key of the last query head only
  other_base,        // the log-sum-exp in the other base
  no_maximum,        // ln Σ e^(s − max), as some comments have it
  sink_sign,         // d_sink = p D
  value_transposed,  // d_value by 1 − p
};

// The usual implementations in float: weights e/Σ e and D = Σ p d_p, as automatic differentiation
// has them; or `by_log_sum_exp` weights again from the stored log-sum-exp and D = rowsum(d_output ∘
// output) of the output as it is stored, a tile of 2 keys at a time (Dao, FlashAttention-2, 2023).
// Weights and d_s are rounded to `narrow` before they multiply. With `heads_apart` the query heads'
// shares of d_key and d_value are stored before they are summed.
struct Backward {
  bool by_log_sum_exp = false, heads_apart = false;
  const oracle::NumberFormat* narrow = &oracle::formats::float32;
  const oracle::NumberFormat* stored = &oracle::formats::float32;
  Fault fault = Fault::none;
};

inline Results<double> computed_gradients(const GradientCase& c, const Backward& how) {
  const auto narrow = [&](float x) {
    return static_cast<float>(how.narrow->round(static_cast<double>(x)));
  };
  const auto f = [](double x) { return static_cast<float>(x); };
  const float scale = f(c.scale), cap = f(c.softcap), log2_e = 1.44269504f;
  Results<float> r = zero_results<float>(c);
  const auto store = [&](std::vector<float>& numbers) {
    for (float& x : numbers) x = f(how.stored->round(static_cast<double>(x)));
  };
  Results<float> before;
  for (std::size_t h = 0; h < c.query_heads; ++h) {
    if (how.heads_apart)
      for (const char* name : {"dk", "dv"}) {
        before[name] = r[name];
        r[name].assign(r[name].size(), 0.0f);
      }
    if (how.fault == Fault::one_head) {
      const std::size_t g = c.read(h);
      for (std::size_t n = 0; n < c.keys * c.width; ++n) r["dk"][g * c.keys * c.width + n] = 0;
    }
    for (std::size_t i = 0; i < c.queries; ++i) {
      const std::size_t g = c.read(h), row = h * c.queries + i, all = c.keys + !c.sinks.empty();
      std::vector<float> score = zeros<float>(all), slope(all, 1.0f), p = zeros<float>(all),
                         dp = zeros<float>(all);
      std::vector<bool> counts(all, true);
      for (std::size_t j = 0; j < c.keys; ++j) {
        counts[j] = c.sees(i, j);
        for (std::size_t t = 0; t < c.width; ++t)
          score[j] += f(c.q[row * c.width + t]) * f(c.k[(g * c.keys + j) * c.width + t]);
        score[j] *= scale;
        if (c.softcap != 0) {
          score[j] = cap * std::tanh(score[j] / cap);
          slope[j] = 1 - (score[j] / cap) * (score[j] / cap);
        }
        if (!c.bias.empty() && counts[j]) score[j] += f(c.bias[i * c.keys + j]);
        for (std::size_t t = 0; t < c.columns; ++t)
          dp[j] += f(c.d_output[row * c.columns + t]) * f(c.v[(g * c.keys + j) * c.columns + t]);
      }
      if (!c.sinks.empty()) score[c.keys] = f(c.sinks[h]);
      // forward: an online softmax over tiles of two keys
      float maximum = -HUGE_VALF, sum = 0;
      std::vector<float> o = zeros<float>(c.columns);
      for (std::size_t first = 0; first < all; first += 2) {
        const std::size_t last = std::min(first + 2, all);
        float raised = maximum;
        for (std::size_t j = first; j < last; ++j)
          if (counts[j]) raised = std::max(raised, score[j]);
        if (raised == -HUGE_VALF) continue;
        const float rescale = std::exp(maximum - raised);
        sum *= rescale;
        for (float& x : o) x *= rescale;
        maximum = raised;
        for (std::size_t j = first; j < last; ++j) {
          if (!counts[j]) continue;
          const float e = how.by_log_sum_exp ? std::exp2(score[j] * log2_e - maximum * log2_e)
                                             : std::exp(score[j] - maximum);
          sum += e;
          for (std::size_t t = 0; t < c.columns && j < c.keys; ++t)
            o[t] += narrow(e) * f(c.v[(g * c.keys + j) * c.columns + t]);
        }
      }
      if (sum == 0) {
        r["lse"][row] = -HUGE_VALF;
        continue;
      }
      const float lse = maximum + std::log(sum);
      const bool two = c.base_two != (how.fault == Fault::other_base);
      r["lse"][row] = two ? lse * log2_e : lse;
      if (how.fault == Fault::no_maximum) r["lse"][row] = two ? std::log2(sum) : std::log(sum);
      float by_output = 0, by_weights = 0;
      for (std::size_t t = 0; t < c.columns; ++t) {
        const float out = f(how.stored->round(static_cast<double>(o[t] / sum)));
        r["out"][row * c.columns + t] = out;
        by_output += f(c.d_output[row * c.columns + t]) * out;
      }
      for (std::size_t j = 0; j < all; ++j) {
        if (!counts[j]) continue;
        p[j] = how.by_log_sum_exp ? std::exp(score[j] - lse) : std::exp(score[j] - maximum) / sum;
        by_weights += p[j] * dp[j];
      }
      float level = how.by_log_sum_exp ? by_output : by_weights;
      if (how.fault == Fault::no_level) level = 0;
      if (!c.d_log_sum_exp.empty()) level -= f(c.d_log_sum_exp[row]) * (c.base_two ? log2_e : 1.0f);
      for (std::size_t j = 0; j < all; ++j) {
        if (!counts[j]) continue;
        const float ds = p[j] * (dp[j] - level);
        if (j == c.keys) {
          r["dsinks"][h] += how.fault == Fault::sink_sign ? -ds : ds;
          continue;
        }
        if (!c.bias.empty()) r["dattn_mask"][i * c.keys + j] += ds;
        const float product = narrow(ds * slope[j]);
        for (std::size_t t = 0; t < c.width; ++t) {
          r["dq"][row * c.width + t] += product * f(c.k[(g * c.keys + j) * c.width + t]) *
                                        (how.fault == Fault::query_unscaled ? 1 : scale);
          r["dk"][(g * c.keys + j) * c.width + t] +=
              product * f(c.q[row * c.width + t]) * (how.fault == Fault::key_unscaled ? 1 : scale);
        }
        for (std::size_t t = 0; t < c.columns; ++t)
          r["dv"][(g * c.keys + j) * c.columns + t] +=
              narrow(how.fault == Fault::value_transposed ? 1 - p[j] : p[j]) *
              f(c.d_output[row * c.columns + t]);
      }
    }
    if (how.heads_apart)
      for (const char* name : {"dk", "dv"}) {
        store(r[name]);
        for (std::size_t n = 0; n < r[name].size(); ++n) r[name][n] += before[name][n];
        store(r[name]);
      }
  }
  Results<double> rounded;
  for (const auto& [name, numbers] : r)
    for (const float x : numbers)
      rounded[name].push_back(name == "lse" ? static_cast<double>(x)
                                            : how.stored->round(static_cast<double>(x)));
  return rounded;
}

// The call, with results as its outputs; numbers as bfloat16, float32 or float64.
inline CallBuilder call_of(const GradientCase& c, const Results<double>& results,
                           const oracle::NumberFormat& format) {
  CallBuilder builder("plain");
  const auto put = [&](const std::string& name, oracle::Shape shape,
                       const std::vector<double>& numbers, const oracle::NumberFormat& as) {
    if (as == oracle::formats::float64) {
      builder.array(name, oracle::ElementType::float64, shape, numbers);
    } else if (as == oracle::formats::float32) {
      builder.floats(name, shape, std::vector<float>(numbers.begin(), numbers.end()));
    } else {
      std::vector<std::uint16_t> bits;
      for (const double x : numbers)
        bits.push_back(
            static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(x)) >> 16));
      builder.array(name, oracle::ElementType::bfloat16, shape, bits);
    }
  };
  const bool narrow = format.precision < oracle::formats::float32.precision;
  const oracle::NumberFormat& wide = narrow ? oracle::formats::float32 : format;
  const oracle::Shape by_query{1, c.query_heads, c.queries, c.width},
      by_key{1, c.key_heads, c.keys, c.width}, by_value{1, c.key_heads, c.keys, c.columns},
      output{1, c.query_heads, c.queries, c.columns}, rows{1, c.query_heads, c.queries};
  put("q", by_query, c.q, format);
  put("k", by_key, c.k, format);
  put("v", by_value, c.v, format);
  put("dout", output, c.d_output, format);
  if (!c.bias.empty()) put("attn_mask", {c.queries, c.keys}, c.bias, wide);
  if (!c.sinks.empty()) put("sinks", {c.query_heads}, c.sinks, wide);
  if (!c.d_log_sum_exp.empty()) put("dlse", rows, c.d_log_sum_exp, wide);
  put("out", output, results.at("out"), format);
  put("lse", rows, results.at("lse"), wide);
  put("dq", by_query, results.at("dq"), format);
  put("dk", by_key, results.at("dk"), format);
  put("dv", by_value, results.at("dv"), format);
  if (!c.bias.empty()) put("dattn_mask", {c.queries, c.keys}, results.at("dattn_mask"), wide);
  if (!c.sinks.empty()) put("dsinks", {c.query_heads}, results.at("dsinks"), wide);
  builder.option("scale", c.scale).option("softcap", c.softcap);
  builder.option("causal", std::string(c.causal ? "top-left" : "none"));
  builder.option("lse_base", std::string(c.base_two ? "2" : "e"));
  return builder;
}

}  // namespace attest::test
