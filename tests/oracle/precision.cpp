// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What a call claims of its arithmetic: by name, step by step, or by its formats.
#include "call_builder.hpp"
#include "catch.hpp"

#include <attest/oracle/precision_presets.hpp>
#include <attest/oracle/verdict.hpp>

#include <set>
#include <string>

namespace {

using namespace attest::oracle;
using attest::test::CallBuilder;
using attest::test::ordinary_call;

Precision claimed(const CallBuilder& builder) {
  return claimed_precision(builder.call, read_problem(builder.call));
}
Precision preset(const char* name) {
  CallBuilder call = ordinary_call("plain");
  call.call.precision["preset"] = std::string(name);
  return claimed(call);
}

}  // namespace

TEST_CASE("what is not claimed follows from the formats") {
  const Precision claim = claimed(ordinary_call("plain"));
  CHECK(claim.preset.empty());
  CHECK(claim.accumulate == formats::float32);
  CHECK(claim.weights == formats::float32);
  CHECK(!claim.truncating);
  CHECK(claim.exp_argument_error == 0);
}

TEST_CASE("presets have names of their own and say what they are") {
  std::set<std::string_view> names;
  for (const PrecisionPreset& known : precision_presets()) {
    CHECK(names.insert(known.name).second);
    CHECK(!known.what.empty());
    CHECK(preset(std::string(known.name).c_str()).preset == known.name);
  }
  for (const char* name : {"float64", "float32", "tensor-core-f16", "tensor-core-bf16", "fp8-e4m3",
                           "fp8-e5m2", "all-f16", "all-bf16"})
    CHECK(names.count(name) == 1);
}

TEST_CASE("a preset is the arithmetic it names") {
  const Precision bf16 = preset("tensor-core-bf16");
  CHECK(bf16.accumulate == formats::float32);
  CHECK(bf16.scores == formats::float32);
  CHECK(bf16.weights == formats::bfloat16);
  CHECK(bf16.truncating);
  CHECK(bf16.accumulate_roundoff() == 2.5 * 0x1p-24);
  CHECK(bf16.output == formats::float32);  // the array's, whatever the preset
  // 2^-22, and 2 + 1.173|x| units in the last place
  CHECK(bf16.exp_error * 0x1p-24 == 0x1p-22);
  CHECK(bf16.exp_argument_error * 0x1p-24 >= 1.173 * 0x1p-23);

  const Precision tf32 = preset("tensor-core-tf32");
  CHECK(tf32.input_roundoff() == 0x1p-10);  // cut off
  CHECK(preset("fp8-e4m3-hopper").accumulate_roundoff() == 2.5 * 0x1p-14);
  CHECK(preset("all-f16").output_accumulator() == formats::float16);
  CHECK(preset("tensor-core-f16-sums").output_accumulator() == formats::float16);
  CHECK(preset("tensor-core-f16-sums").accumulate == formats::float32);
}

TEST_CASE("steps change what the preset says") {
  CallBuilder call = ordinary_call("plain");
  call.call.precision["preset"] = std::string("tensor-core-f16");
  call.call.precision["weights"] = std::string("float8_e5m2");
  call.call.precision["accumulate_output"] = std::string("float16");
  call.call.precision["input"] = std::string("tensorfloat32");
  call.call.precision["truncating"] = false;
  call.call.precision["exp"] = std::string("library");
  call.call.precision["tile"] = std::int64_t{128};
  call.call.precision["weight_rounding"] = std::string("running-maximum-from-last");
  const Precision claim = claimed(call);
  CHECK(claim.weights == formats::float8_e5m2);
  CHECK(claim.output_accumulator() == formats::float16);
  CHECK(claim.input_roundoff() == 0x1p-11);
  CHECK(claim.accumulate_roundoff() == 0x1p-24);
  CHECK(claim.exp_error == 8);
  CHECK(claim.exp_argument_error == 0);
  CHECK(claim.tile == std::size_t{128});
  CHECK(claim.weight_rounding == WeightRounding::running_maximum_from_last);
}

TEST_CASE("a preset, a format or a step nobody knows is refused") {
  const auto refused = [](const char* key, Attribute value) {
    CallBuilder call = ordinary_call("plain");
    call.call.precision[key] = std::move(value);
    CHECK_THROWS_AS(claimed(call), BadCall);
  };
  refused("preset", std::string("float128"));
  refused("preset", std::int64_t{1});
  refused("input", std::string("tf32"));
  refused("truncating", std::string("yes"));
  refused("exp", std::string("fast"));
  refused("exp", true);
  refused("weight_rounding", std::string("normalised"));
  refused("weight_rounding", std::string("running-maximum"));  // without tiles
  refused("accumulator", std::string("float32"));
}

TEST_CASE("each step of a claim widens what is allowed") {
  CallBuilder call = ordinary_call("plain", 1, 1, 1, 2, 40, 8, 3);
  std::vector<float> numbers(40 * 8);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = 0.1f * static_cast<float>(i % 23) - 1.1f;  // that no narrow format holds
  call.floats("k", {1, 1, 40, 8}, numbers);
  call.floats("v", {1, 1, 40, 3}, std::vector<float>(numbers.begin(), numbers.begin() + 120));
  call.call.precision["preset"] = std::string("float32");
  const auto allowed = [&](const char* key, Attribute value) {
    CallBuilder changed = call;
    if (*key) changed.call.precision[key] = std::move(value);
    return judge(changed.call).outputs[0].worst->allowed;
  };
  const double plain = allowed("", false);
  CHECK(allowed("truncating", true) > 1.5 * plain);
  CHECK(allowed("exp", std::string("approximate-exp2")) > plain * 0.5);
  CHECK(allowed("input", std::string("tensorfloat32")) > 10 * plain);
  CHECK(allowed("input", std::string("float32")) == plain);
  CHECK(allowed("accumulate_output", std::string("float16")) > 10 * plain);
  CHECK(allowed("accumulate_output", std::string("float32")) == plain);
  CHECK(allowed("weights", std::string("bfloat16")) > 10 * plain);
}
