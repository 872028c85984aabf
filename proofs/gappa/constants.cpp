// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// constants NAME: the constants that NAME.g asks for, as definitions of Gappa, from the headers
// themselves: a proof is always of the tables as they are.
#include <attest/exp_tables.hpp>
#include <attest/log_tables.hpp>
#include <attest/sincos_tables.hpp>
#include <attest/sqrt.hpp>
#include <attest/tanh_tables.hpp>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace {
using Words = const std::uint64_t (&)[2];

// log.g takes |r| <= 2^-6 as given: r = c·z - 1 is linear in z, so that the ends of each of the 64
// parts of [1, 2) decide.
constexpr bool r_is_small() {
  using namespace attest::log_tables;
  for (int part = 0; part < 64; ++part)
    for (const int end : {part, part + 1}) {
      const int unit = part < first_halved ? 256 * 64 : 2 * 256 * 64;
      const int r = reciprocal[part] * (64 + end) - unit;  // r·unit
      if (r * 64 > unit || -r * 64 > unit) return false;
    }
  return true;
}
static_assert(r_is_small());

void define(const std::string& name, double value) {
  std::printf("%s = %a;\n", name.c_str(), value);
}
// word·2^-63, and the number of 128 bits times 2^-point.
void define_short(const std::string& name, Words words) {
  std::printf("%s = 0x%016llxp-63;\n", name.c_str(), static_cast<unsigned long long>(words[0]));
}
void define_wide(const std::string& name, Words words, int point = 127) {
  std::printf("%s = 0x%016llx%016llxp-%d;\n", name.c_str(),
              static_cast<unsigned long long>(words[0]), static_cast<unsigned long long>(words[1]),
              point);
}
std::string numbered(const char* name, int n) {
  return name + std::to_string(n);
}

bool print(std::string_view name) {
  using namespace attest;
  if (name == "rsqrt_start") {
    std::printf("start = 0x%016llxp-52;\n", static_cast<unsigned long long>(rsqrt_start));
  } else if (name == "log") {
    for (int n = 1; n <= 11; ++n) define_short(numbered("short", n), log_tables::one_over[n]);
    for (int n = 1; n <= 21; ++n) define_wide(numbered("wide", n), log_tables::one_over[n]);
  } else if (name == "sincos") {
    for (int n = 0; n <= 21; ++n)
      define_short(numbered("short", n), sincos_tables::one_over_factorial[n]);
    for (int n = 0; n <= 33; ++n)
      define_wide(numbered("wide", n), sincos_tables::one_over_factorial[n]);
  } else if (name == "near_exp") {
    for (int n = 0; n <= 9; ++n) define(numbered("cubic", n), exp_tables::cubic[n]);
  } else if (name == "near_exp2") {
    define("ln2_short", exp_tables::ln2_short);
    define("ln2_rest", exp_tables::ln2_rest);
    for (int n = 0; n <= 10; ++n) define(numbered("quadratic", n), exp_tables::quadratic[n]);
  } else if (name == "rough_exp2") {
    for (int n = 0; n <= 7; ++n) define(numbered("rough", n), exp_tables::rough[n]);
  } else if (name == "tanh") {
    define("ln2_high", exp_tables::ln2_high);
    define("ln2_low", exp_tables::ln2_low);
    for (int n = 0; n <= 9; ++n) define(numbered("cubic", n), exp_tables::cubic[n]);
  } else if (name == "wide_tanh") {
    for (int n = 0; n <= 6; ++n) define_wide(numbered("wide", n), tanh_tables::coefficient[n]);
  } else {
    return false;
  }
  return true;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && print(argv[1])) return 0;
  std::fputs(
      "usage: constants log | near_exp | near_exp2 | rough_exp2 | rsqrt_start | sincos | tanh | "
      "wide_tanh\n",
      stderr);
  return 2;
}
