// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The rationals of the proofs against Boost's cpp_rational, which divides as it likes, and what
// they refuse at run time.
#include "catch.hpp"
//
#include <attest/exact.hpp>
#include <boost/multiprecision/cpp_int.hpp>
#include <stdexcept>

namespace {
using attest::rational;
using attest::small_rational;
using Integer = boost::multiprecision::cpp_int;
using Fraction = boost::multiprecision::cpp_rational;

template <class R>
Fraction value(const R& x) {
  return Fraction(Integer(x.numerator()), Integer(x.denominator()));
}

// Up to 2^60, and with shift up to 2^200: beyond what is brought to lowest terms.
struct Sample {
  rational ours;
  Fraction theirs;
};
Sample sample(std::int64_t n, std::int64_t d, int shift) {
  const std::int64_t numerator = n / 8, denominator = d / 8 == 0 ? 1 : d / 8;
  const rational power = weight(rational(shift));
  return {rational(numerator, denominator) * power,
          Fraction(numerator, denominator) *
              Fraction(Integer(power.numerator()), Integer(power.denominator()))};
}
}  // namespace

TEST_CASE("rationals calculate and compare like Boost's") {
  rc::prop("two fractions", [](std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
    const auto x = sample(a, b, *rc::gen::inRange(-100, 100));
    const auto y = sample(c, d, *rc::gen::inRange(-20, 20));
    RC_ASSERT(value(x.ours) == x.theirs);
    RC_ASSERT(value(x.ours + y.ours) == x.theirs + y.theirs);
    RC_ASSERT(value(x.ours - y.ours) == x.theirs - y.theirs);
    RC_ASSERT(value(x.ours * y.ours) == x.theirs * y.theirs);
    RC_ASSERT(value(-x.ours) == -x.theirs);
    if (y.theirs != 0) {
      RC_ASSERT(value(x.ours / y.ours) == x.theirs / y.theirs);
      RC_ASSERT(x.ours == x.ours * y.ours / y.ours);
    }
    RC_ASSERT((x.ours == y.ours) == (x.theirs == y.theirs));
    RC_ASSERT((x.ours < y.ours) == (x.theirs < y.theirs));
    RC_ASSERT((x.ours > y.ours) == (x.theirs > y.theirs));
    RC_ASSERT((x.ours <= y.ours) == (x.theirs <= y.theirs));
    RC_ASSERT((x.ours >= y.ours) == (x.theirs >= y.theirs));
  });
  rc::prop("small fractions, in lowest terms", [](std::int16_t a, std::int16_t b, std::int16_t c,
                                                  std::int16_t d) {
    RC_PRE(b != 0 && d != 0);
    const small_rational x(a, b), y(c, d);
    const Fraction p(a, b), q(c, d);
    RC_ASSERT(Integer(x.numerator()) == numerator(p) && Integer(x.denominator()) == denominator(p));
    RC_ASSERT(value(x + y) == p + q && value(x - y) == p - q && value(x * y) == p * q);
    RC_ASSERT((x == y) == (p == q) && (x < y) == (p < q));
    if (q != 0) RC_ASSERT(value(x / y) == p / q);
    const rational wide = rational(a, b) + rational(c, d);
    RC_ASSERT(Integer(wide.numerator()) == numerator(Fraction(p + q)));
    RC_ASSERT(wide.denominator() > 0);
  });
}

TEST_CASE("weight is a power of two, from 2^-511 to 2^511") {
  for (int x = -511; x <= 511; ++x) {
    const Fraction power = value(weight(rational(x)));
    REQUIRE(power == (x < 0 ? Fraction(1, Integer(1) << -x) : Fraction(Integer(1) << x)));
    REQUIRE(exp(rational(x)) == weight(rational(x)));
  }
  for (int x = -62; x <= 62; ++x)
    REQUIRE(value(weight(small_rational(x))) == value(weight(rational(x))));
}

TEST_CASE("what has no exact value is refused at run time too") {
  REQUIRE_THROWS_AS(weight(rational(1, 2)), std::domain_error);
  REQUIRE_THROWS_AS(weight(rational(512)), std::overflow_error);
  REQUIRE_THROWS_AS(weight(rational(-512)), std::overflow_error);
  REQUIRE_THROWS_AS(weight(small_rational(63)), std::overflow_error);
  REQUIRE_THROWS_AS(weight(small_rational(1, 3)), std::domain_error);
  REQUIRE_THROWS_AS(rational(1) / rational(0), std::domain_error);
  REQUIRE_THROWS_AS(small_rational(1, 0), std::domain_error);
  const rational large = weight(rational(300));
  REQUIRE_THROWS_AS(large * large, std::overflow_error);
  REQUIRE_THROWS_AS(weight(rational(511)) + weight(rational(511)), std::overflow_error);
  REQUIRE_THROWS_AS(rational(1, 3) < large / 7 * large, std::overflow_error);
}
