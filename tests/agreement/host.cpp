// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The host as a board: what a program there prints goes to standard output.
#include <cstdio>

#include "board.hpp"

void board::print(const char* text) {
  std::fputs(text, stdout);
}

int main() {
  return board::program();
}
