// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The operations on pairs of doubles against exact rationals, and their functions against 400 bits:
// no operation exceeds the error that docs/enclosure.md derives.
#include "catch.hpp"

#include <attest/oracle/double_double.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/cpp_int.hpp>

#include <cmath>
#include <random>

namespace {

using attest::oracle::Arithmetic;
using attest::oracle::DoubleDouble;
using boost::multiprecision::cpp_rational;
using Reference =
    boost::multiprecision::number<boost::multiprecision::backends::cpp_bin_float<
                                      400, boost::multiprecision::backends::digit_base_2>,
                                  boost::multiprecision::et_off>;

cpp_rational exact(const DoubleDouble& x) {
  return cpp_rational(x.high) + cpp_rational(x.low);
}
Reference reference(const DoubleDouble& x) {
  return Reference(x.high) + Reference(x.low);
}

// Pairs whose parts have few or all of their bits, of every sign, exponents up to `spread` apart;
// some follow each other closely, so that differences cancel.
class Pairs {
 public:
  explicit Pairs(int spread) : spread_(spread) {}
  DoubleDouble next() {
    if (random_() % 4 == 0 && last_.high != 0) {
      const double step = std::ldexp(last_.high, -static_cast<int>(random_() % 110));
      const DoubleDouble near = DoubleDouble::sum_of(-last_.high, step);
      last_ = DoubleDouble::sum_of(near.high, near.low - last_.low);
      return last_;
    }
    const double high = part();
    // |low| <= half a unit in the last place of high, and often near that
    const double low = std::ldexp(
        part_of_one(),
        std::ilogb(high) - 53 - static_cast<int>(random_() % 3) * static_cast<int>(random_() % 30));
    last_ = DoubleDouble::ordered_sum_of(high, low);
    return last_;
  }

 private:
  double part_of_one() {
    std::uint64_t bits = random_() >> 12;
    if (random_() % 2) bits &= ~std::uint64_t{0} << (random_() % 50);
    if (random_() % 3 == 0) bits |= (std::uint64_t{1} << (random_() % 52)) - 1;
    const double fraction = 1 + std::ldexp(static_cast<double>(bits), -52);
    return (random_() % 2 ? 1 : -1) * fraction;
  }
  double part() {
    const int exponent =
        static_cast<int>(random_() % static_cast<unsigned>(2 * spread_ + 1)) - spread_;
    return std::ldexp(part_of_one(), exponent);
  }
  std::mt19937_64 random_{3};
  int spread_;
  DoubleDouble last_;
};

// |got − wanted| in units of u²·|wanted|, u² = 2^-106.
double error(const DoubleDouble& got, const cpp_rational& wanted) {
  if (wanted == 0) return exact(got) == 0 ? 0 : HUGE_VAL;
  const cpp_rational relative = abs((exact(got) - wanted) / wanted);
  return std::ldexp(static_cast<double>(relative), 106);
}
bool normalized(const DoubleDouble& x) {
  return x.high + x.low == x.high;
}

struct Worst {
  double sum = 0, product = 0, quotient = 0, root = 0;
};

Worst worst_of(int spread, int count) {
  Pairs pairs(spread);
  Worst worst;
  for (int n = 0; n < count; ++n) {
    const DoubleDouble a = pairs.next(), b = pairs.next();
    const DoubleDouble sum = a + b, product = a * b, quotient = a / b;
    CHECK((normalized(sum) && normalized(product) && normalized(quotient)));
    worst.sum = std::max(worst.sum, error(sum, exact(a) + exact(b)));
    worst.product = std::max(worst.product, error(product, exact(a) * exact(b)));
    worst.quotient = std::max(worst.quotient, error(quotient, exact(a) / exact(b)));
    const DoubleDouble size = a.high < 0 ? -a : a;
    const Reference root = sqrt(reference(size));
    worst.root =
        std::max(worst.root,
                 std::ldexp(static_cast<double>(abs((reference(sqrt(size)) - root) / root)), 106));
  }
  return worst;
}

}  // namespace

TEST_CASE("sums, products, quotients and roots keep the bounds that are derived for them") {
  for (const int spread : {0, 3, 60, 200}) {
    const Worst worst = worst_of(spread, 5000);
    CAPTURE(spread, worst.sum, worst.product, worst.quotient, worst.root);
    CHECK(worst.sum <= 3.1);
    CHECK(worst.product <= 8.1);
    CHECK(worst.quotient <= 17);
    CHECK(worst.root <= 11);
    // a bound that nothing comes near of would not notice a lost term
    CHECK(worst.product > 1);
    CHECK(worst.quotient > 1);
    CHECK(std::ldexp(17, -106) <= Arithmetic<DoubleDouble>::roundoff);
  }
}

TEST_CASE("a sum and a product of two doubles are exact") {
  Pairs pairs(100);
  for (int n = 0; n < 5000; ++n) {
    const double a = pairs.next().high, b = pairs.next().high;
    CHECK(exact(DoubleDouble::sum_of(a, b)) == cpp_rational(a) + cpp_rational(b));
    CHECK(exact(DoubleDouble::product_of(a, b)) == cpp_rational(a) * cpp_rational(b));
    // the product of products, which a compiler might fuse with what follows
    CHECK(exact(DoubleDouble::sum_of(attest::oracle::detail::rounded(a * b), a)) ==
          cpp_rational(attest::oracle::detail::rounded(a * b)) + cpp_rational(a));
  }
}

TEST_CASE("halves of 26 bits multiply without rounding") {
  Pairs pairs(10);
  for (int n = 0; n < 5000; ++n) {
    const double a = pairs.next().high, leading = attest::oracle::detail::leading_bits(a);
    const double rest = a - leading;
    CHECK(cpp_rational(leading) + cpp_rational(rest) == cpp_rational(a));
    CHECK(cpp_rational(leading * leading) == cpp_rational(leading) * cpp_rational(leading));
    CHECK(cpp_rational(rest * rest) == cpp_rational(rest) * cpp_rational(rest));
    CHECK(cpp_rational(leading * rest) == cpp_rational(leading) * cpp_rational(rest));
  }
}
