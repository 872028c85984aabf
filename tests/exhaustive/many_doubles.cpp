// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// many_doubles FUNCTION COUNT: the function of COUNT random doubles in each of several ranges is
// the one MPFR rounds to. many_doubles FUNCTION --file FILE: the same for the doubles listed in
// FILE, one a line as strtod reads it, with comments after #.
#include <attest/exp.hpp>
#include <attest/log.hpp>
#include <attest/sincos.hpp>
#include <attest/sqrt.hpp>
#include <attest/tanh.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "mpfr.hpp"

namespace {
using namespace tests;

struct Range {
  double low;
  double high;
};

struct Subject {
  std::string_view name;
  double (*function)(double);
  MpfrFunction* exact;
  std::vector<Range> ranges;  // uniform in each; besides these, doubles of uniform bits
};

const Subject subjects[] = {
    {"cos", attest::cos, mpfr_cos, {{-4, 4}, {-1e-3, 1e-3}, {0, 1e6}, {0, 1e18}}},
    {"exp",
     attest::exp,
     mpfr_exp,
     {{-40, 0}, {-1, 1}, {-1e-3, 1e-3}, {-0x1p-18, 0x1p-18}, {-709, 710}, {-746, -707}}},
    {"exp2", attest::exp2, mpfr_exp2, {{-40, 0}, {-1, 1}, {-1e-3, 1e-3}, {-1076, 1025}}},
    {"log", attest::log, mpfr_log, {{0, 2}, {1 - 1e-6, 1 + 1e-6}, {1, 1e6}, {0, 0x1p-1022}}},
    {"log2", attest::log2, mpfr_log2, {{0, 2}, {1 - 1e-6, 1 + 1e-6}, {1, 1e6}, {0, 0x1p-1022}}},
    {"rsqrt", attest::rsqrt, mpfr_rsqrt, {{0, 4}, {0, 1e6}, {0, 0x1p-1022}}},
    {"sin", attest::sin, mpfr_sin, {{-4, 4}, {-1e-3, 1e-3}, {0, 1e6}, {0, 1e18}}},
    {"sqrt", attest::sqrt, mpfr_sqrt, {{0, 4}, {0, 1e6}, {0, 0x1p-1022}}},
    {"tanh", attest::tanh, mpfr_tanh, {{-23, 23}, {-1, 1}, {-0x1p-9, 0x1p-9}}},
};

class Comparison {
 public:
  explicit Comparison(const Subject& subject) : subject_(subject), exact_(subject.exact) {}

  void at(double x) {
    ++compared;
    const double found = subject_.function(x), expected = exact_(x);
    if (same_bits(found, expected)) return;
    if (++wrong <= 10) std::printf("%a: found %a, MPFR %a\n", x, found, expected);
  }

  unsigned long long compared = 0;
  unsigned long long wrong = 0;

 private:
  const Subject& subject_;
  Rounded<double> exact_;
};

bool listed(Comparison& comparison, const std::string& path) {
  std::ifstream file(path);
  if (!file) return false;
  for (std::string line; std::getline(file, line);) {
    const char* text = line.c_str();
    char* end = nullptr;
    const double x = std::strtod(text, &end);
    if (end != text) comparison.at(x);
  }
  return true;
}

void random(Comparison& comparison, const Subject& subject, long long count) {
  std::mt19937_64 generator(20261129);
  for (const Range& range : subject.ranges) {
    std::uniform_real_distribution<double> x(range.low, range.high);
    for (long long i = 0; i < count; ++i) comparison.at(x(generator));
  }
  for (long long i = 0; i < count; ++i) comparison.at(from_bits<double>(generator()));
}

}  // namespace

int main(int argc, char** argv) {
  for (const Subject& subject : subjects) {
    if (argc < 3 || subject.name != argv[1]) continue;
    Comparison comparison(subject);
    if (std::string_view(argv[2]) != "--file") {
      random(comparison, subject, std::atoll(argv[2]));
    } else if (argc < 4 || !listed(comparison, argv[3])) {
      const std::string path = argc < 4 ? "" : argv[3];
      std::printf("skipped: %s\n", path.substr(path.rfind('/') + 1).c_str());
      return 0;
    }
    std::printf("%s: %llu doubles, %llu wrong\n", argv[1], comparison.compared, comparison.wrong);
    return comparison.wrong != 0 || comparison.compared == 0;
  }
  std::fputs("usage: many_doubles FUNCTION COUNT | many_doubles FUNCTION --file FILE\n", stderr);
  return 2;
}
