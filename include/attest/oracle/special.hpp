// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Results that are right although they are no numbers.
#pragma once
#include <cmath>

namespace attest::oracle {

// The results that are right although no number is; none set: a number is expected.
struct Special {
  bool nan = false;
  bool plus_infinity = false;
  bool minus_infinity = false;
  bool zero = false;
  bool anything = false;  // the definition does not say

  bool any() const { return nan || plus_infinity || minus_infinity || zero || anything; }
  bool accepts(double got) const {
    return anything || (nan && std::isnan(got)) || (zero && got == 0) ||
           (std::isinf(got) && (got > 0 ? plus_infinity : minus_infinity));
  }
  static Special of(double value) {
    Special special;
    special.nan = std::isnan(value);
    special.plus_infinity = std::isinf(value) && value > 0;
    special.minus_infinity = std::isinf(value) && value < 0;
    return special;
  }
};

}  // namespace attest::oracle
