// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The elementary functions of each tier against a type of 400 bits: the errors enclosures count on
// are not exceeded.
#include "catch.hpp"

#include <attest/oracle/double_double.hpp>

#include <random>

namespace {

using attest::oracle::Arithmetic;
using attest::oracle::DoubleDouble;
using attest::oracle::Enclosure;
using attest::oracle::Wide;
using Reference =
    boost::multiprecision::number<boost::multiprecision::backends::cpp_bin_float<
                                      400, boost::multiprecision::backends::digit_base_2>,
                                  boost::multiprecision::et_off>;

// An argument with all the bits its tier has, a little off `value`, and what a tier returns.
template <class Real>
Real argument(double value, double part) {
  return Real(value) + Real(value * 0x1p-54 * part);
}
template <class Real>
Reference reference(const Real& x) {
  return Reference(x);
}
Reference reference(const DoubleDouble& x) {
  return Reference(x.high) + Reference(x.low);
}

double relative_error(const Reference& got, const Reference& exact) {
  return static_cast<double>(abs((got - exact) / exact));
}

template <class Real>
double worst_exp(double lowest, int count) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> log_magnitude(-60, std::log2(-lowest));
  std::uniform_real_distribution<double> part(-1, 1);
  double worst = 0;
  for (int n = 0; n < count; ++n) {
    Real y = argument<Real>(-std::exp2(log_magnitude(random)), part(random));
    if (Real(lowest) > y) y = lowest;
    worst = std::max(worst, relative_error(reference(Arithmetic<Real>::exp(y)), exp(reference(y))));
  }
  return worst;
}

template <class Real>
double worst_tanh(int count) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> log_magnitude(-60, 9);
  std::uniform_real_distribution<double> part(-1, 1);
  double worst = 0;
  for (int n = 0; n < count; ++n) {
    const Real z =
        argument<Real>((n % 2 ? 1 : -1) * std::exp2(log_magnitude(random)), part(random));
    worst =
        std::max(worst, relative_error(reference(Arithmetic<Real>::tanh(z)), tanh(reference(z))));
  }
  return worst;
}

}  // namespace

TEST_CASE("exp keeps its bound over the whole range of arguments") {
  const double in_double = worst_exp<double>(Arithmetic<double>::smallest_exponent, 20000);
  CHECK(in_double <= Arithmetic<double>::exp_error);
  CHECK(in_double > 0);
  const double in_pairs =
      worst_exp<DoubleDouble>(Arithmetic<DoubleDouble>::smallest_exponent, 5000);
  CHECK(in_pairs <= Arithmetic<DoubleDouble>::exp_error);
  CHECK(in_pairs > 0);
  CHECK(worst_exp<Wide>(-709, 500) <= Arithmetic<Wide>::exp_error);
  CHECK(worst_exp<Wide>(Arithmetic<Wide>::smallest_exponent, 500) <= Arithmetic<Wide>::exp_error);
}

TEST_CASE("exp at the ends of its range") {
  CHECK(Arithmetic<double>::exp(0) == 1);
  CHECK(Arithmetic<double>::exp(-708) > 0);
  CHECK(Arithmetic<double>::exp(-709) == 0);
  CHECK(Arithmetic<double>::exp(-HUGE_VAL) == 0);
  CHECK(Arithmetic<DoubleDouble>::exp(0).high == 1);
  CHECK(Arithmetic<DoubleDouble>::exp(0).low == 0);
  CHECK(Arithmetic<DoubleDouble>::exp(-650).high > 0);
  CHECK(Arithmetic<DoubleDouble>::exp(-651).high == 0);
  CHECK(Arithmetic<DoubleDouble>::exp(-HUGE_VAL).high == 0);
  CHECK(exp(Reference(Arithmetic<DoubleDouble>::smallest_exponent + 0.01)) <
        Reference(Arithmetic<DoubleDouble>::neglected));
  // what is taken as 0 is below `neglected`
  CHECK(exp(Reference(Arithmetic<double>::smallest_exponent)) <
        Reference(Arithmetic<double>::neglected));
  CHECK(Arithmetic<Wide>::exp(Wide(-1e38)) == 0);
}

TEST_CASE("tanh keeps its bound for both signs and every magnitude") {
  CHECK(worst_tanh<double>(20000) <= Arithmetic<double>::tanh_error);
  CHECK(worst_tanh<DoubleDouble>(5000) <= Arithmetic<DoubleDouble>::tanh_error);
  CHECK(worst_tanh<Wide>(500) <= Arithmetic<Wide>::tanh_error);
  CHECK(Arithmetic<double>::tanh(1000) == 1);
  CHECK(Arithmetic<double>::tanh(-1000) == -1);
  CHECK(Arithmetic<double>::tanh(0) == 0);
}

TEST_CASE("the distance to an enclosure brackets the true distance") {
  rc::prop("nearest <= |got - exact| <= farthest for every exact value inside", [] {
    const double high = *rc::gen::arbitrary<int>() / 1024.0;
    const double radius = std::ldexp(1.0, -*rc::gen::inRange(1, 60));
    const double inside = *rc::gen::inRange(-1000, 1001) / 1000.0;
    const double got = *rc::gen::arbitrary<int>() / 1000.0;
    const Enclosure enclosure{high, 0, radius};
    const Reference distance =
        abs(Reference(got) - (Reference(high) + Reference(inside) * Reference(radius)));
    RC_ASSERT(Reference(enclosure.nearest(got)) <= distance);
    RC_ASSERT(Reference(enclosure.farthest(got)) >= distance);
  });
}
