// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A correctly rounded number, and what certifies that it is.
#pragma once
#include <attest/oracle/special.hpp>

#include <cmath>
#include <cstddef>

namespace attest::oracle {

// What certifies a number.
enum class Certificate {
  copied,    // it is an input's
  special,   // IEEE 754 says it is NaN, an infinity or zero
  bits_53,   // an interval of double arithmetic rounds to it
  bits_240,  // an interval of that many bits
  exact,     // it is a ratio of integers, rounded
  bits_500,
  bits_1000,
  not_certified,  // nothing: the definition leaves it open, or 1000 bits do
};
inline constexpr std::size_t certificates = 8;

constexpr const char* to_string(Certificate certificate) {
  constexpr const char* names[certificates] = {"copy",      "IEEE 754",           "53 bits",
                                               "240 bits",  "integer arithmetic", "500 bits",
                                               "1000 bits", "not certified"};
  return names[static_cast<std::size_t>(certificate)];
}

struct ReferenceElement {
  double value = 0;
  double width = 0;  // of the interval that rounds to it
  Certificate certificate = Certificate::not_certified;
  Special special;  // every answer the definition accepts, where no number is expected

  // Whether `got` is what the definition gives, to the last bit: any NaN for a NaN, either zero for
  // an exact zero, whose sign the real numbers do not tell.
  bool agrees(double got) const {
    if (special.any()) return special.accepts(got);
    if (std::isnan(value)) return std::isnan(got);
    return got == value && (std::signbit(got) == std::signbit(value) || (value == 0 && width == 0));
  }
};

}  // namespace attest::oracle
