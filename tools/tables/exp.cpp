// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Prints include/attest/exp_tables.hpp.
#include "print.hpp"

namespace {
using namespace tables;

// 2^(i/count) in two floats.
void print_parts(const char* name, int count) {
  const auto part = [&](int i) { return Real(exp(ln2() * i / count)); };
  std::printf(
      "\n// 2^(i/%d) = %s[i]·(1 + %s_rest[i]), each rounded to nearest.\n"
      "inline constexpr float %s[%d] = {\n",
      count, name, name, name, count);
  for (int i = 0; i < count; ++i) std::printf("    %s,\n", hex_float(part(i)).c_str());
  std::printf("};\ninline constexpr float %s_rest[%d] = {\n", name, count);
  for (int i = 0; i < count; ++i)
    std::printf("    %s,\n", hex_float(Real(part(i) / part(i).convert_to<float>() - 1)).c_str());
  std::puts("};");
}

}  // namespace

int main() {
  std::puts(
      "// Copyright the attest authors\n"
      "// SPDX-License-Identifier: BSL-1.0\n"
      "\n"
      "// Constants of exp.hpp, printed by tools/tables/exp.cpp: not to be edited by hand.\n"
      "#pragma once\n"
      "#include <stdint.h>\n"
      "\n"
      "namespace attest::exp_tables {\n"
      "\n"
      "// log2_e is 1/ln 2 rounded to nearest. ln 2 = ln2_high + ln2_low: ln2_high a multiple of "
      "2^-44, so\n"
      "// that k·ln2_high is exact for |k| < 2^9; ln2_low the rest, rounded to nearest.");
  const Real ln2_high = truncate(ln2(), 44);
  std::printf("inline constexpr double log2_e = %s;\n", hex(1 / ln2()).c_str());
  std::printf("inline constexpr double ln2_high = %s;\n", hex(ln2_high).c_str());
  std::printf("inline constexpr double ln2_low = %s;\n", hex(Real(ln2() - ln2_high)).c_str());

  std::puts(
      "\n// 1 - log2(3/2), rounded to nearest. With k = floor(x/ln 2 + up) the reduced argument r "
      "= x - k·ln 2\n"
      "// lies between ln(3/4) and ln(3/2), so that e^r - 1 lies in [-1/4, 1/2].");
  std::printf("inline constexpr double up = %s;\n",
              hex(Real(1 - log(Real(3) / 2) / ln2())).c_str());

  // (e^r − 1 − r − r²/2)/r³ = Σ rⁿ/(n+3)!
  const auto tail = series([](int n) { return Real(1 / factorial(n + 3)); });
  const Real low = log(Real(3) / 4), high = log(Real(3) / 2);
  const auto cubic = rounded(interpolate(tail, low, high, 9));
  const double cubic_error = largest_log2(
      [&](const Real& r) { return Real((evaluate(cubic, r) - tail(r)) * r * r * r / exp(r)); }, low,
      high);
  std::printf(
      "\n// e^r = 1 + r + r^2/2 + r^3·(cubic[0] + cubic[1]·r + ... + cubic[9]·r^9) there, up to "
      "2^%.1f of e^r:\n"
      "// the polynomial through the Chebyshev points, its coefficients rounded to double.\n"
      "inline constexpr double cubic[10] = {\n",
      cubic_error);
  for (const Real& coefficient : cubic) std::printf("    %s,\n", hex(coefficient).c_str());
  std::puts("};");

  // (2^r − 1 − r·ln 2)/r² = Σ rⁿ·(ln 2)ⁿ⁺²/(n+2)!
  const auto quadratic_series =
      series([](int n) { return Real(pow(ln2(), n + 2) / factorial(n + 2)); });
  const Real low2 = low / ln2(), high2 = high / ln2();
  const auto quadratic = rounded(interpolate(quadratic_series, low2, high2, 10));
  const double quadratic_error = largest_log2(
      [&](const Real& r) {
        return Real((evaluate(quadratic, r) - quadratic_series(r)) * r * r / exp(r * ln2()));
      },
      low2, high2);
  const Real ln2_short = truncate(ln2(), 29);
  std::puts(
      "\n// ln 2 = ln2_short + ln2_rest: ln2_short of 29 bits, so that its product with a float is "
      "exact.");
  std::printf("inline constexpr double ln2_short = %s;\n", hex(ln2_short).c_str());
  std::printf("inline constexpr double ln2_rest = %s;\n", hex(Real(ln2() - ln2_short)).c_str());
  std::printf(
      "\n// 2^r = 1 + r·ln 2 + r^2·(quadratic[0] + ... + quadratic[10]·r^10) for log2(3/4) <= r <= "
      "log2(3/2),\n"
      "// up to 2^%.1f of 2^r: through the Chebyshev points, rounded to double.\n"
      "inline constexpr double quadratic[11] = {\n",
      quadratic_error);
  for (const Real& coefficient : quadratic) std::printf("    %s,\n", hex(coefficient).c_str());
  std::puts("};");

  // (2^f − 1)/f = Σ fⁿ·(ln 2)ⁿ⁺¹/(n+1)!
  const auto linear = series([](int n) { return Real(pow(ln2(), n + 1) / factorial(n + 1)); });
  const Real half = Real(1) / 2;
  const auto rough = rounded(interpolate(linear, Real(-half), half, 7));
  const double rough_error = largest_log2(
      [&](const Real& f) { return Real((evaluate(rough, f) - linear(f)) * f / exp(f * ln2())); },
      Real(-half), half);
  std::printf(
      "\n// 2^f = 1 + f·(rough[0] + ... + rough[7]·f^7) for -1/2 <= f <= 1/2, up to 2^%.1f of 2^f: "
      "through\n// the Chebyshev points, rounded to double.\n"
      "inline constexpr double rough[8] = {\n",
      rough_error);
  for (const Real& coefficient : rough) std::printf("    %s,\n", hex(coefficient).c_str());
  std::puts("};");

  // (e^r − 1 − r)/r² = Σ rⁿ/(n+2)!
  const auto second = series([](int n) { return Real(1 / factorial(n + 2)); });
  std::puts(
      "\n// ln 2 to 21 bits behind the point, and what is left, rounded to nearest: less than a "
      "hundredth of the\n// 2^-22 that may be.");
  const Real ln2_of_21_bits = floor(ldexp(ln2(), 21) + Real(1) / 2) / (1 << 21);
  std::printf("inline constexpr float ln2_of_21_bits = %s;\n", hex_float(ln2_of_21_bits).c_str());
  std::printf("inline constexpr float ln2_after_21_bits = %s;\n",
              hex_float(Real(ln2() - ln2_of_21_bits)).c_str());
  print_parts("eighth", 8);
  print_parts("thirty_second", 32);

  const auto cubic_of_eighths = rounded_to_float(interpolate(tail, -ln2() / 16, ln2() / 16, 2));
  std::printf(
      "\n// e^r = 1 + r + r^2/2 + r^3·(cubic_of_eighths[0] + ... + [2]·r^2) for |r| <= ln(2)/16,\n"
      "// up to 2^%.1f.\n"
      "inline constexpr float cubic_of_eighths[3] = {\n",
      largest_log2(
          [&](const Real& r) {
            return Real((evaluate(cubic_of_eighths, r) - tail(r)) * r * r * r);
          },
          -ln2() / 16, ln2() / 16));
  for (const Real& coefficient : cubic_of_eighths)
    std::printf("    %s,\n", hex_float(coefficient).c_str());
  std::puts("};");
  const auto square_of_thirty_seconds =
      rounded_to_float(interpolate(second, -ln2() / 64, ln2() / 64, 2));
  std::printf(
      "\n// e^r = 1 + r + r^2·(square_of_thirty_seconds[0] + ... + [2]·r^2) for |r| <= ln(2)/64,\n"
      "// up to 2^%.1f.\n"
      "inline constexpr float square_of_thirty_seconds[3] = {\n",
      largest_log2(
          [&](const Real& r) {
            return Real((evaluate(square_of_thirty_seconds, r) - second(r)) * r * r);
          },
          -ln2() / 64, ln2() / 64));
  for (const Real& coefficient : square_of_thirty_seconds)
    std::printf("    %s,\n", hex_float(coefficient).c_str());
  std::puts("};");

  std::puts(
      "\n// 64/ln 2, rounded to nearest. ln(2)/64·2^198 truncated, in words of 64 bits, the "
      "highest first.");
  std::printf("inline constexpr double log2_e_times_64 = %s;\n", hex(Real(64 / ln2())).c_str());
  std::printf("inline constexpr uint64_t ln2_over_64[3] = {\n");
  for (const auto word : words(ln2(), 192, 3)) std::printf("    %s,\n", hex(word).c_str());
  std::puts("};");

  const Real step = ln2() / 64;
  const auto square = interpolate(second, Real(0), step, 4);
  const double square_error =
      largest_log2([&](const Real& r) { return Real((evaluate(square, r) - second(r)) * r * r); },
                   Real(0), Real(step * (1 + Real(1) / 65536)));
  std::printf(
      "\n// e^r = 1 + r + r^2·(square[0] + ... + square[4]·r^4) for 0 <= r <= ln(2)/64·(1 + "
      "2^-16), up to\n"
      "// 2^%.1f: the polynomial through the Chebyshev points, each coefficient times 2^64, "
      "truncated.\n"
      "inline constexpr uint64_t square[5] = {\n",
      square_error);
  for (const Real& coefficient : square)
    std::printf("    %s,\n", hex(words(coefficient, 64, 1)[0]).c_str());
  std::puts("};");

  std::puts(
      "\n// 1/n! times 2^128, truncated, for n = 2 ... 14.\n"
      "inline constexpr uint64_t reciprocal_factorial[15][2] = {\n    {},\n    {},");
  for (int n = 2; n <= 14; ++n)
    std::printf("    %s,\n", braced(words(1 / factorial(n), 128, 2)).c_str());
  std::puts("};");

  std::puts(
      "\n// 2^(i/64) times 2^127, truncated.\n"
      "inline constexpr uint64_t power_of_two[64][2] = {");
  for (int i = 0; i < 64; ++i)
    std::printf("    %s,\n", braced(words(exp(ln2() * i / 64), 127, 2)).c_str());
  std::puts("};\n\n}  // namespace attest::exp_tables");
}
