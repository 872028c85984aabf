// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Rounding to a format and reading its bits: against the machine's own conversions and against each
// other, exhaustively.
#include "catch.hpp"

#include <attest/oracle/number_format.hpp>

#include <cstdint>
#include <cstring>

namespace {

using namespace attest::oracle;

// bfloat16 is the upper half of a float32: round to nearest even by integer addition, an algorithm
// of its own.
double bfloat16_by_integers(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits += 0x7fff + ((bits >> 16) & 1);
  bits &= 0xffff0000u;
  std::memcpy(&x, &bits, sizeof bits);
  return static_cast<double>(x);
}

}  // namespace

TEST_CASE("every 16-bit pattern is read as a number that rounds to itself, in increasing order") {
  for (const NumberFormat& format : {formats::float16, formats::bfloat16}) {
    double before = -1;
    for (std::uint32_t bits = 0; bits < 0x8000; ++bits) {
      const double x = decode(static_cast<std::uint16_t>(bits), format, 16);
      const double negative = decode(static_cast<std::uint16_t>(bits | 0x8000), format, 16);
      if (std::isnan(x)) {
        REQUIRE(std::isnan(negative));
        continue;
      }
      REQUIRE(x > before);
      REQUIRE(negative == -x);
      REQUIRE(format.round(x) == x);
      before = x;
    }
    REQUIRE(std::isinf(before));
  }
}

TEST_CASE("known bit patterns of the 8- and 16-bit formats") {
  // IEEE 754-2019 binary16; OCP 8-bit floating point 1.0, table 1
  CHECK(decode(0x3c00, formats::float16, 16) == 1);
  CHECK(decode(0x7bff, formats::float16, 16) == 65504);
  CHECK(decode(0x0001, formats::float16, 16) == 0x1p-24);
  CHECK(decode(0x3f80, formats::bfloat16, 16) == 1);
  CHECK(decode(0x7e, formats::float8_e4m3fn, 8) == 448);
  CHECK(std::isnan(decode(0x7f, formats::float8_e4m3fn, 8)));
  CHECK(decode(0x01, formats::float8_e4m3fn, 8) == 0x1p-9);
  CHECK(decode(0x7b, formats::float8_e5m2, 8) == 57344);
  CHECK(std::isinf(decode(0x7c, formats::float8_e5m2, 8)));
  CHECK(decode(0x01, formats::float8_e5m2, 8) == 0x1p-16);
}

TEST_CASE("rounding to float32 is the machine's conversion") {
  rc::prop("any double", [] {
    const auto bits = *rc::gen::arbitrary<std::uint64_t>();
    double x;
    std::memcpy(&x, &bits, sizeof x);
    if (std::isnan(x)) return;
    const auto expected = static_cast<double>(static_cast<float>(x));
    RC_ASSERT(formats::float32.round(x) == expected);
    RC_ASSERT(formats::float32.holds(x) == (std::isfinite(x) && expected == x));
  });
  rc::prop("doubles in the range of float32, subnormal ones too", [] {
    const double x =
        std::ldexp(1.0 + static_cast<double>(*rc::gen::arbitrary<std::uint32_t>()) * 0x1p-32,
                   *rc::gen::inRange(-152, 129));
    RC_ASSERT(formats::float32.round(x) == static_cast<double>(static_cast<float>(x)));
  });
}

TEST_CASE("rounding to bfloat16 is integer addition on float32") {
  rc::prop("any float", [] {
    const auto bits = *rc::gen::arbitrary<std::uint32_t>();
    float x;
    std::memcpy(&x, &bits, sizeof x);
    if (std::isnan(x)) return;
    RC_ASSERT(formats::bfloat16.round(static_cast<double>(x)) == bfloat16_by_integers(x));
  });
}

TEST_CASE("rounding errs by at most half a unit in the last place") {
  rc::prop("for each format, in its range", [] {
    const NumberFormat format =
        *rc::gen::element(formats::float32, formats::float16, formats::bfloat16,
                          formats::float8_e5m2, formats::float8_e4m3fn);
    const double x = std::ldexp(
        1.0 + static_cast<double>(*rc::gen::arbitrary<std::uint32_t>()) * 0x1p-32,
        *rc::gen::inRange(format.min_exponent - format.precision - 2, format.max_exponent));
    const double error = std::fabs(format.round(x) - x);
    RC_ASSERT(error <= format.half_ulp(x));
    if (x >= std::ldexp(1.0, format.min_exponent)) RC_ASSERT(error <= format.unit_roundoff() * x);
  });
}

TEST_CASE("what exceeds the range") {
  CHECK(formats::float16.round(65519.99) == 65504);
  CHECK(std::isinf(formats::float16.round(65520)));
  CHECK(std::isnan(formats::float8_e4m3fn.round(480)));
  CHECK(formats::float8_e4m3fn.round(463.9) == 448);
}
