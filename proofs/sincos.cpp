// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// sin and cos are sin x and cos x rounded to nearest, whatever the size of x. Values in hexadecimal
// are what MPFR 4.2 rounds to.
#include <attest/sincos.hpp>
#include <limits>

namespace {
using attest::cos;
using attest::sin;
template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();
template <class T>
constexpr bool is_nan(T x) {
  return x != x;
}

static_assert(noexcept(sin(1.0f)) && noexcept(cos(1.0)));

static_assert(sin(0.0f) == 0 && cos(0.0f) == 1 && sin(0.0) == 0 && cos(0.0) == 1);
static_assert(__builtin_bit_cast(unsigned, sin(-0.0f)) == 0x80000000, "sin(-0) = -0");
static_assert(is_nan(sin(infinity<float>)) && is_nan(cos(-infinity<double>)));
static_assert(sin(0x1p-1074) == 0x1p-1074 && cos(0x1p-1074) == 1);

static_assert(sin(0.5f) == 0x1.eaee88p-2f && sin(0.5) == 0x1.eaee8744b05fp-2);
static_assert(cos(0.5f) == 0x1.c1528p-1f && cos(0.5) == 0x1.c1528065b7d5p-1);
static_assert(sin(1.0f) == 0x1.aed548p-1f && sin(1.0) == 0x1.aed548f090ceep-1);
static_assert(cos(1.0f) == 0x1.14a28p-1f && cos(1.0) == 0x1.14a280fb5068cp-1);
static_assert(sin(3.0f) == 0x1.210386p-3f && cos(3.0f) == -0x1.fae04cp-1f);
static_assert(sin(100.0) == -0x1.03425b78c4db8p-1 && cos(100.0) == 0x1.b981dbf665fdfp-1);

// Next to multiples of π/2 the result is what the argument lacks.
static_assert(sin(0x1.921fb54442d18p+0) == 1 && cos(0x1.921fb54442d18p+0) == 0x1.1a62633145c07p-54);
static_assert(sin(0x1.921fb54442d18p+1) == 0x1.1a62633145c07p-53 &&
              cos(0x1.921fb54442d18p+1) == -1);

// Positions as large as they come, and far beyond: all of 2/π is used.
static_assert(sin(1048576.0f) == 0x1.526cccp-2f && cos(1048576.0) == 0x1.e33ada92fe2aep-1);
static_assert(sin(0x1.33333p+13f) == -0x1.63f4bap-2f, "2^-54 from the middle");
static_assert(sin(0x1.487e0cp+103f) == 0x1.287508p-2f, "2^-54.2 from the middle");
static_assert(cos(0x1.6ac5b262ca1ffp+849) == -0x1.14ae72e6ba22fp-61, "nearly a multiple of π/2");
static_assert(sin(0x1.fffffffffffffp+1023) == 0x1.452fc98b34e97p-8);

// sin is odd, cos is even, and sin^2 + cos^2 = 1 up to two roundings in the functions, of 2^-53
// each and twice that in the squares, and one in each of the three operations: 7·2^-53.
constexpr bool identities_hold() {
  for (int n = 0; n < 100; ++n) {
    const double x = n * 0.37, s = sin(x), c = cos(x), excess = s * s + c * c - 1;
    if (sin(-x) != -s || cos(-x) != c || excess > 7 * 0x1p-53 || excess < -7 * 0x1p-53)
      return false;
  }
  return true;
}
static_assert(identities_hold());

}  // namespace
