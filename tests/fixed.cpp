// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Fixed-point numbers against the same operations on wide integers and in floating point with 50
// digits: every pair of bytes, the ends of the wider formats, and random numbers.
#include "catch.hpp"
//
#include <attest/fixed.hpp>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "decimal.hpp"

namespace {
using namespace attest;
using Exact = tests::Decimal<50>;

// units of 2^-F to nearest even, then the nearest word of the range.
template <class T>
typename T::word_type nearest_word(const Exact& value) {
  const Exact units = ldexp(value, T::fraction_bits), whole = floor(units), rest = units - whole;
  const bool odd = floor(whole / 2) * 2 != whole;
  const Exact rounded = rest > 0.5 || (rest == 0.5 && odd) ? Exact(whole + 1) : whole;
  using limits = std::numeric_limits<typename T::word_type>;
  if (rounded > limits::max()) return limits::max();
  if (rounded < limits::min()) return limits::min();
  return static_cast<typename T::word_type>(static_cast<std::int64_t>(rounded));
}

template <class T>
Exact value(T x) {
  return ldexp(Exact(int{x.word}), -T::fraction_bits);
}

template <class T>
bool calculates(T a, T b) {
  const Exact x = value(a), y = value(b);
  const auto quotient = y != 0   ? nearest_word<T>(x / y)
                        : x == 0 ? typename T::word_type{}
                        : x > 0  ? T::largest().word
                                 : T::lowest().word;
  return (a + b).word == nearest_word<T>(x + y) && (a - b).word == nearest_word<T>(x - y) &&
         (a / b).word == quotient && (a * b).word == nearest_word<T>(x * y) &&
         (-a).word == nearest_word<T>(-x) && (a == b) == (x == y) && (a < b) == (x < y) &&
         (a > b) == (x > y) && (a <= b) == (x <= y) && (a >= b) == (x >= y);
}

template <class T, class Float>
bool converts(Float x) {
  const auto found = T(x).word;
  if (std::isnan(x)) return found == 0;
  if (std::isinf(x)) return found == (x > 0 ? T::largest() : T::lowest()).word;
  return found == nearest_word<T>(Exact(x));
}

// test(T{}) for formats of each width, all fraction, some and none.
template <class Test>
void for_each_format(Test test) {
  test(fixed<std::int8_t, 7>{});
  test(fixed<std::int8_t, 4>{});
  test(fixed<std::int8_t, 0>{});
  test(fixed<std::int16_t, 15>{});
  test(fixed<std::int16_t, 8>{});
  test(fixed<std::int32_t, 31>{});
  test(fixed<std::int32_t, 16>{});
  test(fixed<std::int32_t, 0>{});
}

// A word of random length, or within two of an end of the range.
template <class T>
T some(std::mt19937_64& generator) {
  using Word = typename T::word_type;
  const auto bits = static_cast<std::int64_t>(generator());
  const int width = sizeof(Word) * 8;
  if (generator() % 4 == 0)
    return T::from_word(static_cast<Word>(std::numeric_limits<Word>::max() + bits % 3));
  return T::from_word(static_cast<Word>(bits >> (64 - width + static_cast<int>(generator() % 8))));
}
}  // namespace

TEST_CASE("every pair of bytes in fixed point") {
  const auto all_pairs = []<class T>(T) {
    CAPTURE(T::fraction_bits);
    for (int a = -128; a < 128; ++a)
      for (int b = -128; b < 128; ++b) {
        const auto x = T::from_word(static_cast<std::int8_t>(a));
        const auto y = T::from_word(static_cast<std::int8_t>(b));
        if (calculates(x, y) && exact_product(x, y).word == a * b) continue;
        CAPTURE(a, b);
        FAIL();
      }
  };
  all_pairs(fixed<std::int8_t, 7>{});
  all_pairs(fixed<std::int8_t, 3>{});
}

TEST_CASE("random numbers in fixed point, and those at the ends of the range") {
  for_each_format([]<class T>(T) {
    CAPTURE(sizeof(T), T::fraction_bits);
    std::mt19937_64 generator(42);
    for (int i = 0; i < 20000; ++i) {
      const T a = some<T>(generator), b = some<T>(generator);
      if (calculates(a, b)) continue;
      CAPTURE(a.word, b.word);
      FAIL();
    }
  });
}

TEST_CASE("elementary functions of every fixed-point number of 8 and 16 bits") {
  const auto every_word = []<class T>(T) {
    CAPTURE(sizeof(T), T::fraction_bits);
    using Word = typename T::word_type;
    for (int word = std::numeric_limits<Word>::min(); word <= std::numeric_limits<Word>::max();
         ++word) {
      const T a = T::from_word(static_cast<Word>(word));
      const Exact x = value(a);
      const Word logarithm = x > 0 ? nearest_word<T>(log(x)) : x == 0 ? T::lowest().word : Word{};
      if (exp(a).word == nearest_word<T>(exp(x)) && tanh(a).word == nearest_word<T>(tanh(x)) &&
          log(a).word == logarithm && sqrt(a).word == (x < 0 ? Word{} : nearest_word<T>(sqrt(x))))
        continue;
      CAPTURE(word);
      FAIL();
    }
  };
  every_word(fixed<std::int8_t, 7>{});
  every_word(fixed<std::int8_t, 4>{});
  every_word(fixed<std::int16_t, 15>{});
  every_word(fixed<std::int16_t, 8>{});
}

TEST_CASE("float and double become the nearest fixed-point number") {
  for_each_format([]<class T>(T) {
    const auto name = std::to_string(sizeof(T) * 8) + " bits, " + std::to_string(T::fraction_bits);
    rc::prop("any float to " + name,
             [](std::uint32_t word) { RC_ASSERT(converts<T>(std::bit_cast<float>(word))); });
    rc::prop("any double to " + name,
             [](std::uint64_t word) { RC_ASSERT(converts<T>(std::bit_cast<double>(word))); });
  });
}

TEST_CASE(
    "the middle between two fixed-point numbers goes to the even one, its neighbours do not") {
  for_each_format([]<class T>(T) {
    CAPTURE(sizeof(T), T::fraction_bits);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr float far = std::numeric_limits<float>::infinity();
    std::mt19937_64 generator(42);
    for (int i = 0; i < 4000; ++i) {
      const T a = some<T>(generator);
      const double middle =
          std::ldexp(a.word + 0.5 * static_cast<double>(generator() % 4), -T::fraction_bits);
      const auto narrow = static_cast<float>(middle);
      for (const double x :
           {middle, std::nextafter(middle, infinity), std::nextafter(middle, -infinity), -middle})
        if (!converts<T>(x)) {
          CAPTURE(x);
          FAIL("from double");
        }
      for (const float x : {narrow, std::nextafter(narrow, far), std::nextafter(narrow, -far)})
        if (!converts<T>(x)) {
          CAPTURE(x);
          FAIL("from float");
        }
      if (Exact(double{a}) == value(a) && float{a} == static_cast<float>(double{a}) &&
          T(double{a}) == a)
        continue;
      CAPTURE(a.word);
      FAIL("to float or double");
    }
  });
}

TEST_CASE("fixed-point numbers of one format become the nearest of another") {
  for_each_format([]<class From>(From) {
    for_each_format([]<class To>(To) {
      CAPTURE(sizeof(From), From::fraction_bits, sizeof(To), To::fraction_bits);
      std::mt19937_64 generator(42);
      for (int i = 0; i < 500; ++i) {
        const From a = some<From>(generator);
        if (To(a).word == nearest_word<To>(value(a))) continue;
        CAPTURE(a.word);
        FAIL();
      }
      const auto n = static_cast<int>(generator());
      REQUIRE(To(n).word == nearest_word<To>(Exact(n)));
    });
  });
}

TEST_CASE("rounding_shift is the quotient by a power of two, to nearest even") {
  rc::prop("of 64 bits", [](std::int64_t value) {
    const int n = *rc::gen::inRange(0, 64);
    const Exact exact = ldexp(Exact(value), -n);
    const Exact off = Exact(rounding_shift(value, n)) - exact;
    RC_ASSERT(abs(off) <= 0.5);
    RC_ASSERT(abs(off) < 0.5 || rounding_shift(value, n) % 2 == 0);
  });
  for (const std::int64_t end :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})
    for (int n = 0; n < 64; ++n)
      REQUIRE(abs(Exact(rounding_shift(end, n)) - ldexp(Exact(end), -n)) <= 0.5);
}
