// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// exp and exp2 against e^x and 2^x with 50 digits: the nearest float, the nearest double.
#include "catch.hpp"
//
#include <algorithm>
#include <attest/exp.hpp>
#include <bit>
#include <limits>
#include <random>

#include "nearest.hpp"

namespace {
using namespace tests;

template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();

template <class T>
bool exp_is_nearest(T x) {
  const Exact exact = x < -1000 ? Exact(0) : x > 1000 ? ldexp(Exact(1), 1100) : exp(Exact(x));
  return is_nearest(attest::exp(x), exact);
}

template <class T>
void special_values(T smallest_that_overflows, T largest_that_vanishes) {
  REQUIRE(attest::exp(T(0)) == 1);
  REQUIRE(attest::exp(T(-0.0)) == 1);
  REQUIRE(attest::exp(infinity<T>) == infinity<T>);
  REQUIRE(same_bits(attest::exp(-infinity<T>), T(0)));
  REQUIRE(attest::exp(std::numeric_limits<T>::denorm_min()) == 1);
  REQUIRE(attest::exp(std::numeric_limits<T>::max()) == infinity<T>);
  REQUIRE(same_bits(attest::exp(std::numeric_limits<T>::lowest()), T(0)));
  REQUIRE(attest::exp(smallest_that_overflows) == infinity<T>);
  REQUIRE(attest::exp(std::nextafter(smallest_that_overflows, T(0))) < infinity<T>);
  REQUIRE(same_bits(attest::exp(largest_that_vanishes), T(0)));
  REQUIRE(attest::exp(std::nextafter(largest_that_vanishes, T(0))) ==
          std::numeric_limits<T>::denorm_min());
}

// Uniform in [low, high], from a generator of its own so that a failure repeats.
template <class T>
void uniform_is_nearest(T low, T high, int count) {
  std::mt19937_64 generator(42);
  std::uniform_real_distribution<T> x(low, high);
  for (int i = 0; i < count; ++i) {
    const T at = x(generator);
    CAPTURE(at);
    REQUIRE(exp_is_nearest(at));
  }
}
}  // namespace

TEST_CASE("exp at the ends of its range") {
  special_values<float>(0x1.62e43p+6f, -0x1.9fe36ap+6f);
  special_values<double>(0x1.62e42fefa39fp+9, -0x1.74910d52d3052p+9);
}

TEST_CASE("exp of a NaN is the same NaN, quiet") {
  for (const std::uint32_t payload : {1u, 0x00400000u, 0x0012345u})
    for (const std::uint32_t sign : {0u, 0x80000000u})
      REQUIRE(same_bits(attest::exp(from_bits<float>(sign | 0x7f800000u | payload)),
                        from_bits<float>(sign | 0x7fc00000u | payload)));
  for (const std::uint64_t payload : {1ull, 0x0008000000000000ull, 0x0000123456789abcull})
    for (const std::uint64_t sign : {0ull, 0x8000000000000000ull})
      REQUIRE(same_bits(attest::exp(from_bits<double>(sign | 0x7ff0000000000000u | payload)),
                        from_bits<double>(sign | 0x7ff8000000000000u | payload)));
}

// The floats whose exponential is within 2^-50 of the middle between two floats: all there are.
TEST_CASE("exp of the hardest floats") {
  for (const float x : {-0x1.d2259ap+3f, -0x1.e1dbe2p-8f, -0x1.c1c4b8p-10f, -0x1p-25f,
                        0x1.fdff02p-17f, 0x1.62b666p+1f, 0x1.036492p+1f}) {
    CAPTURE(x);
    REQUIRE(exp_is_nearest(x));
  }
}

// The doubles closest to the middle between two among 1.5·10^9 random ones: 2^-80 to 2^-84 away.
TEST_CASE("exp of hard doubles") {
  for (const double x : {0x1.19a56fc6f2ea6p-12,  -0x1.e1ff54977d2f3p-10, -0x1.ee848fe2b09b8p-9,
                         0x1.1d97d08b6d6a8p-14,  0x1.79fb6cbff41fcp+8,   -0x1.f00a445675377p-14,
                         0x1.655157b69e5f2p-4,   -0x1.42c0ef4cb74f6p-28, 0x1.81621ad6348f4p+1,
                         -0x1.0003864403862p-24, -0x1.d114bff2ec5fp-23,  0x1.5fb89c2cdfap+0,
                         0x1.0cfd64fd1388dp+8,   -0x1.82d7f9160a426p+4,  -0x1.db74c1c3538ccp+6,
                         -0x1.6e7be061cc1f2p+1,  0x1.6761a642c5e1ap+4,   0x1.0257f8fbed2a1p-29,
                         -0x1.b9c6a8e686716p+7,  -0x1.0b611bd71c5f3p+9}) {
    CAPTURE(x);
    REQUIRE(exp_is_nearest(x));
  }
}

// e^x is nearly 1 + x, and 1 + x may be the middle between two doubles.
TEST_CASE("exp of small doubles") {
  for (int e = -60; e < -8; ++e)
    for (const double m : {1.0, 1 + 0x1p-52, 1.5, 2 - 0x1p-52})
      for (const double sign : {1.0, -1.0}) {
        const double x = sign * std::ldexp(m, e);
        CAPTURE(x);
        REQUIRE(exp_is_nearest(x));
      }
}

TEST_CASE("exp of random numbers") {
  uniform_is_nearest<float>(-20, 0, 3000);
  uniform_is_nearest<float>(-105, -86, 3000);
  uniform_is_nearest<float>(-1, 1, 3000);
  uniform_is_nearest<float>(0, 89, 3000);
  uniform_is_nearest<double>(-40, 0, 3000);
  uniform_is_nearest<double>(-746, -707, 3000);
  uniform_is_nearest<double>(-1, 1, 3000);
  uniform_is_nearest<double>(0, 710, 3000);
  rc::prop("any float", [](std::uint32_t word) {
    const auto x = from_bits<float>(word);
    RC_ASSERT(std::isnan(x) || exp_is_nearest(x));
  });
  rc::prop("any double", [](std::uint64_t word) {
    const auto x = from_bits<double>(word);
    RC_ASSERT(std::isnan(x) || exp_is_nearest(x));
  });
}

// Computed with MPFR; tests/exhaustive holds every float to MPFR and computes the number for
// stride 1.
TEST_CASE("exp of every 257th float") {
  REQUIRE(fingerprint([](float x) { return attest::exp(x); }, 257) == 0x45ba164588d216bf);
}

namespace {
template <class T>
bool exp2_is_nearest(T x) {
  const Exact exact = x < -1100  ? Exact(0)
                      : x > 1100 ? ldexp(Exact(1), 1100)
                                 : pow(Exact(2), Exact(x));
  return is_nearest(attest::exp2(x), exact);
}

template <class T>
void exp2_of_integers() {
  using limits = std::numeric_limits<T>;
  for (int k = limits::min_exponent - limits::digits; k < limits::max_exponent; ++k)
    REQUIRE(attest::exp2(static_cast<T>(k)) == std::ldexp(T(1), k));
  const T smallest = static_cast<T>(limits::min_exponent - limits::digits);
  REQUIRE(same_bits(attest::exp2(smallest - 1), T(0)));
  REQUIRE(attest::exp2(std::nextafter(smallest - 1, T(0))) == limits::denorm_min());
  REQUIRE(attest::exp2(T(limits::max_exponent)) == infinity<T>);
  REQUIRE(attest::exp2(std::nextafter(T(limits::max_exponent), T(0))) < infinity<T>);
  REQUIRE(attest::exp2(infinity<T>) == infinity<T>);
  REQUIRE(same_bits(attest::exp2(-infinity<T>), T(0)));
  REQUIRE(attest::exp2(-T(0)) == 1);
}

template <class T>
void random_exp2_is_nearest(T low, T high) {
  std::mt19937_64 generator(42);
  std::uniform_real_distribution<T> x(low, high);
  for (int i = 0; i < 3000; ++i) {
    const T at = x(generator);
    CAPTURE(at);
    REQUIRE(exp2_is_nearest(at));
  }
}
}  // namespace

TEST_CASE("exp2 of integers is exact") {
  exp2_of_integers<float>();
  exp2_of_integers<double>();
}

// The five floats that give way to a neighbour, those on both sides of them, and the next closest
// ones.
TEST_CASE("exp2 of the hardest floats") {
  for (const float x : {0x1.853a6ep-9f, -0x1.5a3f34p-21f, -0x1.a7a04cp-14f, -0x1.d8568p-10f,
                        -0x1.e7526ep-6f, 0x1.0f0af8p-11f, -0x1.3e53bcp-3f, 0x1.05535ap-7f})
    for (const float y : {x, std::nextafter(x, 1.0f), std::nextafter(x, -1.0f)}) {
      CAPTURE(y);
      REQUIRE(exp2_is_nearest(y));
    }
}

TEST_CASE("exp2 of random numbers") {
  random_exp2_is_nearest<float>(-151, -120);
  random_exp2_is_nearest<float>(-1, 1);
  random_exp2_is_nearest<float>(-30, 129);
  random_exp2_is_nearest<double>(-1076, -1000);
  random_exp2_is_nearest<double>(-1, 1);
  random_exp2_is_nearest<double>(-0x1p-18, 0x1p-18);
  random_exp2_is_nearest<double>(-30, 1025);
}

TEST_CASE("exp2 of every 257th float") {
  REQUIRE(fingerprint([](float x) { return attest::exp2(x); }, 257) == 0xf17cc4a819332920);
}

// What makes the float results right however they are compiled: the doubles before the last
// rounding keep the bounds that exp.hpp derives.
TEST_CASE("near_exp and near_exp2 keep their bounds") {
  std::mt19937_64 generator(42);
  for (int i = 0; i < 10000; ++i) {
    const double unit = static_cast<double>(static_cast<float>(generator() >> 40) * 0x1p-24f);
    for (const double x : {unit - 0.5, static_cast<double>(static_cast<float>(unit * 193 - 104))}) {
      CAPTURE(x);
      REQUIRE(error(attest::near_exp(x), exp(Exact(x))) <= 1.24);
    }
    for (const double x : {unit - 0.5, static_cast<double>(static_cast<float>(unit * 278 - 150))}) {
      CAPTURE(x);
      REQUIRE(error(attest::near_exp2(x), pow(Exact(2), Exact(x))) <= 1.27);
    }
  }
}

// What lets exp and exp2 decide most floats at once.
TEST_CASE("rough_exp2 keeps its bound, also of x log2(e)") {
  const auto relative_error = [](double x, double factor, const Exact& exact) {
    return error(std::bit_cast<double>(attest::rough_exp2(x, factor)), exact) * 0x1p-53;
  };
  std::mt19937_64 generator(42);
  for (int i = 0; i < 10000; ++i) {
    const double unit = static_cast<double>(static_cast<float>(generator() >> 40) * 0x1p-24f);
    const double z = unit * 280 - 152,
                 x = static_cast<double>(static_cast<float>(unit * 192 - 104));
    CAPTURE(z, x);
    REQUIRE(relative_error(z, 1, pow(Exact(2), Exact(z))) < 0x1p-38);
    REQUIRE(relative_error(x, attest::exp_tables::log2_e, exp(Exact(x))) < 0x1p-38);
  }
}

// The fingerprints are those of MPFR once more: what is in doubt is found another way.
TEST_CASE("exp and exp2 in doubt of every 257th float") {
  REQUIRE(fingerprint([](float x) { return attest::exp_in_doubt(x); }, 257) == 0x45ba164588d216bf);
  REQUIRE(fingerprint([](float x) { return attest::exp2_in_doubt(x); }, 257) == 0xf17cc4a819332920);
}

namespace {
// Whether e^(x - largest) is the same side by side as one by one. Where x - largest is a NaN, any
// NaN will do.
template <std::size_t N>
bool same_side_by_side(const float (&x)[N], float largest) {
  float result[N];
  std::copy(x, x + N, result);
  attest::exp_side_by_side<N>(result, largest);
  for (std::size_t j = 0; j < N; ++j) {
    const float expected = attest::exp(x[j] - largest);
    if (std::isnan(expected) ? !std::isnan(result[j]) : !same_bits(result[j], expected))
      return false;
  }
  return true;
}

// Rows of 32 neighbours among the floats from first on, each `stride` from the next.
bool rows_are_same_side_by_side(std::uint32_t first, std::uint32_t last, std::uint32_t stride) {
  for (std::uint64_t word = first; word + 31 * stride <= last; word += 32 * stride) {
    float x[32];
    for (std::uint32_t j = 0; j < 32; ++j)
      x[j] = from_bits<float>(static_cast<std::uint32_t>(word) + j * stride);
    if (!same_side_by_side(x, 0)) return false;
  }
  return true;
}
}  // namespace

TEST_CASE("exp side by side is exp") {
  REQUIRE(rows_are_same_side_by_side(0x80000000, 0xffffffff, 257));  // -0 to -NaN
  // Every float whose exponential is subnormal, and more on both sides of them.
  REQUIRE(rows_are_same_side_by_side(0xc2ae0000, 0xc2d10000, 1));

  // A number in doubt, one with a subnormal result, a NaN and -infinity among ordinary ones.
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float x : {-0x1.d2259ap+3f, -0x1.e1dbe2p-8f, -100.0f, nan, -nan, -infinity<float>})
    for (std::size_t place = 0; place < 9; ++place) {
      float row[9] = {-1, -2, -3, -4, -5, -6, -7, -8, -9};
      row[place] = x;
      REQUIRE(same_side_by_side(row, 0));
    }
  REQUIRE(same_side_by_side({1e30f, 1e30f, -3e38f}, 1e30f));
  REQUIRE(same_side_by_side({5.0f, 4.5f, -82.0f, -90.0f, -99.0f, -99.5f}, 5));
}

TEST_CASE("exp is at run time what it is at compile time") {
  constexpr auto table = [] {
    struct {
      float single[64];
      double twofold[64];
    } values{};
    for (int i = 0; i < 64; ++i) {
      values.single[i] = attest::exp(static_cast<float>(i * i) * 0.0371f - 100);
      values.twofold[i] = attest::exp(i * i * 0.371 - 747);
    }
    return values;
  }();
  volatile int start = 0;  // unknown to the compiler
  for (int n = start; n < 64; ++n) {
    REQUIRE(same_bits(table.single[n], attest::exp(static_cast<float>(n * n) * 0.0371f - 100)));
    REQUIRE(same_bits(table.twofold[n], attest::exp(n * n * 0.371 - 747)));
  }
}

TEST_CASE("the significands of exp in 64 and in 128 bits keep their bounds") {
  std::mt19937_64 generator(42);
  const Exacter ln2 = log(Exacter(2));
  for (int i = 0; i < 3000; ++i) {
    const int k = static_cast<int>(generator() % 64);
    const double r = static_cast<double>(generator() >> 11) * 0x1p-53 * 0.01083042;
    CAPTURE(k, r);
    const Exacter exact = exp(Exacter(ln2 * k / 64 + Exacter(r)));
    const attest::bits::Wide fixed{static_cast<std::uint64_t>(r * 0x1p70), 0};
    if (r < 0x1p-10) continue;  // r·2^70 is then an integer
    const Exacter wide = number(attest::wide_exp_significand(fixed, k));
    REQUIRE(relative_error_log2(ldexp(wide, -126), exact) < -122);
    const Exacter units = Exacter(attest::exp_significand(fixed.high, k)) - ldexp(exact, 63);
    REQUIRE(units >= -2.2);
    REQUIRE(units <= 0.2);
  }
}
