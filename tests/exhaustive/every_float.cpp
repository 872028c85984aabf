// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// every_float FUNCTION: the function of every one of the 2^32 floats is the one MPFR rounds to.
//
// MPFR need not be asked every time: the C library's double decides unless it lies within 2^-45 of
// itself of the middle between two floats, a hundred times its error, or is subnormal as a float.
// Prints how many are wrong and the first of them; succeeds when none is.
#include <attest/exp.hpp>
#include <attest/lanes.hpp>
#include <attest/log.hpp>
#include <attest/sincos.hpp>
#include <attest/sqrt.hpp>
#include <attest/tanh.hpp>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string_view>

#include "mpfr.hpp"

namespace {
using namespace tests;

struct Subject {
  std::string_view name;
  float (*function)(float);
  MpfrFunction* exact;
  double (*rough)(double);
};

// What softmax calls, for a whole row of one number. It asks for numbers that are not above 0.
float exp_in_row(float x) {
  if (x > 0) return attest::exp(x);
  float row[attest::lanes];
  for (float& entry : row) entry = x;
  attest::exp_side_by_side<attest::lanes>(row, 0);
  return row[0];
}

constexpr Subject subjects[] = {
    {"cos", attest::cos, mpfr_cos, [](double x) { return std::cos(x); }},
    {"exp", attest::exp, mpfr_exp, [](double x) { return std::exp(x); }},
    {"exp2", attest::exp2, mpfr_exp2, [](double x) { return std::exp2(x); }},
    {"exp2_in_doubt", attest::exp2_in_doubt, mpfr_exp2, [](double x) { return std::exp2(x); }},
    {"exp_in_doubt", attest::exp_in_doubt, mpfr_exp, [](double x) { return std::exp(x); }},
    {"exp_in_row", exp_in_row, mpfr_exp, [](double x) { return std::exp(x); }},
    {"log", attest::log, mpfr_log, [](double x) { return std::log(x); }},
    {"log2", attest::log2, mpfr_log2, [](double x) { return std::log2(x); }},
    {"rsqrt", attest::rsqrt, mpfr_rsqrt, [](double x) { return 1 / std::sqrt(x); }},
    {"sin", attest::sin, mpfr_sin, [](double x) { return std::sin(x); }},
    {"sqrt", attest::sqrt, mpfr_sqrt, [](double x) { return std::sqrt(x); }},
    {"tanh", attest::tanh, mpfr_tanh, [](double x) { return std::tanh(x); }},
};

class Comparison {
 public:
  explicit Comparison(const Subject& subject) : subject_(subject), exact_(subject.exact) {}

  void at(std::uint32_t word) {
    ++compared;
    const float x = from_bits<float>(word);
    const float found = subject_.function(x), expected = exact(x);
    if (same_bits(found, expected)) return;
    if (++wrong <= 10)
      std::printf("%a: found %a, MPFR %a\n", static_cast<double>(x), static_cast<double>(found),
                  static_cast<double>(expected));
  }

  std::uint64_t compared = 0;
  std::uint64_t wrong = 0;
  std::uint64_t asked = 0;

 private:
  float exact(float x) {
    const double rough = subject_.rough(static_cast<double>(x));
    const float low = static_cast<float>(rough * (1 - 0x1p-45));
    const float high = static_cast<float>(rough * (1 + 0x1p-45));
    if (low == high) {
      if (std::fabs(low) >= std::numeric_limits<float>::min()) return low;
      if (std::fabs(rough) < 0x1p-151) return low;  // ±0
    }
    ++asked;
    return exact_(x);
  }

  const Subject& subject_;
  Rounded<float> exact_;
};

}  // namespace

int main(int argc, char** argv) {
  for (const Subject& subject : subjects) {
    if (argc != 2 || subject.name != argv[1]) continue;
    Comparison comparison(subject);
    std::uint32_t word = 0;
    do comparison.at(word);
    while (++word != 0);
    std::printf("%s: %llu floats, %llu wrong, MPFR asked %llu times\n", argv[1],
                static_cast<unsigned long long>(comparison.compared),
                static_cast<unsigned long long>(comparison.wrong),
                static_cast<unsigned long long>(comparison.asked));
    std::printf("fingerprint of all: 0x%016llx\n",
                static_cast<unsigned long long>(fingerprint(subject.function, 1)));
    return comparison.wrong != 0 || comparison.compared != std::uint64_t{1} << 32;
  }
  std::fputs("usage: every_float FUNCTION, one of", stderr);
  for (const Subject& subject : subjects) std::fprintf(stderr, " %s", subject.name.data());
  std::fputs("\n", stderr);
  return 2;
}
