// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// tanh against tanh x with 50 digits: the nearest float, the nearest double.
#include "catch.hpp"
//
#include <attest/tanh.hpp>
#include <limits>
#include <random>

#include "nearest.hpp"

namespace {
using namespace tests;

template <class T>
bool tanh_is_nearest(T x) {
  const Exact w = exp(Exact(-2) * abs(Exact(x)));
  const Exact size = (1 - w) / (1 + w);
  return is_nearest(attest::tanh(x), x < 0 ? Exact(-size) : size);
}

template <class T>
void special_values() {
  using limits = std::numeric_limits<T>;
  REQUIRE(same_bits(attest::tanh(T(0)), T(0)));
  REQUIRE(same_bits(attest::tanh(-T(0)), -T(0)));
  REQUIRE(attest::tanh(limits::infinity()) == 1);
  REQUIRE(attest::tanh(-limits::infinity()) == -1);
  REQUIRE(attest::tanh(limits::max()) == 1);
  REQUIRE(attest::tanh(limits::denorm_min()) == limits::denorm_min());
  REQUIRE(std::isnan(attest::tanh(limits::quiet_NaN())));
}

template <class T>
void in_every_binade(int smallest) {
  std::mt19937_64 generator(42);
  for (int e = smallest; e < 6; ++e)
    for (int i = 0; i < 60; ++i) {
      const T m = i == 0 ? T(1) : 1 + static_cast<T>(generator() >> 11) * T(0x1p-53);
      const T x = std::ldexp(i % 2 == 0 ? m : -m, e);
      CAPTURE(x);
      REQUIRE(tanh_is_nearest(x));
    }
}
}  // namespace

TEST_CASE("tanh at the ends of its range") {
  special_values<float>();
  special_values<double>();
}

TEST_CASE("tanh in every binade") {
  in_every_binade<float>(-30);
  in_every_binade<double>(-30);
}

// The float whose tanh is closest to the middle between two floats, and the ends of the two series.
TEST_CASE("tanh of hard numbers") {
  REQUIRE(tanh_is_nearest(-0x1.86fbc4p-10f));
  for (const double x : {0x1p-27, 0x1p-10, 22.0, 19.0615})
    for (const double y : {std::nextafter(x, 0.0), x, std::nextafter(x, 30.0)}) {
      CAPTURE(y);
      REQUIRE(tanh_is_nearest(y));
    }
}

// What makes the float results right however they are compiled.
TEST_CASE("near_tanh keeps its bound") {
  std::mt19937_64 generator(42);
  for (int i = 0; i < 10000; ++i) {
    const float unit = static_cast<float>(generator() >> 40) * 0x1p-24f;
    for (const float x : {unit * 10, unit, unit / 64}) {
      CAPTURE(x);
      const Exact w = exp(Exact(-2) * Exact(x));
      if (x > 0) REQUIRE(error(attest::near_tanh(static_cast<double>(x)), (1 - w) / (1 + w)) <= 4);
    }
  }
}

// What proofs/gappa/tanh.g takes as given of the polynomial: (e^r - 1 - r - r^2/2)/r^3, for the r
// of the reduction, up to 2^-55.
TEST_CASE("the polynomial of near_tanh keeps its bound") {
  for (int i = 0; i <= 10000; ++i) {
    const Exacter r = -0.2877 + Exacter(0.4055 + 0.2877) * i / 10000;
    Exacter series = 0, polynomial = 0;
    for (int n = 40; n >= 0; --n)
      series = (series * r + 1) / (n + 3);  // 2·Σ r^n/(n + 3)! in the end
    for (int n = 9; n >= 0; --n) polynomial = polynomial * r + attest::exp_tables::cubic[n];
    CAPTURE(i);
    REQUIRE(abs(polynomial - series / 2) <= ldexp(Exacter(1), -55));
  }
}

TEST_CASE("tanh is odd") {
  rc::prop("float", [](float x) { RC_ASSERT(same_bits(attest::tanh(-x), -attest::tanh(x))); });
  rc::prop("double", [](double x) { RC_ASSERT(same_bits(attest::tanh(-x), -attest::tanh(x))); });
}

// Computed with MPFR, as in exp.cpp.
TEST_CASE("tanh of every 257th float") {
  REQUIRE(fingerprint([](float x) { return attest::tanh(x); }, 257) == 0x0b6da900a2e211f6);
}

TEST_CASE("tanh in 128 bits keeps its bound") {
  std::mt19937_64 generator(42);
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t magnitude = (generator() >> 12) | (std::uint64_t{1} << 52);
    const int exponent = i % 31 - 27 - 52;
    CAPTURE(magnitude, exponent);
    const Exacter w = exp(-2 * ldexp(Exacter(magnitude), exponent));
    const auto result = attest::wide_tanh(magnitude, exponent);
    REQUIRE(relative_error_log2(ldexp(number(result.significand), result.exponent),
                                (1 - w) / (1 + w)) < -110);
  }
}
