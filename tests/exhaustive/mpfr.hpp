// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A function of MPFR rounded to float or double: to nearest, ties to even, subnormal numbers
// included.
#pragma once
#include <mpfr.h>

#include <cmath>
#include <limits>

#include "nearest.hpp"

namespace tests {

using MpfrFunction = int(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

// MPFR has 1/√-0 = ∞, IEEE 754 has -∞.
inline int mpfr_rsqrt(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t rounding) {
  if (!mpfr_zero_p(x)) return mpfr_rec_sqrt(y, x, rounding);
  mpfr_set_inf(y, mpfr_signbit(x) ? -1 : 1);
  return 0;
}

template <class T>
class Rounded {
 public:
  explicit Rounded(MpfrFunction* function) : function_(function) {
    mpfr_set_emin(std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits + 1);
    mpfr_set_emax(std::numeric_limits<T>::max_exponent);
    mpfr_init2(value_, std::numeric_limits<T>::digits);
  }
  ~Rounded() { mpfr_clear(value_); }
  Rounded(const Rounded&) = delete;
  Rounded& operator=(const Rounded&) = delete;

  // A NaN is quieted, as IEEE 754 asks; a NaN for a number is the one without sign or payload.
  T operator()(T x) {
    if (std::isnan(x))
      return from_bits<T>(std::bit_cast<word_of<T>>(x) |
                          word_of<T>{1} << (std::numeric_limits<T>::digits - 2));
    mpfr_set_d(value_, static_cast<double>(x), MPFR_RNDN);
    int inexact = function_(value_, value_, MPFR_RNDN);
    if (mpfr_nan_p(value_)) return std::numeric_limits<T>::quiet_NaN();
    inexact = mpfr_check_range(value_, inexact, MPFR_RNDN);
    mpfr_subnormalize(value_, inexact, MPFR_RNDN);
    return static_cast<T>(mpfr_get_d(value_, MPFR_RNDN));
  }

 private:
  MpfrFunction* function_;
  mpfr_t value_;
};

}  // namespace tests
