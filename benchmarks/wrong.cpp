// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// wrong STRIDE: how many results of exp are not the nearest float, over every STRIDE-th of the 2^32
// floats, and how many not the nearest double, over a million doubles from -20 to 0.
//
// As in tests/exhaustive/every_float.cpp the C library's double decides where it can, MPFR
// elsewhere; results that are no number are not compared.
#include <attest/exp.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#ifdef ATTEST_HAS_GCEM
#include <gcem.hpp>
#endif

#include "exhaustive/mpfr.hpp"

namespace {
using namespace tests;

template <class T>
struct Wrong {
  unsigned long long asked = 0, attest = 0, libc = 0, gcem = 0;

  void at(T x, T nearest) {
    ++asked;
    attest += attest::exp(x) != nearest;
    libc += std::exp(x) != nearest;
#ifdef ATTEST_HAS_GCEM
    gcem += gcem::exp(x) != nearest;
#endif
  }
  void print(const char* what) const {
    std::printf("%-8s %10llu asked: attest %llu, glibc %llu, ", what, asked, attest, libc);
#ifdef ATTEST_HAS_GCEM
    std::printf("gcem %llu\n", gcem);
#else
    std::printf("skipped: gcem\n");
#endif
  }
};

void floats(std::uint64_t stride) {
  Rounded<float> exact(mpfr_exp);
  Wrong<float> wrong;
  for (std::uint64_t word = 0; word < std::uint64_t{1} << 32; word += stride) {
    const float x = from_bits<float>(static_cast<std::uint32_t>(word));
    if (std::isnan(x)) continue;
    const double rough = std::exp(static_cast<double>(x));
    const float low = static_cast<float>(rough * (1 - 0x1p-45));
    const float high = static_cast<float>(rough * (1 + 0x1p-45));
    const bool decided = low == high && low >= std::numeric_limits<float>::min();
    wrong.at(x, decided ? low : exact(x));
  }
  wrong.print("float");
}

void doubles(int count) {
  Rounded<double> exact(mpfr_exp);
  Wrong<double> wrong;
  std::uint64_t state = 1;
  for (int i = 0; i < count; ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    const double x = -20 * 0x1p-53 * static_cast<double>(state >> 11);
    wrong.at(x, exact(x));
  }
  wrong.print("double");
}
}  // namespace

int main(int argc, char** argv) {
  const long stride = argc == 2 ? std::atol(argv[1]) : 0;
  if (stride <= 0) {
    std::fputs("usage: wrong STRIDE\n", stderr);
    return 2;
  }
  floats(static_cast<std::uint64_t>(stride));
  doubles(1000000);
}
