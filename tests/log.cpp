// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// log and log2 against ln x and log2 x with 50 digits: the nearest float, the nearest double.
#include "catch.hpp"
//
#include <attest/log.hpp>
#include <limits>
#include <random>

#include "nearest.hpp"

namespace {
using namespace tests;

template <class T>
bool logs_are_nearest(T x) {
  static const Exact ln2 = log(Exact(2));
  const Exact exact = log(Exact(x));
  return is_nearest(attest::log(x), exact) && is_nearest(attest::log2(x), Exact(exact / ln2));
}

template <class T>
void special_values(T (*logarithm)(T)) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  REQUIRE(same_bits(logarithm(T(1)), T(0)));
  REQUIRE(logarithm(T(0)) == -infinity);
  REQUIRE(logarithm(-T(0)) == -infinity);
  REQUIRE(logarithm(infinity) == infinity);
  REQUIRE(std::isnan(logarithm(T(-1))));
  REQUIRE(std::isnan(logarithm(-infinity)));
  REQUIRE(std::isnan(logarithm(-std::numeric_limits<T>::denorm_min())));
  REQUIRE(std::isnan(logarithm(std::numeric_limits<T>::quiet_NaN())));
}

template <class T>
void in_every_binade() {
  std::mt19937_64 generator(42);
  for (int e = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits;
       e < std::numeric_limits<T>::max_exponent; ++e) {
    REQUIRE(attest::log2(std::ldexp(T(1), e)) == static_cast<T>(e));
    for (int i = 0; i < 2; ++i) {
      const T x = std::ldexp(1 + static_cast<T>(generator() >> 11) * T(0x1p-53), e);
      CAPTURE(x);
      REQUIRE((x == 1 || logs_are_nearest(x)));
    }
  }
}

// 1 ± m·2^-e, where the logarithm is nearly ±m·2^-e, and around where the reduction changes.
template <class T>
void around_one() {
  std::mt19937_64 generator(42);
  for (int e = 1; e < std::numeric_limits<T>::digits; ++e)
    for (int i = 0; i < 40; ++i) {
      const T small = std::ldexp(1 + static_cast<T>(generator() >> 11) * T(0x1p-53), -e);
      const T x = i % 2 == 0 ? 1 + small : 1 - small;
      CAPTURE(x);
      REQUIRE((x <= 0 || x == 1 || logs_are_nearest(x)));
    }
  // ln(1 + e) = e - e^2/2 + e^3/3 - ...: for e of few digits, like 6 units, e - e^2/2 may be the
  // middle between two numbers.
  constexpr T unit = std::numeric_limits<T>::epsilon();
  for (int n = 1; n < 200; ++n)
    for (const T x : {1 + static_cast<T>(n) * unit, 1 - static_cast<T>(n) * unit / 2}) {
      CAPTURE(n);
      REQUIRE(logs_are_nearest(x));
    }
  for (int part = 0; part <= 64; ++part)
    for (const T edge : {1 + static_cast<T>(part) / 64, (1 + static_cast<T>(part) / 64) / 2})
      for (const T x : {std::nextafter(edge, T(0)), edge, std::nextafter(edge, T(4))}) {
        CAPTURE(x);
        REQUIRE((x == 1 || logs_are_nearest(x)));
      }
}
}  // namespace

TEST_CASE("log and log2 at the ends of their range") {
  special_values<float>(attest::log);
  special_values<float>(attest::log2);
  special_values<double>(attest::log);
  special_values<double>(attest::log2);
}

TEST_CASE("log and log2 in every binade") {
  in_every_binade<float>();
  in_every_binade<double>();
}

TEST_CASE("log and log2 around one") {
  around_one<float>();
  around_one<double>();
}

TEST_CASE("log and log2 of random numbers") {
  rc::prop("any float from 0", [](std::uint32_t word) {
    const auto x = from_bits<float>(word & 0x7fffffff);
    RC_ASSERT(!std::isfinite(x) || x == 0 || x == 1 || logs_are_nearest(x));
  });
  rc::prop("any double from 0", [](std::uint64_t word) {
    const auto x = from_bits<double>(word & 0x7fffffffffffffff);
    RC_ASSERT(!std::isfinite(x) || x == 0 || x == 1 || logs_are_nearest(x));
  });
}

// Computed with MPFR, as in exp.cpp.
TEST_CASE("log and log2 of every 257th float") {
  REQUIRE(fingerprint([](float x) { return attest::log(x); }, 257) == 0xd562a3e2c96fe6da);
  REQUIRE(fingerprint([](float x) { return attest::log2(x); }, 257) == 0x4cd0c5f7de02dc5a);
}

TEST_CASE("logarithms in 64 and in 128 bits keep their bounds") {
  std::mt19937_64 generator(42);
  for (int i = 0; i < 3000; ++i) {
    const double unit = static_cast<double>((generator() >> 11) | 1) * 0x1p-53;
    for (const double x : {std::ldexp(1 + unit, i % 2000 - 1000), 0.5 + unit, 1 + unit / 100,
                           1 - std::ldexp(unit, -(i % 50) - 1)}) {
      if (x == 1) continue;
      CAPTURE(x);
      const Exacter exact = abs(log(Exacter(x)));
      const auto narrow = attest::logarithm<64>(x, 0, attest::log_tables::e);
      const auto wide = attest::logarithm<128>(x, 0, attest::log_tables::e);
      REQUIRE(relative_error_log2(ldexp(number(narrow.significand), narrow.exponent), exact) < -58);
      REQUIRE(relative_error_log2(ldexp(number(wide.significand), wide.exponent), exact) < -113);
    }
  }
}
