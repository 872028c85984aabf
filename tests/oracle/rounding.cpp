// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Rounding to a format: against a search for the nearest number, against Boost's own conversion to
// double and float, and at the points halfway.
#include "catch.hpp"

#include <attest/oracle/precise_row.hpp>
#include <attest/oracle/rounding.hpp>

#include <random>

#include "nearest_number.hpp"

namespace {

using namespace attest::oracle;
using attest::test::magnitude;
using attest::test::nearest_number;

constexpr const NumberFormat* small_formats[] = {&formats::float32, &formats::float16,
                                                 &formats::bfloat16, &formats::float8_e4m3fn,
                                                 &formats::float8_e5m2};

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

// Some number of any magnitude that a format could hold or nearly hold.
template <unsigned Bits>
Float<Bits> any_number(std::mt19937_64& random, const NumberFormat& format) {
  std::uniform_int_distribution<int> exponent(format.min_exponent - format.precision - 3,
                                              format.max_exponent + 2);
  Float<Bits> x = 0;
  for (int word = 0; word < 4; ++word) x = ldexp(x, 64) + random();
  x = ldexp(x, exponent(random) - 256);
  return random() % 2 ? x : Float<Bits>(-x);
}

template <unsigned Bits>
void check_halfway(const NumberFormat& format, std::uint64_t bits) {
  const double low = magnitude(bits, format);
  double high = magnitude(bits + 1, format);
  const Float<Bits> middle = (Float<Bits>(low) + Float<Bits>(high)) / 2;
  const Float<Bits> little = ldexp(middle, 20 - static_cast<int>(Bits));
  if (high > format.largest) high = format.has_infinity ? HUGE_VAL : NAN;
  REQUIRE(same(round_to<Bits>(middle, format), bits % 2 ? high : low));
  REQUIRE(same(round_to<Bits>(Float<Bits>(middle - little), format), low));
  REQUIRE(same(round_to<Bits>(Float<Bits>(middle + little), format), high));
  REQUIRE(same(round_to<Bits>(Float<Bits>(-middle), format), bits % 2 ? -high : -low));
}

}  // namespace

TEST_CASE("numbers of many bits round to the nearest of a format") {
  std::mt19937_64 random(1);
  for (const NumberFormat* format : small_formats)
    for (int n = 0; n < 300; ++n) {
      const auto x = any_number<240>(random, *format);
      CAPTURE(format->name, n);
      REQUIRE(same(round_to<240>(x, *format), nearest_number(x, *format)));
    }
}

TEST_CASE("numbers of many bits round to double and float as Boost converts them") {
  std::mt19937_64 random(2);
  for (int n = 0; n < 5000; ++n) {
    const auto x = any_number<500>(random, formats::float64);
    CAPTURE(n);
    REQUIRE(same(round_to<500>(x, formats::float64), static_cast<double>(x)));
    const auto y = any_number<500>(random, formats::float32);
    REQUIRE(same(round_to<500>(y, formats::float32), static_cast<double>(static_cast<float>(y))));
  }
}

TEST_CASE("halfway goes to the even number, the least beside it does not") {
  for (const NumberFormat* format : small_formats) {
    CAPTURE(format->name);
    std::uint64_t last = 0;  // bits of the largest number
    while (magnitude(last + 1, *format) <= format->largest)
      last += format->precision > 11 ? (std::uint64_t{1} << 20) - 1 : 1;
    while (magnitude(last, *format) > format->largest) --last;
    const std::uint64_t step = format->precision > 11 ? 99991 * 64 : 1;
    for (std::uint64_t bits = 0; bits < last; bits += step) check_halfway<240>(*format, bits);
    while (magnitude(last + 1, *format) <= format->largest) ++last;
    check_halfway<240>(*format, last);  // the least that overflows
  }
  for (const std::uint64_t bits : {std::uint64_t{0}, std::uint64_t{1}, (std::uint64_t{1} << 52) - 1,
                                   std::uint64_t{0x3ff0000000000000}, std::uint64_t{12345}})
    check_halfway<240>(formats::float64, bits);
}

TEST_CASE("ratios of integers round as their quotient does") {
  std::mt19937_64 random(3);
  for (const NumberFormat* format : small_formats)
    for (int n = 0; n < 150; ++n) {
      const auto numerator = static_cast<std::int64_t>(random() % 100'000) - 50'000;
      const auto denominator = static_cast<std::int64_t>(1 + random() % (n % 2 ? 64 : 99'999));
      const int exponent = static_cast<int>(random() % 40) - 20;
      // wide enough for all halfway points to be exact, and for no quotient to look like one
      const Float<500> quotient = ldexp(Float<500>(numerator) / denominator, exponent);
      CAPTURE(format->name, numerator, denominator, exponent);
      REQUIRE(same(round_ratio(numerator, denominator, exponent, *format),
                   numerator == 0 ? 0 : nearest_number(quotient, *format)));
    }
}

TEST_CASE("ratios of integers at the ends of double") {
  const auto power = [](int exponent) { return Integer(Integer(1) << exponent); };
  CHECK(round_ratio(1, 1, -1074, formats::float64) == 0x1p-1074);
  CHECK(round_ratio(1, 2, -1074, formats::float64) == 0);  // halfway, to even
  CHECK(round_ratio(3, 2, -1074, formats::float64) == 0x1p-1073);
  CHECK(round_ratio(power(53) + 1, power(53), 0, formats::float64) == 1);  // halfway, to even
  CHECK(round_ratio(power(54) + 3, power(54), 0, formats::float64) == 1 + 0x1p-52);
  CHECK(round_ratio(power(1024), 1, 0, formats::float64) == HUGE_VAL);
  const double most = std::numeric_limits<double>::max();  // 2^1024 − 2^971
  CHECK(round_ratio(-power(1024) + power(970) + 1, 1, 0, formats::float64) == -most);
  CHECK(round_ratio(-power(1024) + power(970), 1, 0, formats::float64) == -HUGE_VAL);
  CHECK(round_ratio(power(60), power(61) * 3, 1, formats::float64) == 1.0 / 3);
}

TEST_CASE("the units of 2^-1074 are the number again") {
  for (const double x : {0.0, 1.0, -1.5, 0x1p-1074, -0x1.8p-1073, 0x1.fffffffffffffp1023, 1 / 3.0})
    CHECK(ldexp(Float<4000>(in_smallest_units(x)), -1074) == Float<4000>(x));
}

TEST_CASE("bits are written as they are read") {
  for (const NumberFormat* format : small_formats) {
    if (format->precision > 11) continue;
    const bool eight = format->precision <= 4;
    for (std::uint32_t bits = 0; bits < (eight ? 0x100u : 0x10000u); ++bits) {
      const double x = decode(static_cast<std::uint16_t>(bits), *format, eight ? 8 : 16);
      const std::uint16_t written = encode(x, *format, eight ? 8 : 16);
      if (std::isnan(x))
        REQUIRE(std::isnan(decode(written, *format, eight ? 8 : 16)));
      else
        REQUIRE(written == bits);
    }
  }
}

namespace {

using More = Float<1500>;

template <unsigned Bits>
void check_functions() {
  std::mt19937_64 random(Bits);
  std::uniform_real_distribution<double> log_exp(-300, std::log2(-Precise<Bits>::lowest));
  std::uniform_real_distribution<double> log_tanh(-300, 12);
  const auto relative = [](const Float<Bits>& got, const More& exact) {
    return More(abs((More(got) - exact) / exact));
  };
  const More exp_bound(Precise<Bits>::exp_error()), tanh_bound(Precise<Bits>::tanh_error());
  for (int n = 0; n < 60; ++n) {
    const double y = n == 0 ? Precise<Bits>::lowest : -std::exp2(log_exp(random));
    CAPTURE(Bits, y);
    REQUIRE(relative(exp(Float<Bits>(y)), exp(More(y))) <= exp_bound);
    const double z =
        (n % 2 ? 1 : -1) * (n < 2 ? 0x1.0000000000001p-10 : std::exp2(log_tanh(random)));
    CAPTURE(z);
    // by exp of 1500 bits, of which z near 2^-300 takes 300
    const More w = exp(More(-2 * std::fabs(z)));
    const More exact = More(z < 0 ? -1 : 1) * (1 - w) / (1 + w);
    const More& allowed = tanh_bound;
    REQUIRE(relative(Precise<Bits>::tanh(Float<Bits>(z)), exact) <= allowed);
  }
  // what is left out is below its bound
  REQUIRE(exp(More(Precise<Bits>::lowest)) < More(Precise<Bits>::below_lowest()));
}

}  // namespace

TEST_CASE("exp and tanh of many bits keep their bounds") {
  check_functions<240>();
  check_functions<500>();
  check_functions<1000>();
}
