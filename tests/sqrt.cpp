// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// sqrt and rsqrt against √x and 1/√x with 50 digits: the nearest float, the nearest double.
#include "catch.hpp"
//
#include <attest/sqrt.hpp>
#include <limits>
#include <random>

#include "nearest.hpp"

namespace {
using namespace tests;

template <class T>
bool sqrt_is_nearest(T x) {
  return is_nearest(attest::sqrt(x), sqrt(Exact(x)));
}

template <class T>
void special_values() {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  REQUIRE(same_bits(attest::sqrt(T(0)), T(0)));
  REQUIRE(same_bits(attest::sqrt(-T(0)), -T(0)));
  REQUIRE(attest::sqrt(infinity) == infinity);
  REQUIRE(std::isnan(attest::sqrt(-infinity)));
  REQUIRE(std::isnan(attest::sqrt(T(-1))));
  REQUIRE(std::isnan(attest::sqrt(-std::numeric_limits<T>::denorm_min())));
  REQUIRE(std::isnan(attest::sqrt(std::numeric_limits<T>::quiet_NaN())));
}

// Squares of the numbers with half the digits, and their neighbours: the root is exact, or as close
// to a number or to the middle between two as a root can be.
template <class T>
void near_squares() {
  constexpr int digits = std::numeric_limits<T>::digits;
  std::mt19937_64 generator(42);
  for (int i = 0; i < 5000; ++i) {
    const T half = static_cast<T>(generator() >> (64 - digits / 2));
    const T square = half * half;
    CAPTURE(half);
    REQUIRE(attest::sqrt(square) == half);
    if (half > 0) REQUIRE(sqrt_is_nearest(std::nextafter(square, T(0))));
    REQUIRE(sqrt_is_nearest(std::nextafter(square, std::numeric_limits<T>::infinity())));
    const T middle = half + T(0.5);
    REQUIRE(sqrt_is_nearest(middle * middle));
  }
}

template <class T>
void every_exponent() {
  std::mt19937_64 generator(42);
  for (int e = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits;
       e < std::numeric_limits<T>::max_exponent; ++e)
    for (int i = 0; i < 5; ++i) {
      const T m = i == 0   ? T(1)
                  : i == 1 ? std::nextafter(T(2), T(1))
                           : 1 + static_cast<T>(generator() >> 11) * T(0x1p-53);
      const T x = std::ldexp(m, e);
      CAPTURE(x);
      REQUIRE(sqrt_is_nearest(x));
    }
}
}  // namespace

TEST_CASE("sqrt at the ends of its range") {
  special_values<float>();
  special_values<double>();
}

TEST_CASE("sqrt near squares") {
  near_squares<float>();
  near_squares<double>();
}

TEST_CASE("sqrt in every binade") {
  every_exponent<float>();
  every_exponent<double>();
}

TEST_CASE("sqrt of random numbers") {
  rc::prop("any float from 0", [](std::uint32_t word) {
    const auto x = from_bits<float>(word & 0x7fffffff);
    RC_ASSERT(!std::isfinite(x) || sqrt_is_nearest(x));
  });
  rc::prop("any double from 0", [](std::uint64_t word) {
    const auto x = from_bits<double>(word & 0x7fffffffffffffff);
    RC_ASSERT(!std::isfinite(x) || sqrt_is_nearest(x));
  });
}

// Computed with MPFR, as in exp.cpp.
TEST_CASE("sqrt of every 257th float") {
  REQUIRE(fingerprint([](float x) { return attest::sqrt(x); }, 257) == 0x419cda7fe569474d);
}

namespace {
template <class T>
bool rsqrt_is_nearest(T x) {
  return is_nearest(attest::rsqrt(x), 1 / sqrt(Exact(x)));
}

template <class T>
void rsqrt_special_values() {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  REQUIRE(attest::rsqrt(T(0)) == infinity);
  REQUIRE(attest::rsqrt(-T(0)) == -infinity);
  REQUIRE(same_bits(attest::rsqrt(infinity), T(0)));
  REQUIRE(std::isnan(attest::rsqrt(-infinity)));
  REQUIRE(std::isnan(attest::rsqrt(-std::numeric_limits<T>::denorm_min())));
  REQUIRE(std::isnan(attest::rsqrt(std::numeric_limits<T>::quiet_NaN())));
}

template <class T>
void rsqrt_in_every_binade() {
  std::mt19937_64 generator(42);
  for (int e = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits;
       e < std::numeric_limits<T>::max_exponent; ++e) {
    if (e % 2 == 0) REQUIRE(attest::rsqrt(std::ldexp(T(1), e)) == std::ldexp(T(1), -e / 2));
    for (int i = 0; i < 5; ++i) {
      const T m = i == 0   ? std::nextafter(T(1), T(2))
                  : i == 1 ? std::nextafter(T(2), T(1))
                           : 1 + static_cast<T>(generator() >> 11) * T(0x1p-53);
      const T x = std::ldexp(m, e);
      CAPTURE(x);
      REQUIRE(rsqrt_is_nearest(x));
    }
  }
}
}  // namespace

TEST_CASE("rsqrt at the ends of its range") {
  rsqrt_special_values<float>();
  rsqrt_special_values<double>();
}

TEST_CASE("rsqrt in every binade") {
  rsqrt_in_every_binade<float>();
  rsqrt_in_every_binade<double>();
}

TEST_CASE("rsqrt of every 257th float") {
  REQUIRE(fingerprint([](float x) { return attest::rsqrt(x); }, 257) == 0xf9ffe9a11d30e68d);
}

// What makes the float results right however they are compiled.
TEST_CASE("near_rsqrt keeps its bound") {
  std::mt19937_64 generator(42);
  for (int i = 0; i < 10000; ++i) {
    const double x = 1 + 3 * static_cast<double>(generator() >> 11) * 0x1p-53;
    CAPTURE(x);
    REQUIRE(error(attest::near_rsqrt(x), 1 / sqrt(Exact(x))) <= 1.8);
  }
}
