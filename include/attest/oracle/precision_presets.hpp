// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Arithmetic that real kernels use, by name; and what a call claims: a preset or the usual
// arithmetic of its formats, changed step by step.
#pragma once
#include <attest/oracle/call.hpp>
#include <attest/oracle/precision.hpp>
#include <attest/oracle/problem.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace attest::oracle {

struct PrecisionPreset {
  std::string_view name, what;
  Precision precision;
};

namespace detail {

inline Precision all_in(const NumberFormat& format) {
  return {format, format, format, format, format};
}

// exp as exp2 of the argument times log₂e by the hardware's approximation: within 2^-22 (CUDA C++
// Programming Guide: exp2f 2 ulp, __expf 2 + ⌊1.173|x|⌋ ulp).
inline Precision with_approximate_exp2(Precision precision) {
  precision.exp_error = 4;
  precision.exp_argument_error = 2.4;
  return precision;
}

// A fused kernel on tensor cores: scores stay in float32 registers, sums are cut off, weights are
// rounded to the format of the second product.
inline Precision tensor_core(const NumberFormat& weights) {
  const NumberFormat& wide = formats::float32;
  Precision precision = with_approximate_exp2({wide, wide, wide, weights, weights});
  precision.truncating = true;
  precision.unnormalized_weights = true;
  return precision;
}

inline Precision tensor_core_tensorfloat32() {
  Precision precision = tensor_core(formats::tensorfloat32);
  precision.output = formats::float32;
  precision.input = formats::tensorfloat32;
  return precision;
}

// Sums of 8-bit products on Hopper have 14 bits (DeepSeek-V3 Technical Report, 2024, section
// 3.3.2).
inline Precision hopper_fp8(const NumberFormat& weights) {
  Precision precision = tensor_core(weights);
  precision.accumulate = formats::e8m13;
  return precision;
}

inline Precision half_output_sums() {
  Precision precision = tensor_core(formats::float16);
  precision.accumulate_output = formats::float16;
  precision.truncating = false;
  return precision;
}

}  // namespace detail

// All presets. The output's format is the array's own, whatever the preset.
inline const std::vector<PrecisionPreset>& precision_presets() {
  using namespace formats;
  static const std::vector<PrecisionPreset> presets = {
      {"float64", "everything in float64", detail::all_in(float64)},
      {"float32", "everything in float32", detail::all_in(float32)},
      {"float32-exp2", "float32 with the hardware's approximate exp2, as under fast math on a GPU",
       detail::with_approximate_exp2(detail::all_in(float32))},
      {"tensor-core-tf32",
       "float32 arrays multiplied as tensorfloat32, sums cut off, approximate exp2",
       detail::tensor_core_tensorfloat32()},
      {"tensor-core-f16", "fused, sums in float32 cut off, weights in float16, approximate exp2",
       detail::tensor_core(float16)},
      {"tensor-core-bf16", "fused, sums in float32 cut off, weights in bfloat16, approximate exp2",
       detail::tensor_core(bfloat16)},
      {"tensor-core-f16-sums",
       "as tensor-core-f16, but sums of weighted values in float16, rounded",
       detail::half_output_sums()},
      {"fp8-e4m3", "fused, sums in float32 cut off, weights in float8_e4m3fn, approximate exp2",
       detail::tensor_core(float8_e4m3fn)},
      {"fp8-e5m2", "fused, sums in float32 cut off, weights in float8_e5m2, approximate exp2",
       detail::tensor_core(float8_e5m2)},
      {"fp8-e4m3-hopper", "as fp8-e4m3, but sums have 14 bits", detail::hopper_fp8(float8_e4m3fn)},
      {"fp8-e5m2-hopper", "as fp8-e5m2, but sums have 14 bits", detail::hopper_fp8(float8_e5m2)},
      {"unfused-f16", "sums and softmax in float32, scores and weights stored in float16",
       usual_precision(float16)},
      {"unfused-bf16", "sums and softmax in float32, scores and weights stored in bfloat16",
       usual_precision(bfloat16)},
      {"all-f16", "everything in float16, sums too", detail::all_in(float16)},
      {"all-bf16", "everything in bfloat16, sums too", detail::all_in(bfloat16)},
  };
  return presets;
}

// The preset called `name`, or null.
inline const PrecisionPreset* precision_preset(std::string_view name) {
  for (const PrecisionPreset& preset : precision_presets())
    if (preset.name == name) return &preset;
  return nullptr;
}

namespace detail {

[[noreturn]] inline void refuse_precision(const std::string& key, const Attribute& value,
                                          const std::string& expected) {
  const auto* name = std::get_if<std::string>(&value);
  throw BadCall("precision \"" + key + "\": " + (name ? "found \"" + *name + "\", " : "") +
                "expected " + expected);
}

inline NumberFormat claimed_format(const std::string& key, const Attribute& value) {
  const auto* name = std::get_if<std::string>(&value);
  const NumberFormat* format = name ? number_format(*name) : nullptr;
  if (!format)
    refuse_precision(key, value,
                     "float64, float32, float16, bfloat16, float8_e4m3fn, float8_e5m2, "
                     "tensorfloat32 or e8m13");
  return *format;
}

// The number of a given name in a table of names.
template <class T>
T claimed_word(const std::string& key, const Attribute& value,
               std::initializer_list<std::pair<std::string_view, T>> known) {
  std::string expected;
  for (const auto& [word, meaning] : known) {
    if (const auto* name = std::get_if<std::string>(&value); name && *name == word) return meaning;
    expected += (expected.empty() ? "" : " or ") + std::string(word);
  }
  refuse_precision(key, value, expected);
}

inline void apply_claim(const std::string& key, const Attribute& value, Precision& claimed) {
  if (key == "accumulate") {
    claimed.accumulate = claimed_format(key, value);
  } else if (key == "accumulate_output") {
    claimed.accumulate_output = claimed_format(key, value);
  } else if (key == "input") {
    claimed.input = claimed_format(key, value);
  } else if (key == "scores") {
    claimed.scores = claimed_format(key, value);
  } else if (key == "softmax") {
    claimed.softmax = claimed_format(key, value);
  } else if (key == "weights") {
    claimed.weights = claimed_format(key, value);
  } else if (key == "truncating" || key == "unnormalized_weights") {
    const auto* said = std::get_if<bool>(&value);
    if (!said) refuse_precision(key, value, "true or false");
    (key == "truncating" ? claimed.truncating : claimed.unnormalized_weights) = *said;
  } else if (key == "exp") {
    const auto [error, of_argument] = claimed_word<std::pair<double, double>>(
        key, value, {{"library", {8, 0}}, {"approximate-exp2", {4, 2.4}}});
    claimed.exp_error = error;
    claimed.exp_argument_error = of_argument;
  } else if (key == "weight_rounding") {
    claimed.weight_rounding = claimed_word<WeightRounding>(
        key, value,
        {{"running-maximum", WeightRounding::running_maximum},
         {"running-maximum-from-last", WeightRounding::running_maximum_from_last},
         {"normalized", WeightRounding::normalized}});
  } else if (key == "tile") {
    const auto* tile = std::get_if<std::int64_t>(&value);
    if (!tile || *tile < 0)
      throw BadCall("precision \"tile\": expected 0 (whole) or a number of keys");
    claimed.tile = static_cast<std::size_t>(*tile);
  } else {
    throw BadCall("unknown precision \"" + key +
                  "\"; known are preset, input, accumulate, accumulate_output, truncating, scores, "
                  "softmax, exp, weights, unnormalized_weights, weight_rounding, tile");
  }
}

}  // namespace detail

// What the call claims: its preset, or the usual arithmetic of its formats, changed by what its
// options name. Throws BadCall for a claim nobody knows.
inline Precision claimed_precision(const Call& call, const Problem& problem) {
  Precision claimed = usual_precision(problem.format);
  if (const auto found = call.precision.find("preset"); found != call.precision.end()) {
    const auto* name = std::get_if<std::string>(&found->second);
    const PrecisionPreset* preset = name ? precision_preset(*name) : nullptr;
    if (!preset)
      detail::refuse_precision("preset", found->second, "one that attest precisions lists");
    claimed = preset->precision;
    claimed.preset = preset->name;
    claimed.output = problem.format;
  }
  if (problem.output) claimed.output = *problem.output->got.format();
  for (const auto& [key, value] : call.precision)
    if (key != "preset") detail::apply_claim(key, value, claimed);
  if (claimed.weight_rounding && *claimed.weight_rounding != WeightRounding::normalized &&
      !claimed.tile)
    throw BadCall("precision \"weight_rounding\": by a running maximum; expected \"tile\" as well");
  return claimed;
}

}  // namespace attest::oracle
