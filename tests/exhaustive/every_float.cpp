// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// every_float FUNCTION: the function of every one of the 2^32 floats is the one MPFR rounds to.
//
// MPFR need not be asked every time. Where a function is monotone, all results between two equal
// ones are equal. For sin and cos the C library's double decides unless it lies within 2^-45 of
// itself of the middle between two floats, a thousand times its error. Prints how many are wrong
// and the first of them; succeeds when none is.
#include <attest/exp.hpp>
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
  double (*rough)(double);  // for a function that is not monotone from 0 up and from 0 down
};

constexpr Subject subjects[] = {
    {"cos", attest::cos, mpfr_cos, [](double x) { return std::cos(x); }},
    {"exp", attest::exp, mpfr_exp, nullptr},
    {"exp2", attest::exp2, mpfr_exp2, nullptr},
    {"log", attest::log, mpfr_log, nullptr},
    {"log2", attest::log2, mpfr_log2, nullptr},
    {"rsqrt", attest::rsqrt, mpfr_rsqrt, nullptr},
    {"sqrt", attest::sqrt, mpfr_sqrt, nullptr},
    {"tanh", attest::tanh, mpfr_tanh, nullptr},
};

class Comparison {
 public:
  explicit Comparison(const Subject& subject) : subject_(subject), exact_(subject.exact) {}

  // The floats of one sign whose bits lie in [first, last].
  void range(std::uint32_t first, std::uint32_t last) {
    range(first, exact(first), last, exact(last));
  }
  std::uint64_t compared = 0;
  std::uint64_t wrong = 0;
  std::uint64_t asked = 0;

 private:
  float exact(std::uint32_t word) {
    if (subject_.rough != nullptr) {
      const double rough = subject_.rough(static_cast<double>(from_bits<float>(word)));
      const float low = static_cast<float>(rough * (1 - 0x1p-45));
      const float high = static_cast<float>(rough * (1 + 0x1p-45));
      if (low == high && std::fabs(low) >= std::numeric_limits<float>::min()) return low;
    }
    ++asked;
    return exact_(from_bits<float>(word));
  }

  void compare(std::uint32_t word, float expected) {
    ++compared;
    const float x = from_bits<float>(word);
    const float found = subject_.function(x);
    if (same_bits(found, expected)) return;
    if (++wrong <= 10)
      std::printf("%a: found %a, MPFR %a\n", static_cast<double>(x), static_cast<double>(found),
                  static_cast<double>(expected));
  }

  void range(std::uint32_t first, float at_first, std::uint32_t last, float at_last) {
    if (subject_.rough == nullptr && same_bits(at_first, at_last) &&
        !std::isnan(from_bits<float>(first))) {
      for (std::uint32_t word = first;; ++word) {
        compare(word, at_first);
        if (word == last) return;
      }
    }
    if (last - first < 2) {
      compare(first, at_first);
      if (last != first) compare(last, at_last);
      return;
    }
    const std::uint32_t middle = first + (last - first) / 2;
    range(first, at_first, middle, exact(middle));
    range(middle + 1, exact(middle + 1), last, at_last);
  }

  const Subject& subject_;
  Rounded<float> exact_;
};

}  // namespace

int main(int argc, char** argv) {
  for (const Subject& subject : subjects) {
    if (argc != 2 || subject.name != argv[1]) continue;
    Comparison comparison(subject);
    for (const std::uint32_t sign : {0u, 0x80000000u}) {
      comparison.range(sign, sign | 0x7f800000u);
      comparison.range(sign | 0x7f800001u, sign | 0x7fffffffu);
    }
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
