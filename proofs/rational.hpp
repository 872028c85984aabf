// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Rational: exact fractions for proofs, with exp(x) = 2^x on the integers in place of e^x.
#pragma once

namespace proofs {

// attest's templates take any number type. What they promise of attention uses only that the weight
// is positive, increasing and turns sums into products; 2^x on integer scores is such a weight, and
// with it every law that holds of real numbers holds here with ==. An overflow of the integers is
// no constant expression: it cannot pass unnoticed.
struct Rational {
  long long numerator = 0;
  long long denominator = 1;

  constexpr Rational() = default;
  constexpr Rational(int whole) : numerator(whole) {}
  constexpr Rational(long long n, long long d)
      : numerator(d < 0 ? -n : n), denominator(d < 0 ? -d : d) {
    long long a = numerator < 0 ? -numerator : numerator, b = denominator;
    while (b != 0) {
      const long long remainder = a % b;
      a = b;
      b = remainder;
    }
    numerator /= a;
    denominator /= a;
  }

  friend constexpr bool operator==(const Rational&, const Rational&) = default;
  friend constexpr bool operator>(const Rational& x, const Rational& y) {
    return x.numerator * y.denominator > y.numerator * x.denominator;
  }
  friend constexpr bool operator>=(const Rational& x, const Rational& y) { return !(y > x); }
  friend constexpr Rational operator+(const Rational& x, const Rational& y) {
    return {x.numerator * y.denominator + y.numerator * x.denominator,
            x.denominator * y.denominator};
  }
  friend constexpr Rational operator-(const Rational& x, const Rational& y) {
    return {x.numerator * y.denominator - y.numerator * x.denominator,
            x.denominator * y.denominator};
  }
  friend constexpr Rational operator*(const Rational& x, const Rational& y) {
    return {x.numerator * y.numerator, x.denominator * y.denominator};
  }
  friend constexpr Rational operator/(const Rational& x, const Rational& y) {
    return {x.numerator * y.denominator, x.denominator * y.numerator};
  }
  // 2^x; an x that is no integer has no value here.
  friend constexpr Rational exp(const Rational& x) {
    if (x.denominator != 1) exponent_is_not_an_integer();
    return x.numerator < 0 ? Rational(1, 1LL << -x.numerator) : Rational(1LL << x.numerator, 1);
  }

 private:
  static void
  exponent_is_not_an_integer();  // never defined: in a constant expression its name is the message
};

}  // namespace proofs
