// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The small formats against the oracle's independent rounding and against 100 digits: every word,
// every middle between two numbers and what lies next to it, every pair of bytes.
#include "catch.hpp"
//
#include <array>
#include <attest/attention.hpp>
#include <attest/formats.hpp>
#include <attest/oracle/number_format.hpp>
#include <attest/softmax.hpp>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "decimal.hpp"

namespace {
using namespace attest;
using oracle::NumberFormat;
using Exact = tests::Decimal<100>;  // a sum of two bfloat16 has up to 269 bits

constexpr double infinity = std::numeric_limits<double>::infinity();

// test(T{}, format) for each small format.
template <class Test>
void for_each_format(Test test) {
  test(float16{}, oracle::formats::float16);
  test(bfloat16{}, oracle::formats::bfloat16);
  test(float8_e4m3fn{}, oracle::formats::float8_e4m3fn);
  test(float8_e5m2{}, oracle::formats::float8_e5m2);
}

template <class T>
constexpr unsigned words = 1u << (sizeof(T) * 8);

template <class T>
T from(unsigned word) {
  return T::from_word(static_cast<typename T::word_type>(word));
}

// The number expected, and no other: NaN for NaN, the sign of a zero included.
template <class T>
bool is(T found, double expected) {
  const double x{found};
  return std::isnan(expected) ? std::isnan(x)
                              : x == expected && std::signbit(x) == std::signbit(expected);
}

double round(double x, const NumberFormat& format) {
  return std::isinf(x) && !format.has_infinity ? std::numeric_limits<double>::quiet_NaN()
                                               : format.round(x);
}
double saturated(double x, const NumberFormat& format) {
  return std::fabs(format.round(x)) <= format.largest || std::isnan(x)
             ? format.round(x)
             : std::copysign(format.largest, x);
}

// An exact number rounded: the multiple of the unit below, and what is left of it, decide. A zero
// is given the sign of the double that comes with it.
double round(const Exact& exact, double sign, const NumberFormat& format) {
  const Exact magnitude = abs(exact);
  if (magnitude == 0) return std::copysign(0.0, sign);
  int exponent = ilogb(magnitude);
  if (exponent < format.min_exponent) exponent = format.min_exponent;
  const int unit = exponent - format.precision + 1;
  const Exact units = ldexp(magnitude, -unit), whole = floor(units), rest = units - whole;
  const bool odd = floor(whole / 2) * 2 != whole;
  const Exact rounded = rest > 0.5 || (rest == 0.5 && odd) ? Exact(whole + 1) : whole;
  const double result = static_cast<double>(Exact(ldexp(rounded, unit)));
  return std::copysign(result <= format.largest ? result
                       : format.has_infinity    ? infinity
                                                : std::numeric_limits<double>::quiet_NaN(),
                       sign);
}

template <class T, class Float>
bool converts(Float x, const NumberFormat& format) {
  const double exact{x};
  return is(T(x), round(exact, format)) && is(T::non_saturating(x), round(exact, format)) &&
         is(T::saturating(x), saturated(exact, format));
}

// The middles between neighbours of one sign, that beyond the largest number included.
template <class Test>
void for_each_middle(const NumberFormat& format, unsigned largest_word, int total_bits, Test test) {
  for (unsigned word = 0; word <= largest_word; ++word) {
    const double low = oracle::decode(static_cast<std::uint16_t>(word), format, total_bits);
    test(low + format.half_ulp(low), word);
  }
}

// What float arithmetic and one more rounding give is the exact result rounded once.
template <class T>
bool calculates(T a, T b, const NumberFormat& format) {
  const double x{a}, y{b};
  // Sums are exact in double but for bfloat16, products always, quotients never near a middle.
  const double sum = format.min_exponent < -100 && std::isfinite(x) && std::isfinite(y)
                         ? round(Exact(Exact(x) + Exact(y)), x + y, format)
                         : round(x + y, format);
  const double difference = format.min_exponent < -100 && std::isfinite(x) && std::isfinite(y)
                                ? round(Exact(Exact(x) - Exact(y)), x - y, format)
                                : round(x - y, format);
  return is(a + b, sum) && is(a - b, difference) && is(a * b, round(x * y, format)) &&
         is(a / b, round(x / y, format)) && (a == b) == (x == y) && (a < b) == (x < y) &&
         (a > b) == (x > y) && (a <= b) == (x <= y) && (a >= b) == (x >= y);
}
}  // namespace

TEST_CASE("every word of a small format is the number it stands for, and returns") {
  for_each_format([]<class T>(T, const NumberFormat& format) {
    CAPTURE(format.name);
    for (unsigned word = 0; word < words<T>; ++word) {
      const T x = from<T>(word);
      const double value =
          oracle::decode(static_cast<std::uint16_t>(word), format, int{sizeof(T)} * 8);
      const unsigned back = T(float{x}).word, twofold = T(double{x}).word;
      const unsigned quiet = std::isnan(value) ? word | (T::quiet_nan().word & ~1u) : word;
      if (is(x, value) && back == quiet && twofold == quiet) continue;
      CAPTURE(word, value, back, twofold);
      FAIL();
    }
  });
}

TEST_CASE("around every number and every middle, float and double become the nearest number") {
  for_each_format([]<class T>(T, const NumberFormat& format) {
    CAPTURE(format.name);
    unsigned count = 0;
    for_each_middle(
        format, T::largest().word, int{sizeof(T)} * 8, [&](double middle, unsigned word) {
          const auto narrow = static_cast<float>(middle);
          REQUIRE((double{narrow} == middle || middle > 0x1.fffffep127));
          for (const double center : {middle, double{from<T>(word)}})
            for (const double sign : {1., -1.}) {
              const double x = sign * center;
              const auto f = static_cast<float>(x);
              for (const double d : {x, std::nextafter(x, infinity), std::nextafter(x, -infinity),
                                     x * (1 + 0x1p-40), x * (1 - 0x1p-40), x * (1 + 0x1p-20)})
                if (++count; !converts<T>(d, format)) {
                  CAPTURE(d);
                  FAIL("from double");
                }
              constexpr float far = std::numeric_limits<float>::infinity();
              for (const float near : {f, std::nextafter(f, far), std::nextafter(f, -far)})
                if (++count; !converts<T>(near, format)) {
                  CAPTURE(near);
                  FAIL("from float");
                }
            }
        });
    REQUIRE(count == 36u * (T::largest().word + 1u));
  });
}

// 2^-40 off the middle, float sees the middle: of every two numbers one would be rounded to the
// wrong side on each side.
TEST_CASE("a double is not rounded by way of float") {
  for_each_format([]<class T>(T, const NumberFormat& format) {
    CAPTURE(format.name);
    unsigned wrong_through_float = 0, middles = 0;
    for_each_middle(format, T::largest().word, int{sizeof(T)} * 8, [&](double middle, unsigned) {
      for (const double x : {middle * (1 + 0x1p-40), middle * (1 - 0x1p-40)}) {
        ++middles;
        wrong_through_float += T(static_cast<float>(x)).word != T(x).word;
        if (!converts<T>(x, format)) {
          CAPTURE(x);
          FAIL();
        }
      }
    });
    REQUIRE(2 * wrong_through_float == middles);
  });
}

TEST_CASE("any float and any double becomes the nearest number") {
  for_each_format([]<class T>(T, const NumberFormat& format) {
    rc::prop("float to " + std::string(format.name), [&](std::uint32_t word) {
      RC_ASSERT(converts<T>(std::bit_cast<float>(word), format));
    });
    rc::prop("double to " + std::string(format.name), [&](std::uint64_t word) {
      RC_ASSERT(converts<T>(std::bit_cast<double>(word), format));
    });
  });
}

TEST_CASE("numbers of the format's range become what 100 digits say is nearest") {
  for_each_format([]<class T>(T, const NumberFormat& format) {
    CAPTURE(format.name);
    std::mt19937_64 generator(42);
    std::uniform_real_distribution<double> exponent(std::log2(format.smallest_subnormal()) - 2,
                                                    std::log2(format.largest) + 2);
    for (int i = 0; i < 50000; ++i) {
      const double x = std::exp2(exponent(generator)) * (generator() & 1 ? 1 : -1);
      const auto narrow = static_cast<float>(x);
      if (converts<T>(x, format) && is(T(x), round(Exact(x), x, format)) &&
          is(T(narrow), round(Exact(narrow), x, format)))
        continue;
      CAPTURE(x);
      FAIL();
    }
  });
}

TEST_CASE("an integer of any size becomes the nearest number") {
  for_each_format([]<class T>(T, const NumberFormat& format) {
    CAPTURE(format.name);
    std::mt19937_64 generator(42);
    for (int i = 0; i < 50000; ++i) {
      // Up to 64 random bits; or a middle between two numbers, and the integers next to it.
      std::uint64_t n = generator() >> (generator() % 64);
      if (i % 2 == 0) {
        const auto significand = (generator() % (std::uint64_t{1} << format.precision)) * 2 + 1;
        n = (significand << (generator() % 50)) + generator() % 3 - 1;
      }
      const auto s = static_cast<std::int64_t>(n);
      const auto small = static_cast<int>(s);
      if (is(T(n), round(Exact(n), 1, format)) &&
          is(T(s), round(Exact(s), s < 0 ? -1 : 1, format)) &&
          is(T(small), round(static_cast<double>(small), format)))
        continue;
      CAPTURE(n, s);
      FAIL();
    }
  });
}

TEST_CASE("every pair of bytes: + - * / and comparisons are exact, rounded once") {
  const auto all_pairs = []<class T>(T, const NumberFormat& format) {
    CAPTURE(format.name);
    for (unsigned a = 0; a < words<T>; ++a)
      for (unsigned b = 0; b < words<T>; ++b)
        if (!calculates(from<T>(a), from<T>(b), format)) {
          CAPTURE(a, b);
          FAIL();
        }
  };
  all_pairs(float8_e4m3fn{}, oracle::formats::float8_e4m3fn);
  all_pairs(float8_e5m2{}, oracle::formats::float8_e5m2);
}

// Where a second rounding could do harm: a sum of a number and half its unit, more or less, and a
// quotient near the middle between two numbers; and numbers as they come.
TEST_CASE("float16 and bfloat16: + - * / and comparisons are exact, rounded once") {
  const auto some_pairs = []<class T>(T, const NumberFormat& format, int count) {
    CAPTURE(format.name);
    std::mt19937_64 generator(42);
    const auto number = [&] { return from<T>(static_cast<unsigned>(generator() % words<T>)); };
    const auto verify = [&](T a, T b) {
      if (calculates(a, b, format)) return;
      CAPTURE(double{a}, double{b});
      FAIL();
    };
    for (int i = 0; i < count; ++i) {
      const T a = number(), b = number();
      verify(a, b);
      if (!(a - a == T(0)) || !(b - b == T(0))) continue;
      const T half_unit = T(format.half_ulp(double{a}) * (1 + (i % 5 - 2) * 0x1p-7));
      verify(a, half_unit);
      verify(half_unit, a);
      const double middle = double{b} + std::copysign(format.half_ulp(double{b}), double{b});
      const T quotient_near_middle = T(middle * double{a});
      verify(quotient_near_middle, a);
      verify(T(middle / double{a}), a);
    }
  };
  some_pairs(float16{}, oracle::formats::float16, 100000);
  some_pairs(bfloat16{}, oracle::formats::bfloat16, 20000);
}

TEST_CASE("a NaN keeps its sign and is quiet; arithmetic has one NaN") {
  for_each_format([]<class T>(T, const NumberFormat& format) {
    CAPTURE(format.name);
    const unsigned nan = T::quiet_nan().word, sign = words<T> / 2;
    REQUIRE(T(std::bit_cast<float>(0x7f800001u)).word == nan);
    REQUIRE(T(std::bit_cast<float>(0xffc00000u)).word == (nan | sign));
    REQUIRE(T(std::bit_cast<double>(std::uint64_t{0xfff0000000000001u})).word == (nan | sign));
    REQUIRE(T::saturating(std::bit_cast<float>(0xff800001u)).word == (nan | sign));
    REQUIRE((-T::quiet_nan()).word == (nan | sign));
    volatile float zero = 0;  // unknown to the compiler
    const T n = T(std::bit_cast<float>(0xffc12345u)), nought(float{zero});
    for (const T x : {n + n, n - T(1), T(1) * n, n / n, nought / nought, -nought / nought})
      REQUIRE(x.word == nan);
  });
  REQUIRE((float16::infinity() - float16::infinity()).word == float16::quiet_nan().word);
  REQUIRE(bfloat16::largest() + bfloat16::largest() == bfloat16::infinity());
  REQUIRE(-float8_e5m2(1) / float8_e5m2(0) == -float8_e5m2::infinity());
}

// The C library's functions err by less than 2^-48; where that leaves a doubt, 100 digits decide.
template <class T, class Function, class Double, class Exactly>
void function_rounds_once(const char* name, const NumberFormat& format, Function function,
                          Double approximate, Exactly exactly) {
  CAPTURE(name, format.name);
  for (unsigned word = 0; word < words<T>; ++word) {
    const T argument = from<T>(word);
    const double x{argument}, y = approximate(x);
    const double low = round(y * (1 - 0x1p-48), format), high = round(y * (1 + 0x1p-48), format);
    const bool sure = low == high || (std::isnan(low) && std::isnan(high));
    const double expected = sure ? low : round(exactly(Exact(x)), y, format);
    if (is(function(argument), expected)) continue;
    CAPTURE(x, y, expected);
    FAIL();
  }
}

TEST_CASE("elementary functions of every small number are rounded once") {
  for_each_format([]<class T>(T, const NumberFormat& format) {
#define ATTEST_FUNCTION(name, approximate, exactly)                                     \
  function_rounds_once<T>(                                                              \
      #name, format, [](T x) { return name(x); }, [](double x) { return approximate; }, \
      [](const Exact& x) -> Exact { return exactly; })
    ATTEST_FUNCTION(exp, std::exp(x), exp(x));
    ATTEST_FUNCTION(exp2, std::exp2(x), exp2(x));
    ATTEST_FUNCTION(log, std::log(x), log(x));
    ATTEST_FUNCTION(log2, std::log2(x), log2(x));
    ATTEST_FUNCTION(sqrt, std::sqrt(x), sqrt(x));
    ATTEST_FUNCTION(rsqrt, 1 / std::sqrt(x), 1 / sqrt(x));
    ATTEST_FUNCTION(tanh, std::tanh(x), tanh(x));
    ATTEST_FUNCTION(sin, std::sin(x), sin(x));
    ATTEST_FUNCTION(cos, std::cos(x), cos(x));
#undef ATTEST_FUNCTION
  });
}

TEST_CASE("small formats are at run time what they are at compile time") {
  constexpr auto calculate = [](auto x, int n) {
    using T = decltype(x);
    const T a(n * n * 0.0173 - 3), b(1.0f / static_cast<float>(n + 3));
    return exp(a) * b + sqrt(b) / (a - T(n)) - T(n * 37);
  };
  constexpr auto table = [calculate] {
    struct {
      float16 half[32];
      bfloat16 brain[32];
      float8_e5m2 byte[32];
    } values{};
    for (int n = 0; n < 32; ++n) {
      values.half[n] = calculate(float16{}, n);
      values.brain[n] = calculate(bfloat16{}, n);
      values.byte[n] = calculate(float8_e5m2{}, n);
    }
    return values;
  }();
  volatile int start = 0;  // unknown to the compiler
  for (int n = start; n < 32; ++n) {
    REQUIRE(table.half[n].word == calculate(float16{}, n).word);
    REQUIRE(table.brain[n].word == calculate(bfloat16{}, n).word);
    REQUIRE(table.byte[n].word == calculate(float8_e5m2{}, n).word);
  }
}

// |sum - 1| <= n·u (softmax.hpp), to first order, and half a smallest subnormal for each weight.
TEST_CASE("softmax in small formats: rows sum to one") {
  for_each_format([]<class T>(T, const NumberFormat& format) {
    rc::prop("in " + std::string(format.name), [&](std::array<std::int16_t, 6> numbers) {
      Matrix<T, 1, 6> scores;
      for (size_t j = 0; j < 6; ++j) scores[0][j] = T(numbers[j] * 0x1p-13);
      const auto p = softmax(scores);
      double sum = 0;
      for (const T weight : p[0]) sum += double{weight};
      const double u = format.unit_roundoff();
      RC_ASSERT(std::fabs(sum - 1) <= 6 * (u + 2 * u * u + format.smallest_subnormal() / 2));
    });
  });
}
