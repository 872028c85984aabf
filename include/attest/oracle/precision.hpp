// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Precision: the arithmetic a subject claims to use, step by step. Tolerances follow from it and
// from the data alone.
#pragma once
#include <attest/oracle/call.hpp>
#include <attest/oracle/problem.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace attest::oracle {

struct Precision {
  NumberFormat accumulate;  // products q·k and p·v are rounded to and summed in this, in any order
  NumberFormat scores;      // holds a score between its steps: product, scale, softcap, mask
  NumberFormat softmax;     // maximum, exp, sum and division
  NumberFormat weights;     // holds a weight when it multiplies a value
  NumberFormat output;
  // Keys per tile of an online softmax, taken in key order; 0: the whole row at once; absent: any
  // of these.
  std::optional<std::size_t> tile = std::nullopt;

  // Largest relative error of exp and tanh in units of `softmax`'s unit roundoff, exclusive of a
  // tiny result's underflow. 4 and 5 units in the last place, what vector libraries promise:
  // glibc's libmvec manual (4 ulp), OpenCL C 3.0 §7.4 (exp 3 ulp, tanh 5 ulp).
  double exp_error = 8;
  double tanh_error = 10;
};

// The usual arithmetic of a framework that takes and returns `format`: float64 and float32
// throughout; 16-bit formats accumulate in float32 but may hold scores and weights in 16 bits, as
// unfused operators do.
inline Precision usual_precision(const NumberFormat& format) {
  const bool narrow = format.precision < formats::float32.precision;
  const NumberFormat& wide = narrow ? formats::float32 : format;
  return {wide, format, wide, format, format};
}

// What the call claims: the usual arithmetic of its formats, changed by what its options name.
// Throws BadCall for a claim nobody knows.
inline Precision claimed_precision(const Call& call, const Problem& problem) {
  Precision claimed = usual_precision(problem.format);
  if (problem.output) claimed.output = *problem.output->got.format();

  for (const auto& [key, value] : call.precision) {
    NumberFormat* step = key == "accumulate" ? &claimed.accumulate
                         : key == "scores"   ? &claimed.scores
                         : key == "softmax"  ? &claimed.softmax
                         : key == "weights"  ? &claimed.weights
                                             : nullptr;
    if (step) {
      const auto* name = std::get_if<std::string>(&value);
      const NumberFormat* format = name ? number_format(*name) : nullptr;
      if (!format)
        throw BadCall("precision \"" + key + "\": " + (name ? "found \"" + *name + "\", " : "") +
                      "expected float64, float32, float16, bfloat16, float8_e4m3fn or float8_e5m2");
      *step = *format;
    } else if (key == "tile") {
      const auto* tile = std::get_if<std::int64_t>(&value);
      if (!tile || *tile < 0)
        throw BadCall("precision \"tile\": expected 0 (whole) or a number of keys");
      claimed.tile = static_cast<std::size_t>(*tile);
    } else {
      throw BadCall("unknown precision \"" + key +
                    "\"; known are accumulate, scores, softmax, weights, tile");
    }
  }
  return claimed;
}

}  // namespace attest::oracle
