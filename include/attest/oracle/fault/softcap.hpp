// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Faults of the softcap: c·tanh(s/c).
#pragma once
#include <attest/oracle/fault/mask.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace attest::oracle::detail {

inline std::vector<double> if_capped(const Problem& p) {
  return p.rule.softcap != 0 ? one_setting : std::vector<double>{};
}
inline Example softcap_example() {
  return one_query({4, 0}, {1, 0}).option("scale", 0.5).option("softcap", 1.0);
}

inline constexpr Fault softcap_faults[] = {
    {"softcap dropped", FaultFamily::softcap, "Scores are not capped.",
     "a backend without softcap takes the call silently", "vllm-project/vllm#7419", if_capped,
     [](Implementation& by, double) { by.problem.rule.softcap = 0; }, nullptr, softcap_example},
    {"softcap after the mask", FaultFamily::softcap,
     "The cap is of score and mask together: a hidden key's score is −softcap.",
     "the order of ONNX's text before release 1.22", "emmtrix/emx-onnx-cgen#731",
     [](const Problem& p) {
       return p.rule.softcap != 0 && p.rule.softcap_place == SoftcapPlace::before_mask &&
                      (may_hide(p) || p.score_bias || !p.alibi_slopes.empty())
                  ? one_setting
                  : std::vector<double>{};
     },
     [](Implementation& by, double) { by.problem.rule.softcap_place = SoftcapPlace::after_mask; },
     nullptr,
     [] {
       return masked_example({1, 0}, {0, 1}, {1, 0}).option("softcap", 1.0);
     }},
    {"softcap before the scale", FaultFamily::softcap, "q·k is capped and then scaled.",
     "the scale is applied where the softmax is", "flashinfer-ai/flashinfer#350", if_capped,
     [](Implementation& by, double) {
       const double scale = scale_of(by.problem), cap = by.problem.rule.softcap;
       by.steps.cap = [scale, cap](double s) { return scale * cap * std::tanh(s / scale / cap); };
     },
     nullptr, softcap_example},
    {"softcap not multiplied back", FaultFamily::softcap,
     "The score is tanh(s/c), not c·tanh(s/c).", "half of the formula", "", if_capped,
     [](Implementation& by, double) {
       const double cap = by.problem.rule.softcap;
       by.steps.cap = [cap](double s) { return std::tanh(s / cap); };
     },
     nullptr,
     [] {
       return one_query({4, 0}, {1, 0}).option("scale", 1.0).option("softcap", 2.0);
     }},
    {"softcap without the division", FaultFamily::softcap,
     "The score is c·tanh(s), not c·tanh(s/c).", "half of the formula", "", if_capped,
     [](Implementation& by, double) {
       const double cap = by.problem.rule.softcap;
       by.steps.cap = [cap](double s) { return cap * std::tanh(s); };
     },
     nullptr,
     [] {
       return one_query({1, 0}, {1, 0}).option("scale", 1.0).option("softcap", 2.0);
     }},
    {"scores clamped at the softcap", FaultFamily::softcap,
     "Scores beyond ±softcap are set to it, others are left as they are.", "clamp in place of tanh",
     "", if_capped,
     [](Implementation& by, double) {
       const double cap = std::fabs(by.problem.rule.softcap);
       by.steps.cap = [cap](double s) { return std::clamp(s, -cap, cap); };
     },
     nullptr, softcap_example},
    {"softcap applied twice", FaultFamily::softcap, "A capped score is capped again.",
     "both the caller and the kernel cap", "", if_capped,
     [](Implementation& by, double) {
       const double cap = by.problem.rule.softcap;
       by.steps.cap = [cap](double s) { return cap * std::tanh(std::tanh(s / cap)); };
     },
     nullptr, softcap_example},
    {"another softcap", FaultFamily::softcap,
     "Scores are capped at another number than the call says, or though it has no softcap.",
     "the cap of another model or layer, or of final logits; or a negative one taken for its size",
     "",
     [](const Problem& p) {
       return distinct(
           {50, 30, 20, 15, 10, 5, 2, 1, 25, 100, 8, 4, 3, 2 * p.rule.softcap, p.rule.softcap / 2},
           p.rule.softcap);
     },
     [](Implementation& by, double cap) { by.problem.rule.softcap = cap; },
     [](double cap) { return "another softcap: " + number_in_words(cap); },
     [] {
       return one_query({4, 0}, {1, 0}).option("scale", 1.0);
     }},
    {"softcap held in the inputs' format", FaultFamily::softcap,
     "The softcap is rounded to the format of q; what is beyond its range becomes ∞, and scores "
     "NaN.",
     "the option is cast to the tensors' type", "", if_capped,
     [](Implementation& by, double) {
       const double cap = by.problem.format.round(by.problem.rule.softcap);
       by.steps.cap = [cap](double s) { return cap * std::tanh(s / cap); };
     },
     nullptr,
     [] {
       Example example;
       const ElementType half = ElementType::float16;
       example.array("q", {1, 1}, {1}, half)
           .array("k", {2, 1}, {1, 0}, half)
           .array("v", {2, 1}, {1, 0}, half)
           .array("out", {1, 1}, {0}, half)
           .option("softcap", 70000.0);
       return example;
     }},
};

}  // namespace attest::oracle::detail
