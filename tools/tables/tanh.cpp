// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Prints include/attest/tanh_tables.hpp.
#include "print.hpp"

int main() {
  using namespace tables;
  std::puts(
      "// Copyright the attest authors\n"
      "// SPDX-License-Identifier: BSL-1.0\n"
      "\n"
      "// Constants of tanh.hpp, printed by tools/tables/tanh.cpp: not to be edited by hand.\n"
      "#pragma once\n"
      "#include <stdint.h>\n"
      "\n"
      "namespace attest::tanh_tables {\n"
      "\n"
      "// tanh x = x - x^3/3 + 2x^5/15 - ...: the magnitudes of the coefficients of x, x^3, ... "
      "x^13,\n"
      "// times 2^127, truncated.\n"
      "inline constexpr uint64_t coefficient[7][2] = {");
  // t = tanh x solves t' = 1 − t²: the coefficients c of x^(2n+1) follow from those before.
  std::vector<Real> c{Real(1)};
  for (std::size_t n = 1; n < 7; ++n) {
    Real square = 0;
    for (std::size_t i = 0; i < n; ++i) square += c[i] * c[n - 1 - i];
    c.push_back(-square / (2 * n + 1));
  }
  for (const Real& x : c) std::printf("    %s,\n", braced(words(abs(x), 127, 2)).c_str());
  std::puts("};\n\n}  // namespace attest::tanh_tables");
}
