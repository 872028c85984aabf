// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What a program here may ask of the board it runs on.
#pragma once
#include <stdint.h>

namespace board {

int program();  // defined by the program: what the board runs after reset; 0 is success

void print(const char* text);
uint32_t instructions();  // executed so far, of which only differences mean anything
uint32_t stack_bytes();   // the most that was ever in use since reset

// What stands there may have changed, as when a sensor has written it: the compiler forgets that it
// knows.
template <class T>
void sampled(T& memory) {
  __asm__ volatile("" : : "r"(&memory) : "memory");
}

inline void print_decimal(uint32_t number) {
  char digits[11]{};
  char* first = digits + 10;
  do *--first = static_cast<char>('0' + number % 10);
  while (number /= 10);
  print(first);
}

inline void print_hexadecimal(uint64_t number) {
  char digits[17]{};
  for (int i = 0; i < 16; ++i) digits[i] = "0123456789abcdef"[number >> (60 - 4 * i) & 15];
  print(digits);
}

}  // namespace board
