// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Precision: the arithmetic a subject claims to use, step by step. Tolerances follow from it and
// from the data alone.
#pragma once
#include <attest/oracle/number_format.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

namespace attest::oracle {

// How weights are rounded to their format, where that is known: e_j over the running maximum of an
// online softmax, tile by tile from the first key or from the last, or e_j/Σ e.
enum class WeightRounding { running_maximum, running_maximum_from_last, normalized };

constexpr const char* to_string(WeightRounding rounding) {
  return rounding == WeightRounding::running_maximum             ? "running-maximum"
         : rounding == WeightRounding::running_maximum_from_last ? "running-maximum-from-last"
                                                                 : "normalized";
}

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
  // Further relative error of exp(−y) in the same units for each unit of y: of an exp2 whose
  // argument is y log₂e, rounded.
  double exp_argument_error = 0;

  // q, k and v are rounded to this before they are multiplied. Absent: taken as they are.
  std::optional<NumberFormat> input = std::nullopt;
  // Sums of p·v, where they are held in another format than sums of q·k.
  std::optional<NumberFormat> accumulate_output = std::nullopt;
  // Sums are cut off instead of rounded, and so are inputs: see roundoff_when_cut.
  bool truncating = false;
  // Weights are rounded to their format before they are divided by their sum, as fused kernels do:
  // what underflows there is small beside the largest weight.
  bool unnormalized_weights = false;
  std::optional<WeightRounding> weight_rounding = std::nullopt;
  std::string preset = {};  // by which name it was claimed; empty: none

  // A sum cut off. Fasi, Higham, Mikaitis and Pranesh (PeerJ Comput. Sci. 7:e330, 2021): a tensor
  // core aligns a block of products and the sum so far to the largest of them, cuts each off there
  // and cuts off their sum. Per block of b products at most b of the addends lose up to 2 u of the
  // largest, their sum 2 u of itself: over n products (1 + 1/b) n·2 u of Σ|x|. Blocks have 4
  // products at least (V100), so 2.5 n u; a sum cut off after each addition loses 2 n u.
  static constexpr double roundoff_when_cut = 2.5;
  double accumulate_roundoff() const { return roundoff(accumulate); }
  const NumberFormat& output_accumulator() const {
    return accumulate_output ? *accumulate_output : accumulate;
  }
  double output_roundoff() const { return roundoff(output_accumulator()); }
  // Of a number of q, k or v.
  double input_roundoff() const {
    return input ? (truncating ? 2 : 1) * input->unit_roundoff() : 0;
  }
  double input_underflow() const { return input ? input->smallest_subnormal() : 0; }
  // What a weight may lose below its format's normal numbers, p_max being the largest weight.
  double weight_underflow(double largest_weight) const {
    const bool underflows =
        weights.precision < softmax.precision || weights.min_exponent > softmax.min_exponent;
    return underflows ? weights.smallest_subnormal() * (unnormalized_weights ? largest_weight : 1)
                      : 0;
  }
  bool input_holds(double x) const { return !input || input->holds(x); }

 private:
  double roundoff(const NumberFormat& format) const {
    return (truncating ? roundoff_when_cut : 1) * format.unit_roundoff();
  }
};

// The usual arithmetic of a framework that takes and returns `format`: float64 and float32
// throughout; 16-bit formats accumulate in float32 but may hold scores and weights in 16 bits, as
// unfused operators do.
inline Precision usual_precision(const NumberFormat& format) {
  const bool narrow = format.precision < formats::float32.precision;
  const NumberFormat& wide = narrow ? formats::float32 : format;
  return {wide, format, wide, format, format};
}

}  // namespace attest::oracle
