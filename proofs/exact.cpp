// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The rationals are a field, ordered, and 2^x turns sums into products: what the exact proofs of
// softmax and attention rest on. The same is asked of both integers, the wide and the built-in.
#include <attest/attention.hpp>
#include <attest/exact.hpp>
#include <attest/softmax.hpp>

namespace {
using namespace attest;

// Fractions n/d for n = -3 … 3, d = 1 … 3, d = 2 given once as 4/6 would be: not in lowest terms.
template <class R>
struct Fractions {
  R at[21]{};

  constexpr Fractions() {
    for (int n = -3; n <= 3; ++n)
      for (int d = 1; d <= 3; ++d) at[(n + 3) * 3 + d - 1] = R(2 * n, -2 * d);
  }
};
template <class R>
constexpr Fractions<R> some{};

template <class R>
constexpr bool is_a_field(int step) {
  const auto& q = some<R>.at;
  for (int i = 0; i < 21; i += step)
    for (int j = 0; j < 21; j += step) {
      const R &a = q[i], &b = q[j], &c = q[(i + j) % 21];
      if (!(a + b == b + a && a * b == b * a && a + -a == R(0) && a - b == a + -b)) return false;
      if (!((a + b) + c == a + (b + c) && (a * b) * c == a * (b * c))) return false;
      if (!(a * (b + c) == a * b + a * c)) return false;
      if (!(b == R(0)) && !(a / b * b == a)) return false;
    }
  return true;
}
static_assert(is_a_field<small_rational>(1) && is_a_field<rational>(4));

template <class R>
constexpr bool is_ordered(int step) {
  const auto& q = some<R>.at;
  for (int i = 0; i < 21; i += step)
    for (int j = 0; j < 21; j += step) {
      const R &a = q[i], &b = q[j], &c = q[(i + j) % 21];
      if ((a < b) + (a == b) + (a > b) != 1 || (a <= b) != !(b < a) || (a >= b) != (b <= a))
        return false;
      if (a < b && !(a + c < b + c)) return false;
      if (a > R(0) && b > R(0) && !(a * b > R(0))) return false;
    }
  return true;
}
static_assert(is_ordered<small_rational>(1) && is_ordered<rational>(4));

template <class R>
constexpr bool weighs() {
  for (int a = -4; a <= 4; ++a) {
    if (!(weight(R(a)) > R(0) && weight(R(a)) < weight(R(a + 1)))) return false;
    for (int b = -4; b <= 4; ++b)
      if (!(weight(R(a + b)) == weight(R(a)) * weight(R(b)))) return false;
  }
  return weight(R(0)) == R(1) && weight(R(3)) == R(8) && weight(R(-2)) == R(1, 4);
}
static_assert(weighs<rational>() && weighs<small_rational>(), "2^(a + b) = 2^a 2^b");

// Lowest terms where both parts are small; equality needs none.
static_assert(rational(6, -4).numerator() == -3 && rational(6, -4).denominator() == 2);
static_assert(rational(0, 7).denominator() == 1 && rational(1, 3) == rational(7, 21));
static_assert(small_rational(6, -4).numerator() == -3 &&
              small_rational(-10, 5) == small_rational(-2));

// Beyond 64 bits: 2^400/3 + 2^-400 and back.
constexpr rational large = weight(rational(400)), tiny = weight(rational(-100));
static_assert(large * weight(rational(-400)) == 1 && tiny * weight(rational(100)) == 1);
static_assert(large / 3 * 3 == large && (large + 1) - large == 1 && large + 1 > large);
static_assert((tiny + rational(1, 3)) - tiny == rational(1, 3) && tiny / 7 < tiny);
static_assert(-large < large && (large - 1) / (1 - large) == -1);

// What has no exact value is no constant expression: the integer would be too large, the divisor is
// zero, the weight would be irrational.
template <class R>
concept has_exact_value = requires {
  typename Matrix<bool, (R::value(), 1), 1>;
};
#define ATTEST_VALUE(name, ...)                                                      \
  struct name {                                                                      \
    static constexpr bool value() { return ((__VA_ARGS__) == (__VA_ARGS__)), true; } \
  }
ATTEST_VALUE(fits, weight(rational(500)));
ATTEST_VALUE(too_wide, weight(rational(300)) * weight(rational(300)));
ATTEST_VALUE(too_heavy, weight(rational(512)));
ATTEST_VALUE(small_fits, weight(small_rational(62)));
ATTEST_VALUE(small_too_heavy, weight(small_rational(63)));
ATTEST_VALUE(over_zero, rational(1) / rational(0));
ATTEST_VALUE(weight_of_a_half, weight(rational(1, 2)));
#undef ATTEST_VALUE
static_assert(has_exact_value<fits> && !has_exact_value<too_wide> && !has_exact_value<too_heavy>);
static_assert(has_exact_value<small_fits> && !has_exact_value<small_too_heavy>);
static_assert(!has_exact_value<over_zero> && !has_exact_value<weight_of_a_half>);

// Scores so far apart that built-in integers will not do: the weights are 1, 2^-150 and 2^-170.
constexpr Query q{matrix<rational>({{10, 0}})};
constexpr Key k{matrix<rational>({{20, 1}, {5, 1}, {3, -9}})};
constexpr Value v{matrix<rational>({{1}, {-2}, {5}})};
constexpr auto o = attention<unscaled>(q, k, v);
constexpr rational near = weight(rational(-150)), far = weight(rational(-170));
static_assert(o[0][0] == (1 - 2 * near + 5 * far) / (1 + near + far),
              "(1*1 - 2*2^-150 + 5*2^-170) / (1 + 2^-150 + 2^-170)");
static_assert(o == attention_weights<unscaled>(q, k) * v.matrix);

}  // namespace
