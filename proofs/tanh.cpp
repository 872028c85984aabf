// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// tanh is tanh x rounded to nearest: odd, bounded by 1, nearly x for small x. Values in hexadecimal
// are what MPFR 4.2 rounds to.
#include <attest/tanh.hpp>
#include <limits>

namespace {
using attest::tanh;
template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();

static_assert(noexcept(tanh(1.0f)) && noexcept(tanh(1.0)));

// The ends: a softcap never exceeds its cap.
static_assert(tanh(infinity<float>) == 1 && tanh(-infinity<double>) == -1);
static_assert(tanh(9.0f) == 0x1.fffffep-1f && tanh(10.0f) == 1, "1 - 2^-24, then 1");
static_assert(tanh(19.0) == 0x1.fffffffffffffp-1 && tanh(22.0) == 1, "1 - 2^-53, then 1");
constexpr double nan = tanh(std::numeric_limits<double>::quiet_NaN());
static_assert(nan != nan);

// tanh x = x - x^3/3 + ... is x where x^3/3 is less than half a unit.
static_assert(tanh(0.0f) == 0 && tanh(0x1p-149f) == 0x1p-149f && tanh(0x1p-1074) == 0x1p-1074);
static_assert(__builtin_bit_cast(unsigned, tanh(-0.0f)) == 0x80000000, "tanh(-0) = -0");
static_assert(tanh(0x1p-13f) == 0x1p-13f && tanh(0x1p-28) == 0x1p-28);

static_assert(tanh(0.5f) == 0x1.d9353ep-2f && tanh(0.5) == 0x1.d9353d7568af3p-2);
static_assert(tanh(1.0f) == 0x1.85efacp-1f && tanh(1.0) == 0x1.85efab514f394p-1);
static_assert(tanh(3.0f) == 0x1.fd77d2p-1f && tanh(3.0) == 0x1.fd77d111a0bp-1);
static_assert(tanh(10.0) == 0x1.ffffffdc96f35p-1);
static_assert(tanh(-0x1.86fbc4p-10f) == -0x1.86fbb2p-10f, "2^-50.3 from the middle");
static_assert(tanh(0x1.0624dd2f1a9fcp-10) == 0x1.0624d77516ce2p-10);

// Odd, and never decreasing, over a grid.
template <class T>
constexpr bool odd_and_increasing() {
  for (T x = 0; x < 24; x += T(0.125))
    if (tanh(-x) != -tanh(x) || !(tanh(x) <= tanh(x + T(0.125)))) return false;
  return true;
}
static_assert(odd_and_increasing<float>() && odd_and_increasing<double>());

}  // namespace
