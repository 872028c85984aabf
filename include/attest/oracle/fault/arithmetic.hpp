// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Faults of the arithmetic: less of it than is claimed, and numbers that leave their range.
#pragma once
#include <attest/oracle/fault/softmax.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace attest::oracle::detail {

// TF32 of NVIDIA's tensor cores: 10 stored bits of significand and float's exponents.
inline constexpr NumberFormat tensor_float32{"tf32", 11, -126, 127, (2 - 0x1p-10) * 0x1p127, true};
inline constexpr const NumberFormat* coarse_formats[] = {&formats::bfloat16, &formats::float16,
                                                         &formats::float8_e4m3fn,
                                                         &formats::float8_e5m2, &tensor_float32};
inline std::string format_in_words(double n) {
  return std::string(coarse_formats[static_cast<std::size_t>(n)]->name);
}
// Coarser formats than that of `step`.
inline std::vector<double> coarser_than(const NumberFormat& step, std::size_t count) {
  std::vector<double> found;
  for (std::size_t n = 0; n < count; ++n)
    if (coarse_formats[n]->precision < step.precision) found.push_back(static_cast<double>(n));
  return found;
}
inline void round_to(std::vector<double>& row, double n) {
  for (double& x : row) x = coarse_formats[static_cast<std::size_t>(n)]->round(x);
}
inline double largest_of(const Problem& p, bool keys) {
  std::vector<double> row(keys ? p.width() : p.value_width());
  double largest = 0;
  for (std::size_t b = 0; b < p.batches(); ++b)
    for (std::size_t h = 0; h < p.key_value_heads(); ++h)
      for (std::size_t j = 0; j < p.given_keys(); ++j) {
        if (keys)
          p.read_key(b, h, j, row.data());
        else
          p.read_value(b, h, j, row.data());
        for (const double x : row)
          if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
      }
  return largest;
}
// As the nearest multiple of largest/127, or as a number of 8 bits times largest/448.
inline void quantise(std::vector<double>& row, double largest, bool floating) {
  if (largest == 0) return;
  const NumberFormat& format = formats::float8_e4m3fn;
  const double scale = largest / (floating ? format.largest : 127);
  for (double& x : row)
    x = scale * (floating ? format.round(x / scale) : std::nearbyint(x / scale));
}
inline Example many_keys(std::size_t keys) {
  Numbers scores(keys), values(keys);
  for (std::size_t j = 0; j < keys; ++j) {
    scores[j] = std::fmod(0.37 * static_cast<double>(j), 1.0);
    values[j] = 1 + 0.5 * std::fmod(0.61 * static_cast<double>(j), 1.0);
  }
  return one_query(scores, values).option("scale", 1.0);
}

inline constexpr Fault arithmetic_faults[] = {
    {"q·k overflows float16 before the scale", FaultFamily::arithmetic,
     "q·k is held in float16: beyond 65504 it is infinite.", "the scale comes after the product",
     "microsoft/onnxruntime#28195", always,
     [](Implementation& by, double) {
       by.steps.product_format = &formats::float16;
       by.in_claimed_formats = true;
     },
     nullptr,
     [] {
       return small_call({1, 1}, {300}, {2, 1}, {300, 0}, {2, 1}, {1, 2}).option("scale", 1e-5);
     }},
    {"weights held in a coarser format", FaultFamily::arithmetic,
     "Weights are rounded to a coarser format than is claimed before they multiply values.",
     "16-bit or 8-bit matrix units", "pytorch/pytorch#163588",
     [](const Problem& p) { return coarser_than(p.format, 5); },
     [](Implementation& by, double n) {
       by.steps.weight_format = coarse_formats[static_cast<std::size_t>(n)];
       by.in_claimed_formats = true;
       by.steps.divides_first = false;
     },
     [](double n) { return "weights held in " + format_in_words(n); }, [] { return many_keys(5); }},
    {"normalised weights held in a coarser format", FaultFamily::arithmetic,
     "Weights are divided by their sum, then rounded to a coarser format than is claimed.",
     "softmax returns 16-bit or 8-bit numbers", "pytorch/pytorch#163588",
     [](const Problem& p) { return coarser_than(p.format, 5); },
     [](Implementation& by, double n) {
       by.steps.weight_format = coarse_formats[static_cast<std::size_t>(n)];
       by.in_claimed_formats = true;
     },
     [](double n) { return "normalised weights held in " + format_in_words(n); },
     [] { return many_keys(5); }},
    {"query and key held in a coarser format", FaultFamily::arithmetic,
     "Query and key are rounded to a coarser format before their product.",
     "tensor cores that take float32 as TF32 or bfloat16", "",
     [](const Problem& p) {
       return p.format.precision > 11 ? std::vector<double>{4, 0, 1} : std::vector<double>{};
     },
     [](Implementation& by, double n) {
       by.steps.on_query = [n](std::vector<double>& q, long) { round_to(q, n); };
       by.steps.on_key = [n](std::vector<double>& k, long) { round_to(k, n); };
     },
     [](double n) { return "query and key held in " + format_in_words(n); },
     [] {
       return one_query({1.0001, 0}, {1, 0}).option("scale", 8.0).array("q", {1, 1}, {1.01});
     }},
    {"values held in a coarser format", FaultFamily::arithmetic,
     "Values are rounded to a coarser format before they are blended.",
     "tensor cores that take float32 as TF32 or bfloat16; or a quantised cache", "",
     [](const Problem& p) { return coarser_than(p.format, 5); },
     [](Implementation& by, double n) {
       by.steps.on_value = [n](std::vector<double>& v, RowIndex) { round_to(v, n); };
     },
     [](double n) { return "values held in " + format_in_words(n); },
     [] {
       return one_query({0, 0}, {1.003, 2.007});
     }},
    {"keys and values quantised with one scale", FaultFamily::arithmetic,
     "Keys and values are held in 8 bits, relative to the largest of all of them.",
     "a quantised cache; what a hidden or later key holds then changes every row",
     "NVIDIA/TransformerEngine#3248",
     [](const Problem& p) {
       return p.format.precision > 4 ? std::vector<double>{0, 1} : std::vector<double>{};
     },
     [](Implementation& by, double n) {
       const double key = largest_of(by.problem, true), value = largest_of(by.problem, false);
       by.steps.on_key = [key, n](std::vector<double>& k, long) { quantise(k, key, n != 0); };
       by.steps.on_value = [value, n](std::vector<double>& v, RowIndex) {
         quantise(v, value, n != 0);
       };
     },
     [](double n) {
       return std::string("keys and values quantised with one scale, to ") +
              (n != 0 ? "float8_e4m3fn" : "int8");
     },
     [] {
       return one_query({0, 0}, {1.003, 2.007});
     }},
    {"exponentials summed in a coarser format", FaultFamily::arithmetic,
     "The sum is rounded to a coarser format after each key: what is added to a large sum is lost.",
     "the row's sum is kept in the inputs' format", "sonos/tract#2586",
     [](const Problem&) {
       return std::vector<double>{0, 1};
     },
     [](Implementation& by, double n) {
       by.steps.sum_format = coarse_formats[static_cast<std::size_t>(n)];
       by.in_claimed_formats = true;
     },
     [](double n) { return "exponentials summed in " + format_in_words(n); },
     [] { return many_keys(40); },
     [](Precision& claim, double n) {
       claim.softmax = *coarse_formats[static_cast<std::size_t>(n)];
     }},
    {"products accumulated in a coarser format", FaultFamily::arithmetic,
     "Sums of products are rounded to a coarser format after each term.",
     "accumulation in the inputs' format", "ikawrakow/ik_llama.cpp#1196",
     [](const Problem&) {
       return std::vector<double>{1, 0};
     },
     [](Implementation& by, double n) {
       by.steps.accumulate_format = coarse_formats[static_cast<std::size_t>(n)];
       by.in_claimed_formats = true;
     },
     [](double n) { return "products accumulated in " + format_in_words(n); },
     [] { return many_keys(40); },
     [](Precision& claim, double n) {
       claim.accumulate = *coarse_formats[static_cast<std::size_t>(n)];
     }},
    {"exponential inaccurate", FaultFamily::arithmetic,
     "e^x has a larger relative error than a few units in the last place.",
     "a polynomial of low degree, a table, or the exponential of a coarser format", "",
     [](const Problem& p) {
       std::vector<double> errors;
       for (const double error : {1e-6, 4e-6, 1.6e-5, 6.4e-5, 2.5e-4, 1e-3, 4e-3, 1.6e-2})
         if (error > 16 * p.format.unit_roundoff()) errors.push_back(error);
       return errors;
     },
     [](Implementation& by, double error) {
       by.steps.exponential = [error](double x) {
         return std::exp(x) * (1 + error * std::sin(40 * x));
       };
     },
     [](double error) {
       return "exponential inaccurate: relative error about " + number_in_words(error);
     },
     [] { return many_keys(5); },
     [](Precision& claim, double error) {
       claim.exp_error = std::max(claim.exp_error, error / claim.softmax.unit_roundoff());
     }},
};

}  // namespace attest::oracle::detail
