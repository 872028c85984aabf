// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Faults of the softmax itself: its maximum, its exponential, its sum, and over what it is.
#pragma once
#include <attest/oracle/fault/tiles.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace attest::oracle::detail {

inline std::vector<double> always(const Problem&) {
  return one_setting;
}
// 0: the output is divided by the sum, 1: the weights are.
inline std::vector<double> two_divisions(const Problem&) {
  return {0, 1};
}
// A softmax over queries is computed with all of a head's rows.
inline std::vector<double> if_head_is_small(const Problem& p) {
  const double work = static_cast<double>(p.queries()) * static_cast<double>(p.keys()) *
                      static_cast<double>(p.width() + p.value_width());
  return work < 0x1p24 ? one_setting : std::vector<double>{};
}
// The maximum that is subtracted is of other keys than the query sees. 0 and 1: in the claimed
// formats, a sum of 0 gives zeros or NaN; 2 and 3: in double.
inline const std::vector<double> other_maxima{0, 1, 2, 3};
inline void subtract_maximum_of(Implementation& by, double setting,
                                bool (*of)(const Problem&, const KeyRow&, std::size_t)) {
  by.steps.maximum.of = of;
  by.steps.scores_of_hidden_keys = true;
  by.steps.zero_if_sum_is_zero = setting == 0 || setting == 2;
  by.in_claimed_formats = setting < 2;
}
inline std::string other_maximum_in_words(const char* name, double setting) {
  std::string words = name;
  if (setting >= 2) words += ", in double";
  if (setting == 0 || setting == 2) words += ", and a sum of 0 gives zeros";
  return words;
}
inline Example softmax_example() {
  return one_query({0, 1}, {1, 2}).option("scale", 1.0);
}

inline constexpr Fault softmax_faults[] = {
    {"plain mean of the values", FaultFamily::softmax,
     "Every visible key has the same weight: query and key do not matter.",
     "the product q·k is skipped", "alibaba/MNN#4653", always,
     [](Implementation& by, double) {
       on_scores(by, [](const Problem&, KeyRow& row) {
         for (double& score : row.scores) score = score == minus_infinity ? score : 0;
         std::fill(row.constant.begin(), row.constant.end(), char{1});
         std::fill(row.errors.begin(), row.errors.end(), 0.0);
       });
     },
     nullptr, softmax_example},
    {"values accumulated before the division", FaultFamily::softmax,
     "The sum of exponentials times values leaves the range although the output does not.",
     "the division by the sum is left to the end; or exponentials are not relative to the maximum",
     "ikawrakow/ik_llama.cpp#1196", always,
     [](Implementation& by, double) {
       by.steps.divides_first = false;
       by.in_claimed_formats = true;
     },
     nullptr,
     [] {
       return one_query({0, 0}, {2.5e38, 2.5e38});
     }},
    {"maximum not subtracted", FaultFamily::softmax,
     "e^score is taken as it is: it overflows for large scores and underflows for very negative "
     "ones.",
     "softmax by its textbook formula", "vllm-project/vllm#68", two_divisions,
     [](Implementation& by, double first) {
       by.steps.maximum.subtracted = false;
       by.steps.divides_first = first != 0;
       by.in_claimed_formats = true;
     },
     nullptr,
     [] {
       return one_query({1000, 999}, {1, 2}).option("scale", 1.0);
     }},
    {"running maximum starts at a finite number", FaultFamily::softmax,
     "Scores far below the number the running maximum starts at underflow: 0/0, or a row of zeros.",
     "a finite number stands for −∞, or 0", "flashinfer-ai/flashinfer#4267",
     [](const Problem&) {
       return std::vector<double>{0, -1e4, -1e30, -5e4, -1e9, -1e5, -1e6, -1e38, -1e3, -100};
     },
     [](Implementation& by, double start) {
       by.steps.maximum.starts_at = start;
       by.steps.divides_first = false;
       by.in_claimed_formats = true;
     },
     [](double start) { return "running maximum starts at " + number_in_words(start); },
     [] {
       return one_query({-1000, -1001}, {1, 2}).option("scale", 1.0);
     }},
    {"rows of an underflowing sum zero", FaultFamily::softmax,
     "The running maximum starts at a finite number, and a sum of 0 makes the row zero.",
     "a finite number stands for −∞, and the division is guarded", "flashinfer-ai/flashinfer#4450",
     [](const Problem&) {
       return std::vector<double>{-1e4, 0, -5e4, -1e30, -1e9, -1e5, -1e6, -1e38, -1e3, -100};
     },
     [](Implementation& by, double start) {
       by.steps.maximum.starts_at = start;
       by.steps.zero_if_sum_is_zero = true;
       by.steps.divides_first = false;
       by.in_claimed_formats = true;
     },
     [](double start) {
       return "running maximum starts at " + number_in_words(start) +
              ", and a sum of 0 gives zeros";
     },
     [] {
       return one_query({-20000, -20001}, {1, 2}).option("scale", 1.0);
     }},
    {"maximum not subtracted, sum guarded by a small number", FaultFamily::softmax,
     "e^score is taken as it is and a small number is added to the sum, which outweighs an "
     "underflowing row.",
     "softmax by its textbook formula, guarded against a division by 0", "",
     [](const Problem&) {
       // negative: weights are divided, not the output
       return std::vector<double>{1e-6,  -1e-6, 1e-9,   -1e-9, 1e-5,   -1e-5, 1e-8,
                                  -1e-8, 1e-10, -1e-10, 1e-12, -1e-12, 1e-7,  -1e-7};
     },
     [](Implementation& by, double epsilon) {
       by.steps.maximum.subtracted = false;
       by.steps.added_to_sum = std::fabs(epsilon);
       by.steps.divides_first = epsilon < 0;
       by.in_claimed_formats = true;
     },
     [](double epsilon) {
       return "maximum not subtracted, " + number_in_words(std::fabs(epsilon)) +
              " added to the sum";
     },
     [] {
       return one_query({-20, -21}, {1, 2}).option("scale", 1.0);
     }},
    {"a fixed number subtracted", FaultFamily::softmax,
     "A constant is subtracted from the scores in place of their maximum: large scores overflow.",
     "a split of the keys that avoids a second pass", "pytorch/executorch#22133",
     [](const Problem&) {
       return std::vector<double>{10, 20, 5, 50, 100};
     },
     [](Implementation& by, double fixed) {
       by.steps.maximum.fixed = fixed;
       by.steps.divides_first = false;
       by.in_claimed_formats = true;
     },
     [](double fixed) { return number_in_words(fixed) + " subtracted in place of the maximum"; },
     [] {
       return one_query({200, 199}, {1, 2}).option("scale", 1.0);
     }},
    {"row maximum taken over hidden keys as well", FaultFamily::softmax,
     "The maximum that is subtracted is over all keys: where a hidden one scores far higher, the "
     "exponentials of all others underflow, and the row is 0/0 or zeros.",
     "the maximum is taken before the mask is applied", "",
     [](const Problem& p) { return may_hide(p) ? other_maxima : std::vector<double>{}; },
     [](Implementation& by, double setting) {
       subtract_maximum_of(by, setting,
                           [](const Problem&, const KeyRow&, std::size_t) { return true; });
     },
     [](double setting) {
       return other_maximum_in_words("row maximum taken over hidden keys as well", setting);
     },
     [] {
       return masked_example({0, 1000}, {1, 2}, {1, 0});
     }},
    {"row maximum taken over the hidden triangle", FaultFamily::softmax,
     "The maximum that is subtracted is over the query's own key and later ones: where one of them "
     "scores far higher than earlier keys, these underflow, where all score far lower, they "
     "overflow.",
     "the maximum is taken of the triangle that causality hides, not of the other", "",
     [](const Problem& p) { return p.rule.causal ? other_maxima : std::vector<double>{}; },
     [](Implementation& by, double setting) {
       subtract_maximum_of(by, setting, [](const Problem& p, const KeyRow& row, std::size_t j) {
         const RowIndex at = row.place;
         return static_cast<long>(j) >=
                static_cast<long>(at.row) + p.offsets[at.batch] + p.rule.offset;
       });
     },
     [](double setting) {
       return other_maximum_in_words("row maximum taken over the hidden triangle", setting);
     },
     [] {
       return small_call({2, 1}, {1, 1}, {2, 1}, {1000, 0}, {2, 1}, {1, 2})
           .option("scale", 1.0)
           .option("causal", std::string("top-left"));
     }},
    {"softmax over the queries", FaultFamily::softmax,
     "The weights of a key sum to 1 over the queries, not those of a query over the keys.",
     "the wrong axis", "", if_head_is_small,
     [](Implementation& by, double) { by.steps.over = SoftmaxOver::queries; }, nullptr,
     [] {
       return equal_scores(2, {1, 2, 4});
     }},
    {"softmax over the whole matrix", FaultFamily::softmax,
     "The weights of all queries of a head together sum to 1.", "the axis is missing", "",
     if_head_is_small,
     [](Implementation& by, double) { by.steps.over = SoftmaxOver::queries_and_keys; }, nullptr,
     [] {
       return equal_scores(2, {1, 2});
     }},
    {"softmax missing", FaultFamily::softmax, "The scores themselves multiply the values.",
     "linear attention, or a step skipped", "", always,
     [](Implementation& by, double) {
       on_weights(by, [](const Problem&, KeyRow& row) {
         for (std::size_t j = 0; j < row.size(); ++j)
           row.weights[j] = row.hidden[j] ? 0 : row.scores[j];
       });
     },
     nullptr, softmax_example},
    {"weights not divided by their sum", FaultFamily::softmax,
     "The exponentials relative to the maximum multiply the values.", "the last step is missing",
     "", always,
     [](Implementation& by, double) {
       on_weights(by, [](const Problem&, KeyRow& row) {
         for (double& w : row.weights) w *= row.sum;
       });
     },
     nullptr, softmax_example},
    {"weights divided twice by their sum", FaultFamily::softmax,
     "The output of each row is divided by the sum once more.",
     "both weights and output are normalised", "", always,
     [](Implementation& by, double) {
       on_weights(by, [](const Problem&, KeyRow& row) {
         for (double& w : row.weights) w /= row.sum;
       });
     },
     nullptr, softmax_example},
    {"one added to the sum", FaultFamily::softmax,
     "e^0 is added to the sum as if a key of score 0 and value 0 took part.",
     "softmax with an attention sink of 0, which the call does not have", "", always,
     [](Implementation& by, double) {
       on_scores(by, [](const Problem&, KeyRow& row) { row.append(0); });
     },
     nullptr, softmax_example},
    {"one added to the sum relative to the maximum", FaultFamily::softmax,
     "1 is added to the sum of the exponentials relative to the maximum.",
     "a sum that starts from 1, as the maximum's own exponential would be", "", always,
     [](Implementation& by, double) { by.steps.added_to_sum = 1; }, nullptr, softmax_example},
    {"a small number added to the sum", FaultFamily::softmax,
     "The sum of the exponentials relative to the maximum is larger by a small number.",
     "a guard against division by 0", "",
     [](const Problem&) {
       return std::vector<double>{1e-6, 1e-5, 1e-4, 1e-3, 1e-2};
     },
     [](Implementation& by, double epsilon) { by.steps.added_to_sum = epsilon; },
     [](double epsilon) { return number_in_words(epsilon) + " added to the sum"; },
     softmax_example},
    {"sum misses the last key", FaultFamily::softmax,
     "The last visible key multiplies its value but is not in the sum.", "< in place of <=", "",
     [](const Problem& p) { return p.keys() > 1 ? one_setting : std::vector<double>{}; },
     [](Implementation& by, double) {
       on_weights(by, [](const Problem&, KeyRow& row) {
         std::size_t last = row.size();
         for (std::size_t j = 0; j < row.size(); ++j)
           if (!row.hidden[j]) last = j;
         if (last == row.size()) return;
         const double rest = 1 - row.weights[last];
         for (double& w : row.weights) w /= rest;
       });
     },
     nullptr, softmax_example},
    {"hard maximum", FaultFamily::softmax, "Only the key of the highest score counts.",
     "a temperature of 0", "", always,
     [](Implementation& by, double) {
       on_weights(by, [](const Problem&, KeyRow& row) {
         const auto best = std::max_element(row.weights.begin(), row.weights.end());
         const auto at = best - row.weights.begin();
         std::fill(row.weights.begin(), row.weights.end(), 0.0);
         row.weights[static_cast<std::size_t>(at)] = 1;
       });
     },
     nullptr, softmax_example},
    {"2^x in place of e^x", FaultFamily::softmax, "The exponentials are to base 2.",
     "exp2 without the factor log₂ e", "", always,
     [](Implementation& by, double) {
       by.steps.exponential = [](double x) { return std::exp2(x); };
     },
     nullptr, softmax_example},
    {"log₂ e applied twice", FaultFamily::softmax, "The exponentials are to base e^1.4427.",
     "the factor for exp2 is in the scale and in the kernel", "", always,
     [](Implementation& by, double) {
       by.steps.exponential = [](double x) { return std::exp(x * 0x1.71547652b82fep+0); };
     },
     nullptr, softmax_example},
    {"softmax applied twice", FaultFamily::softmax, "The weights are the softmax of the weights.",
     "both the caller and the kernel apply it", "", always,
     [](Implementation& by, double) {
       on_weights(by, [](const Problem&, KeyRow& row) {
         double sum = 0;
         for (std::size_t j = 0; j < row.size(); ++j) {
           row.weights[j] = row.hidden[j] ? 0 : std::exp(row.weights[j]);
           sum += row.weights[j];
         }
         for (double& w : row.weights) w /= sum;
       });
     },
     nullptr, softmax_example},
    {"weights as if no key were hidden", FaultFamily::softmax,
     "The sum is over all keys, hidden ones too, which multiply no value.",
     "the mask is applied to weights, or the sum is computed before it", "", if_may_hide,
     [](Implementation& by, double) {
       const auto open = std::make_shared<Problem>(by.problem);
       open->mask.reset();
       open->rule.causal = false;
       open->rule.window_left = open->rule.window_right = -1;
       by.steps.own_bias = [open](const Problem& p, RowIndex at, std::size_t j) {
         const double bias = p.bias(at.batch, at.head, at.row, j);
         return bias == minus_infinity ? open->bias(at.batch, at.head, at.row, j) : bias;
       };
       on_weights(by, [](const Problem& p, KeyRow& row) {
         for (std::size_t j = 0; j < p.keys() && j < row.size(); ++j)
           if (p.bias(row.place.batch, row.place.head, row.place.row, j) == minus_infinity)
             row.weights[j] = 0;
       });
     },
     nullptr,
     [] {
       return equal_scores(2, {1, 2}).option("causal", std::string("top-left"));
     }},
};

}  // namespace attest::oracle::detail
