// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// every_float_to_small: each of the 2^32 floats, converted to each small format with and without
// saturation, is what the oracle's rounding, written apart from it, makes of it.
//
// Prints for each format how many are wrong and the first of them; succeeds when none is.
#include <attest/formats.hpp>
#include <attest/oracle/number_format.hpp>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>

namespace {
using namespace attest;

struct Count {
  std::uint64_t compared = 0;
  std::uint64_t wrong = 0;
};

template <class T>
bool is(T found, double expected) {
  const double x{found};
  return std::isnan(expected) ? std::isnan(x)
                              : x == expected && std::signbit(x) == std::signbit(expected);
}

template <class T>
Count every_float(const oracle::NumberFormat& format) {
  Count count;
  for (std::uint32_t word = 0;; ++word) {
    const auto x = std::bit_cast<float>(word);
    const double exact{x}, rounded = format.round(exact);
    const bool fits = std::fabs(rounded) <= format.largest || std::isnan(exact);
    const double overflow = format.has_infinity
                                ? std::copysign(std::numeric_limits<double>::infinity(), exact)
                                : std::nan("");
    const T found(x), saturated = T::saturating(x);
    ++count.compared;
    if (!is(found, fits ? rounded : overflow) ||
        !is(saturated, fits ? rounded : std::copysign(format.largest, exact)))
      if (++count.wrong <= 10)
        std::printf("%a: found %a, saturated %a, expected %a\n", exact, double{found},
                    double{saturated}, rounded);
    if (word == 0xffffffff) break;
  }
  std::printf("%s: %llu floats, %llu wrong\n", format.name.data(),
              static_cast<unsigned long long>(count.compared),
              static_cast<unsigned long long>(count.wrong));
  return count;
}
}  // namespace

int main() {
  bool right = true;
  for (const Count& count : {every_float<float16>(oracle::formats::float16),
                             every_float<bfloat16>(oracle::formats::bfloat16),
                             every_float<float8_e4m3fn>(oracle::formats::float8_e4m3fn),
                             every_float<float8_e5m2>(oracle::formats::float8_e5m2)})
    right = right && count.wrong == 0 && count.compared == std::uint64_t{1} << 32;
  return right ? 0 : 1;
}
