// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Prints include/attest/sincos_tables.hpp.
#include "print.hpp"

namespace {
// floor(2/π·2^bits), by Machin's π/4 = 4·arctan(1/5) − arctan(1/239) in integers with 64 spare
// bits.
tables::cpp_int two_over_pi(unsigned bits) {
  using tables::cpp_int;
  const cpp_int one = cpp_int(1) << (2 * bits + 64);
  const auto arctan_of_one_over = [&](unsigned n) {
    cpp_int power = one / n, sum = 0;
    for (unsigned k = 1; power != 0; k += 2) {
      if (k % 4 == 1)
        sum += power / k;
      else
        sum -= power / k;
      power /= n * n;
    }
    return sum;
  };
  const cpp_int pi_over_2 = 2 * (4 * arctan_of_one_over(5) - arctan_of_one_over(239));
  return (one << bits) / pi_over_2;
}
}  // namespace

int main() {
  using namespace tables;
  std::puts(
      "// Copyright the attest authors\n"
      "// SPDX-License-Identifier: BSL-1.0\n"
      "\n"
      "// Constants of sincos.hpp, printed by tools/tables/sincos.cpp: not to be edited by hand.\n"
      "#pragma once\n"
      "#include <stdint.h>\n"
      "\n"
      "namespace attest::sincos_tables {\n"
      "\n"
      "// 2/π in words of 64 bits, truncated: the first, of weight 2^64, is 0, the rest lie "
      "behind\n"
      "// the point.\n"
      "inline constexpr uint64_t two_over_pi[22] = {\n    0,");
  const cpp_int digits = two_over_pi(21 * 64);
  for (unsigned i = 0; i < 21; ++i)
    std::printf(
        "    %s,\n",
        hex(static_cast<std::uint64_t>((digits >> (64 * (20 - i))) & ~std::uint64_t(0))).c_str());
  std::puts("};");
  const Real pi = 4 * atan(Real(1));
  std::puts("\n// π/2 times 2^127, truncated.");
  std::printf("inline constexpr uint64_t half_pi[2] = %s;\n",
              braced(words(pi / 2, 127, 2)).c_str());
  std::puts(
      "\n// 1/n! times 2^127, truncated, for n = 0 ... 33.\n"
      "inline constexpr uint64_t one_over_factorial[34][2] = {");
  for (int n = 0; n < 34; ++n)
    std::printf("    %s,\n", braced(words(1 / factorial(n), 127, 2)).c_str());
  std::puts("};\n\n}  // namespace attest::sincos_tables");
}
