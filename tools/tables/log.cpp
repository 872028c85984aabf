// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Prints include/attest/log_tables.hpp.
#include "print.hpp"

int main() {
  using namespace tables;
  std::puts(
      "// Copyright the attest authors\n"
      "// SPDX-License-Identifier: BSL-1.0\n"
      "\n"
      "// Constants of log.hpp, printed by tools/tables/log.cpp: not to be edited by hand.\n"
      "#pragma once\n"
      "#include <stdint.h>\n"
      "\n"
      "namespace attest::log_tables {\n"
      "\n"
      "// From this of the 64 parts of [1, 2) on, numbers are halved, so that all lie around 1.\n"
      "inline constexpr int first_halved = 27;\n"
      "\n"
      "// 256/z for z in the middle of each part, rounded to nearest; 256 itself on either side of "
      "1.\n"
      "inline constexpr uint16_t reciprocal[64] = {");
  std::vector<int> reciprocal;
  for (int i = 0; i < 64; ++i) {
    const double middle = (1 + (i + 0.5) / 64) / (i < 27 ? 1 : 2);
    reciprocal.push_back(i == 0 || i == 63 ? 256 : static_cast<int>(256 / middle + 0.5));
    std::printf("%s%d,%s", i % 16 ? " " : "    ", reciprocal.back(), i % 16 == 15 ? "\n" : "");
  }
  std::puts("};");

  std::puts("\n// 1/n times 2^127, truncated, for n = 1 ... 21.");
  std::puts("inline constexpr uint64_t one_over[22][2] = {\n    {},");
  for (int n = 1; n <= 21; ++n)
    std::printf("    %s,\n", braced(words(Real(1) / n, 127, 2)).c_str());
  std::puts("};");

  std::puts(
      "\n// The constants of a base: 1/ln(base) times 2^127, log(2) times 2^116, and 1 - log(c) "
      "times\n"
      "// 2^126 for each c = reciprocal/256; all truncated.\n"
      "struct Base {\n"
      "  uint64_t one_over_ln[2];\n"
      "  uint64_t log_2[2];\n"
      "  uint64_t one_minus_log[64][2];\n"
      "};");
  struct {
    const char* name;
    Real ln;
  } bases[] = {{"e", Real(1)}, {"two", ln2()}};
  for (const auto& base : bases) {
    std::printf("inline constexpr Base %s = {\n", base.name);
    std::printf("    %s,\n", braced(words(1 / base.ln, 127, 2)).c_str());
    std::printf("    %s,\n    {\n", braced(words(ln2() / base.ln, 116, 2)).c_str());
    for (const int c : reciprocal)
      std::printf("        %s,\n", braced(words(1 - log(Real(c) / 256) / base.ln, 126, 2)).c_str());
    std::puts("    },\n};");
  }
  std::puts("\n}  // namespace attest::log_tables");
}
