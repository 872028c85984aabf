// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The small formats are what their standards say: the words of their extreme numbers, one rounding
// to nearest from float and from double, overflow either way, and attention that runs in them.
// Values are exact, so == is meant. Words are those of IEEE 754 and of OCP FP8, revision 1.0.
#include <attest/algebra.hpp>
#include <attest/attention.hpp>
#include <attest/formats.hpp>
#include <attest/softmax.hpp>
#include <limits>
#include <type_traits>
#include <utility>

namespace {
using namespace attest;

// Footprint: the storage and nothing else; a weight matrix of them can be a template argument.
template <class T, int bytes>
constexpr bool is_just_storage = sizeof(T) == bytes&& std::is_trivially_copyable_v<T> &&
                                 sizeof(Matrix<T, 3, 5>) == 15 * bytes;
static_assert(is_just_storage<float16, 2> && is_just_storage<bfloat16, 2>);
static_assert(is_just_storage<float8_e4m3fn, 1> && is_just_storage<float8_e5m2, 1>);
template <Matrix<float16, 1, 2> weights>
constexpr float16 second_weight = weights[0][1];
static_assert(second_weight<matrix({{float16(1), float16(-0.5)}})> == float16(-0.5));

// A conversion is written where it happens.
template <class From, class To>
constexpr bool only_explicitly =
    std::is_constructible_v<To, From> && !std::is_convertible_v<From, To>;
static_assert(only_explicitly<float, float16> && only_explicitly<double, float16>);
static_assert(only_explicitly<int, float16> && only_explicitly<float16, float>);
static_assert(only_explicitly<float16, bfloat16> && only_explicitly<float8_e5m2, float16>);
static_assert(!can_add<float16, float> && !can_add<float16, bfloat16>, "one type at a time");

// The words: 1, the largest number, the smallest normal one, the largest and the smallest subnormal
// one.
template <class T>
constexpr bool is_word(unsigned word, double x) {
  const T number = T::from_word(static_cast<typename T::word_type>(word));
  return double{number} == x && T(x).word == word && T(static_cast<float>(x)).word == word &&
         (-T(x)).word == (word | 1u << (sizeof(T) * 8 - 1)) && -number == T(-x);
}
static_assert(is_word<float16>(0x3c00, 1) && is_word<float16>(0x7bff, 65504));
static_assert(is_word<float16>(0x0400, 0x1p-14) && is_word<float16>(0x03ff, 0x3ffp-24) &&
              is_word<float16>(1, 0x1p-24));
static_assert(is_word<bfloat16>(0x3f80, 1) && is_word<bfloat16>(0x7f7f, 0xffp+120));
static_assert(is_word<bfloat16>(0x0080, 0x1p-126) && is_word<bfloat16>(0x007f, 0x7fp-133) &&
              is_word<bfloat16>(1, 0x1p-133));
static_assert(is_word<float8_e4m3fn>(0x38, 1) && is_word<float8_e4m3fn>(0x7e, 448));
static_assert(is_word<float8_e4m3fn>(0x08, 0x1p-6) && is_word<float8_e4m3fn>(0x07, 0x7p-9) &&
              is_word<float8_e4m3fn>(1, 0x1p-9));
static_assert(is_word<float8_e5m2>(0x3c, 1) && is_word<float8_e5m2>(0x7b, 57344));
static_assert(is_word<float8_e5m2>(0x04, 0x1p-14) && is_word<float8_e5m2>(0x03, 0x3p-16) &&
              is_word<float8_e5m2>(1, 0x1p-16));
static_assert(float16::largest() == float16(65504) && float8_e4m3fn::largest().word == 0x7e &&
              bfloat16::smallest_normal() == bfloat16(0x1p-126) &&
              float8_e5m2::smallest_subnormal() == float8_e5m2(0x1p-16));

// Every float8, and every 251st float16 and bfloat16: to float and double and back is the same
// word. NaNs too, where all of them are quiet.
template <class T>
constexpr bool returns(unsigned step) {
  for (unsigned w = 0; w < 1u << (sizeof(T) * 8); w += step) {
    const T x = T::from_word(static_cast<typename T::word_type>(w));
    if (x == x && (T(float(x)).word != w || T(double(x)).word != w)) return false;
  }
  return true;
}
static_assert(returns<float8_e4m3fn>(1) && returns<float8_e5m2>(1));
static_assert(returns<float16>(251) && returns<bfloat16>(251));

// Nearest, ties to even: in steps of a quarter unit above 1, and above 0.
template <class T>
constexpr bool rounds_to_nearest_even() {
  const double unit = 2 / static_cast<double>(1 << T::precision);
  const double least = double{T::smallest_subnormal()};
  constexpr int nearest[] = {0, 0, 0, 1, 1, 1, 2, 2, 2};
  for (int quarters = 0; quarters <= 8; ++quarters) {
    const double x = 1 + 0.25 * quarters * unit, tiny = 0.25 * quarters * least;
    const double rounded = 1 + nearest[quarters] * unit, small = nearest[quarters] * least;
    if (double{T(x)} != rounded || double{T(static_cast<float>(x))} != rounded) return false;
    if (double{T(-x)} != -rounded) return false;
    if (double{T(tiny)} != small || double{T(static_cast<float>(-tiny))} != -small) return false;
  }
  return true;
}
static_assert(rounds_to_nearest_even<float16>() && rounds_to_nearest_even<bfloat16>());
static_assert(rounds_to_nearest_even<float8_e4m3fn>() && rounds_to_nearest_even<float8_e5m2>());

// Once: a double just off the middle goes where it belongs; by way of float it would be the middle.
template <class T>
constexpr bool rounds_once() {
  const double unit = 2 / static_cast<double>(1 << T::precision), odd = 1 + unit;
  const double above = 1 + 0.5 * unit + 0x1p-40, below = odd + 0.5 * unit - 0x1p-40;
  return double{T(above)} == odd && double{T(static_cast<float>(above))} == 1 &&
         double{T(below)} == odd && double{T(static_cast<float>(below))} == odd + unit;
}
static_assert(rounds_once<float16>() && rounds_once<bfloat16>());
static_assert(rounds_once<float8_e4m3fn>() && rounds_once<float8_e5m2>());
static_assert(bfloat16(0x1.01p60 + 0x1p8) == bfloat16(0x1.02p60) &&
                  bfloat16((1ull << 60) + (1ull << 52) + 1) == bfloat16(0x1.02p60) &&
                  bfloat16((1ull << 60) + (1ull << 52)) == bfloat16(0x1p60) &&
                  bfloat16(-(1ll << 60) - (1ll << 52) - 1) == bfloat16(-0x1.02p60),
              "an integer of more digits than a double has");
static_assert(float16(2049) == float16(2048) && float16(2051u) == float16(2052) &&
              float16(size_t{64}) == float16(64.0) && float8_e5m2(true) == float8_e5m2(1));

// Overflow begins half a unit beyond the largest number, where a tie goes to the even side: up,
// except in e4m3fn, whose largest number is even.
constexpr double infinity = std::numeric_limits<double>::infinity();
template <class T>
constexpr bool is_nan(T x) {
  return !(x == x);
}
static_assert(float16(65519.99) == float16::largest() && float16(65520.) == float16::infinity());
static_assert(float16(-65520.f) == -float16::infinity() && float{-float16::infinity()} < -3e38f);
static_assert(bfloat16(0x1.fefffffffffffp127) == bfloat16::largest() &&
              bfloat16(0x1.ffp127) == bfloat16::infinity() &&
              bfloat16(std::numeric_limits<float>::max()) == bfloat16::infinity());
static_assert(float8_e5m2(61439.99f) == float8_e5m2(57344) &&
              float8_e5m2(61440.f) == float8_e5m2::infinity());
static_assert(float8_e4m3fn(464.f) == float8_e4m3fn(448) && is_nan(float8_e4m3fn(464.0001f)));
static_assert(float8_e4m3fn(infinity).word == 0x7f && float8_e4m3fn(-1e9f).word == 0xff);
static_assert(float8_e5m2(infinity).word == 0x7c && float8_e5m2(-infinity).word == 0xfc);

// Saturating, nothing overflows, and a NaN still is one.
template <class T>
constexpr bool saturates() {
  return T::saturating(1e30) == T::largest() && T::saturating(-1e30f) == -T::largest() &&
         T::saturating(infinity) == T::largest() && T::saturating(-infinity) == -T::largest() &&
         T::saturating(0.3) == T(0.3) && T::non_saturating(0.3f) == T(0.3f) &&
         is_nan(T::saturating(std::numeric_limits<float>::quiet_NaN()));
}
static_assert(saturates<float8_e4m3fn>() && saturates<float8_e5m2>() && saturates<float16>());
static_assert(!std::numeric_limits<float16>::is_specialized, "limits are members: no <limits>");

// Zeros, infinities and NaNs compare and calculate as in IEEE 754.
static_assert(float16(0.) == -float16(0.) && (-float16(0.)).word == 0x8000);
static_assert(float16(-1e-9).word == 0x8000 && float16(1e-9f).word == 0,
              "underflow keeps the sign");
static_assert(float16::infinity() > float16::largest() && -float16::infinity() < float16(0));
constexpr float16 nan = float16::quiet_nan();
static_assert(!(nan < nan) && !(nan >= nan) && nan != nan && !(float16(1) > nan));
static_assert(float16(1) < float16(2) && float16(2) >= float16(2) && float16(-1) <= float16(1));
static_assert(float16(std::numeric_limits<float>::quiet_NaN()).word == 0x7e00 &&
              (-float16(std::numeric_limits<double>::quiet_NaN())).word == 0xfe00);

// Each operation is rounded once: 1/3, the square of the smallest number above 1, 2048 + 1.
static_assert(float16(1) / float16(3) == float16(1. / 3) &&
              bfloat16(1) / bfloat16(3) == bfloat16(1. / 3));
static_assert(float16(0x1.004p0) * float16(0x1.004p0) == float16(0x1.008p0));
static_assert(float16(2048) + float16(1) == float16(2048) &&
              float16(2048) + float16(3) == float16(2052));
static_assert(float16(0x1p-14) - float16(0x1.004p-14) == float16(-0x1p-24), "gradual underflow");
static_assert(float8_e4m3fn(256) + float8_e4m3fn(192) == float8_e4m3fn(448) &&
              is_nan(float8_e4m3fn(448) + float8_e4m3fn(448)));
static_assert(float8_e5m2(0x1p-8) * float8_e5m2(0x1.8p-8) == float8_e5m2(0x1p-15), "1.5 to even");

// Elementary functions, rounded once: where float would not do, too.
static_assert(exp(float16(0)) == float16(1) && exp(float16(1)) == float16(0x1.5cp+1));
static_assert(exp(float16(0x1.de4p-8)) == float16(0x1.01cp0) &&
                  float16(exp(float{float16(0x1.de4p-8)})) == float16(0x1.02p0),
              "by way of float, the wrong side of a tie");
static_assert(exp(-float16::infinity()) == float16(0) && exp(float16(12)) == float16::infinity() &&
              is_nan(exp(float8_e4m3fn(7))));
static_assert(log(float16(1)) == float16(0) && exp2(bfloat16(-3)) == bfloat16(0.125) &&
              log2(float8_e5m2(0.25)) == float8_e5m2(-2) && rsqrt(float16(4)) == float16(0.5) &&
              tanh(-float16::infinity()) == float16(-1) &&
              tanh(float16(0.5)) == float16(0x1.d94p-2) &&
              cos(float8_e4m3fn(0)) == float8_e4m3fn(1) && sin(bfloat16(1)) == bfloat16(0x1.aep-1));
static_assert(sqrt(bfloat16(16)) == bfloat16(4) && sqrt(float8_e5m2(2)) == float8_e5m2(1.5) &&
              is_nan(sqrt(float16(-1))));

// Algebra: integers below 2^precision are exact, so the laws hold.
constexpr auto A = matrix<float16>({{float16(1), float16(-2)}, {float16(3), float16(4)}});
constexpr auto B = matrix<float16>({{float16(0), float16(5)}, {float16(-6), float16(1)}});
constexpr auto C = matrix<float16>({{float16(2), float16(2)}, {float16(7), float16(-1)}});
static_assert((A * B) * C == A * (B * C), "(AB)C = A(BC)");
static_assert(A * (B + C) == A * B + A * C, "A(B + C) = AB + AC");

// Attention runs in each of them: equal keys give the mean, one visible key its value.
template <class T>
constexpr bool attends() {
  const auto x = matrix({{T(1), T(0), T(-1), T(0)}, {T(1), T(0), T(-1), T(0)}});
  const auto v = matrix({{T(3), T(-4)}, {T(1), T(8)}});
  return inverse_root<T, 4> == T(0.5) &&
         attention(Query{x}, Key{x}, Value{v}) == matrix({{T(2), T(2)}, {T(2), T(2)}}) &&
         attention(Query{x}, Key{x}, Value{v}, causal) == matrix({{T(3), T(-4)}, {T(2), T(2)}}) &&
         softmax(matrix({{T(9), T(9)}})) == matrix({{T(0.5), T(0.5)}});
}
static_assert(attends<float16>() && attends<bfloat16>());
static_assert(attends<float8_e4m3fn>() && attends<float8_e5m2>());

// 1/√d is the nearest number of the format, also of a d that the format does not hold: d·m² is
// below 1 for the middle m of it and the number before, above 1 for that of it and the next. These
// products have no more than 53 bits.
template <class T>
constexpr bool is_nearest_to_inverse_root(T x, size_t d) {
  const auto product_at_middle = [&](int step) {
    const auto neighbour =
        T::from_word(static_cast<typename T::word_type>(static_cast<int>(x.word) + step));
    const double m = (static_cast<double>(x) + static_cast<double>(neighbour)) / 2;
    return static_cast<double>(d) * m * m;
  };
  return product_at_middle(-1) < 1 && product_at_middle(1) > 1;
}
template <class T, size_t... d>
constexpr bool has_inverse_roots(std::index_sequence<d...>) {
  return (is_nearest_to_inverse_root(inverse_root<T, d + 1>, d + 1) && ...);
}
template <class T>
constexpr bool has_all_inverse_roots =
    has_inverse_roots<T>(std::make_index_sequence<96>{}) &&
    has_inverse_roots<T>(std::index_sequence<447, 463, 464, 575, 4095, 65519, 99999>{});
static_assert(has_all_inverse_roots<float16> && has_all_inverse_roots<bfloat16> &&
                  has_all_inverse_roots<float8_e4m3fn> && has_all_inverse_roots<float8_e5m2>,
              "S7: 1/sqrt(d) in every small format, whatever the width");

}  // namespace
