// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Fixed-point numbers: exact sums, products rounded once to nearest even, and no overflow anywhere.
#include <attest/algebra.hpp>
#include <attest/fixed.hpp>
#include <limits>
#include <type_traits>

namespace {
using namespace attest;
using q7 = fixed<int8_t, 7>;  // [-1, 127/128]
using q4 = fixed<int8_t, 4>;  // [-8, 7.9375]
using q15 = fixed<int16_t, 15>;
using q16 = fixed<int32_t, 16>;
using q31 = fixed<int32_t, 31>;

// Footprint, and conversions only where written.
static_assert(sizeof(q7) == 1 && sizeof(q15) == 2 && sizeof(q16) == 4);
static_assert(std::is_trivially_copyable_v<q7> && sizeof(Matrix<q7, 4, 4>) == 16);
template <Matrix<q4, 1, 2> weights>
constexpr q4 second_weight = weights[0][1];
static_assert(second_weight<matrix({{q4(1), q4(-0.5)}})> == q4(-0.5));
static_assert(!std::is_convertible_v<float, q7> && !std::is_convertible_v<q7, float> &&
              !std::is_convertible_v<q7, q15> && !can_add<q7, q4>);

// rounding_shift is value/2^n to nearest even, to the ends of the integer's range.
constexpr bool shift_rounds_to_nearest_even() {
  for (int n = 1; n <= 7; ++n)
    for (int value = -128; value <= 127; ++value) {
      const int twice_off = 2 * (rounding_shift(value, n) * (1 << n) - value);
      const bool tie = twice_off == 1 << n || twice_off == -(1 << n);
      if (twice_off > 1 << n || twice_off < -(1 << n)) return false;
      if (tie && rounding_shift(value, n) % 2 != 0) return false;
    }
  return true;
}
static_assert(shift_rounds_to_nearest_even());
constexpr int64_t most = std::numeric_limits<int64_t>::max();
static_assert(rounding_shift(most, 1) == int64_t{1} << 62 && rounding_shift(-most - 1, 62) == -2 &&
              rounding_shift(most, 62) == 2 && rounding_shift(most, 0) == most);

// To and from floating point: exact where it can be, else to nearest even, else saturated.
static_assert(q4(1.5).word == 24 && float{q4(1.5f)} == 1.5f && double{q31(-0.25)} == -0.25);
static_assert(q4(0x1p-5).word == 0 && q4(0x3p-5f).word == 2 && q4(-0x3p-5).word == -2 &&
              q4(0x1.00001p-5).word == 1);
static_assert(q4(100.).word == 127 && q4(-100.f).word == -128 && q4(-8.) == q4::lowest());
static_assert(q16(std::numeric_limits<float>::infinity()) == q16::largest() &&
              q16(-std::numeric_limits<double>::infinity()) == q16::lowest() &&
              q16(std::numeric_limits<double>::quiet_NaN()) == q16(0));
static_assert(q31(1.).word == 0x7fffffff && q31(0x1p-31).word == 1 && q31(5e-324).word == 0);
static_assert(q4(7) == q4(7.) && q4(8) == q4::largest() && q16(-5) == q16(-5.f) &&
              q16(std::numeric_limits<int>::min()) == q16::lowest());
static_assert(float{q31::largest()} == 1 && double{q31::largest()} == 1 - 0x1p-31,
              "31 bits to 24, and exactly");

// Between formats: exact upwards, rounded and saturated downwards.
static_assert(q15(q7(0.5)) == q15(0.5) && q7(q15(0.5)) == q7(0.5) && q4(q16(100)) == q4::largest());
static_assert(q4(q15::from_word(0x7ff)) == q4(1. / 16) && q4(q15::from_word(0x400)) == q4(0) &&
                  q4(q15::from_word(0xc00)) == q4(2. / 16) && q4(q15::from_word(-0x401)).word == -1,
              "0.9998, 1/2, 3/2 and -0.5005 units");
static_assert(q31(q7::lowest()) == q31::lowest() && q31(fixed<int32_t, 0>(1)) == q31::largest());

// + and − are exact or saturate, × rounds once, and the worst cases do not overflow.
static_assert(q7(0.5) + q7(0.25) == q7(0.75) && q7(0.5) - q7(0.75) == q7(-0.25));
static_assert(q7(0.75) + q7(0.75) == q7::largest() && q7(-0.75) - q7(0.75) == q7::lowest());
static_assert(q31::largest() + q31::largest() == q31::largest() &&
              q31::lowest() + q31::lowest() == q31::lowest());
static_assert(q7(0.5) * q7(0.5) == q7(0.25) && q7::lowest() * q7::lowest() == q7::largest());
static_assert(q31::lowest() * q31::lowest() == q31::largest() &&
              q16::lowest() * q16::largest() == q16::lowest());
static_assert(q4(0x3p-4) * q4(0.5) == q4(0x2p-4) && q4(0x1p-4) * q4(0.5) == q4(0) &&
                  q4(-0x3p-4) * q4(0.5) == q4(-0x2p-4),
              "1.5 and 0.5 units, ties to even");
static_assert(-q7(0.5) == q7(-0.5) && -q7::lowest() == q7::largest());
static_assert(q7(-1) < q7(0) && q7(0.5) >= q7(0.5) && q7(0.5) > q7(0.25) && q7(0) <= q7(0.5));

// What an int8 path accumulates: products of two bytes, exact in 32 bits.
static_assert(exact_product(q7::lowest(), q7::lowest()) == fixed<int32_t, 14>(1) &&
              exact_product(q7(0.5), q4(-3)) == fixed<int32_t, 11>(-1.5));
constexpr fixed<int32_t, 8> exact_dot(const q4 (&x)[3], const q4 (&y)[3]) {
  fixed<int32_t, 8> sum;
  for (size_t k = 0; k < 3; ++k) sum = sum + exact_product(x[k], y[k]);
  return sum;
}
constexpr q4 x[] = {q4(0.0625), q4(2.5), q4(-3)}, y[] = {q4(0.0625), q4(7), q4(6.5)};
static_assert(exact_dot(x, y) == fixed<int32_t, 8>(0x1p-8 + 17.5 - 19.5), "x.y, no bit lost");
static_assert(q4(exact_dot(x, y)) == q4(-2), "rounded at its end");

// Algebra: with integers the laws hold, as long as nothing saturates.
constexpr auto A = matrix({{q16(1), q16(-2)}, {q16(3), q16(4)}});
constexpr auto B = matrix({{q16(0), q16(5)}, {q16(-6), q16(1)}});
static_assert(A * (B * A) == (A * B) * A, "A(BA) = (AB)A");
static_assert(transpose(A * B) == transpose(B) * transpose(A), "(AB)^T = B^T A^T");

}  // namespace
