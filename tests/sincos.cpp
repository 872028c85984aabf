// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// sin and cos against sin x and cos x with 50 digits: the nearest float, the nearest double.
#include "catch.hpp"
//
#include <attest/sincos.hpp>
#include <limits>
#include <random>

#include "nearest.hpp"

namespace {
using namespace tests;

// 50 digits leave 20 of the results where |x| is below 10^9 and not closer than 2^-62 to a multiple
// of π/2.
template <class T>
bool both_are_nearest(T x) {
  return is_nearest(attest::sin(x), sin(Exact(x))) && is_nearest(attest::cos(x), cos(Exact(x)));
}

template <class T>
void special_values() {
  using limits = std::numeric_limits<T>;
  REQUIRE(same_bits(attest::sin(T(0)), T(0)));
  REQUIRE(same_bits(attest::sin(-T(0)), -T(0)));
  REQUIRE(attest::cos(T(0)) == 1);
  REQUIRE(attest::cos(-T(0)) == 1);
  REQUIRE(attest::sin(limits::denorm_min()) == limits::denorm_min());
  for (const T x : {limits::infinity(), -limits::infinity(), limits::quiet_NaN()}) {
    REQUIRE(std::isnan(attest::sin(x)));
    REQUIRE(std::isnan(attest::cos(x)));
  }
}

template <class T>
void in_every_binade() {
  std::mt19937_64 generator(42);
  for (int e = -30; e < 30; ++e)
    for (int i = 0; i < 20; ++i) {
      const T m = 1 + static_cast<T>(generator() >> 11) * T(0x1p-53);
      const T x = std::ldexp(i % 2 == 0 ? m : -m, e);
      CAPTURE(x);
      REQUIRE(both_are_nearest(x));
    }
}

// The multiples of π/4, rounded, and their neighbours: zeros, extremes, and where the quadrant
// changes.
template <class T>
void around_multiples() {
  for (int n = 1; n < 500; ++n) {
    const T multiple = static_cast<T>(n * 0.78539816339744830961566);
    for (const T x :
         {std::nextafter(multiple, T(0)), multiple, std::nextafter(multiple, T(1000))}) {
      CAPTURE(x);
      REQUIRE(both_are_nearest(x));
    }
  }
}
}  // namespace

TEST_CASE("sin and cos at the ends of their range") {
  special_values<float>();
  special_values<double>();
}

TEST_CASE("sin and cos in every binade") {
  in_every_binade<float>();
  in_every_binade<double>();
}

TEST_CASE("sin and cos around the multiples of a quarter of pi") {
  around_multiples<float>();
  around_multiples<double>();
}

// Computed with MPFR. The first is the double closest to a multiple of π/2, relatively.
TEST_CASE("sin and cos of large doubles") {
  REQUIRE(attest::cos(0x1.6ac5b262ca1ffp+849) == -0x1.14ae72e6ba22fp-61);
  REQUIRE(attest::sin(0x1.6ac5b262ca1ffp+849) == 1);
  REQUIRE(attest::cos(0x1.fffffffffffffp+1023) == -0x1.fffe62ecfab75p-1);
  REQUIRE(attest::sin(0x1.fffffffffffffp+1023) == 0x1.452fc98b34e97p-8);
  REQUIRE(attest::cos(1e22) == 0x1.0be2cef01c8f4p-1);
  REQUIRE(attest::sin(1e22) == -0x1.b453ab76bf397p-1);
}

TEST_CASE("sin is odd, cos is even") {
  rc::prop("any double", [](std::uint64_t word) {
    const auto x = from_bits<double>(word);
    RC_PRE(std::isfinite(x));
    RC_ASSERT(same_bits(attest::sin(-x), -attest::sin(x)));
    RC_ASSERT(same_bits(attest::cos(-x), attest::cos(x)));
  });
}

// Computed with MPFR, as in exp.cpp.
TEST_CASE("sin and cos of every 257th float") {
  REQUIRE(fingerprint([](float x) { return attest::sin(x); }, 257) == 0x9ef92d72f1ec2ecd);
  REQUIRE(fingerprint([](float x) { return attest::cos(x); }, 257) == 0xc1a4715544115823);
}

TEST_CASE("the series of sin and cos keep their bounds") {
  std::mt19937_64 generator(42);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t high = generator() % 0x9de9e64df22ef2d2;  // (π/4)^2·2^64
    CAPTURE(high);
    const Exacter angle = sqrt(ldexp(Exacter(high), -64));
    const attest::bits::Wide z{high, 0};
    const Exacter cosine = cos(angle), sine = sin(angle) / angle;
    const auto series = [](attest::bits::Wide sum) { return ldexp(number(sum), -127); };
    REQUIRE(relative_error_log2(series(attest::alternating_series<64>(0, z)), cosine) < -60);
    REQUIRE(relative_error_log2(series(attest::alternating_series<64>(1, z)), sine) < -60);
    REQUIRE(relative_error_log2(series(attest::alternating_series<128>(0, z)), cosine) < -123);
    REQUIRE(relative_error_log2(series(attest::alternating_series<128>(1, z)), sine) < -123);
  }
}
