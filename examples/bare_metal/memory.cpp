// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// memcpy and memset, the two functions a freestanding compiler calls by itself, and their names in
// the run-time ABI of Arm. The empty asm keeps it from recognising the loops and making them calls
// of what they are the bodies of.
#include <stddef.h>
#include <stdint.h>

using Word [[gnu::may_alias]] = uint32_t;

extern "C" {

void* memcpy(void* to, const void* from, size_t size) {
  size_t done = 0;
  if (((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) & 3) == 0)
    for (; done + 4 <= size; done += 4) {
      static_cast<Word*>(to)[done / 4] = static_cast<const Word*>(from)[done / 4];
      __asm__ volatile("" : "+r"(done));
    }
  for (; done < size; ++done) {
    static_cast<char*>(to)[done] = static_cast<const char*>(from)[done];
    __asm__ volatile("" : "+r"(done));
  }
  return to;
}

void* memset(void* to, int value, size_t size) {
  const auto byte = static_cast<unsigned char>(value);
  size_t done = 0;
  if ((reinterpret_cast<uintptr_t>(to) & 3) == 0)
    for (; done + 4 <= size; done += 4) {
      static_cast<Word*>(to)[done / 4] = byte * 0x01010101u;
      __asm__ volatile("" : "+r"(done));
    }
  for (; done < size; ++done) {
    static_cast<unsigned char*>(to)[done] = byte;
    __asm__ volatile("" : "+r"(done));
  }
  return to;
}

#ifdef __arm__
void __aeabi_memcpy(void* to, const void* from, size_t size) {
  memcpy(to, from, size);
}
void __aeabi_memcpy4(void* to, const void* from, size_t size) {
  memcpy(to, from, size);
}
void __aeabi_memcpy8(void* to, const void* from, size_t size) {
  memcpy(to, from, size);
}
void __aeabi_memclr(void* to, size_t size) {
  memset(to, 0, size);
}
void __aeabi_memclr4(void* to, size_t size) {
  memset(to, 0, size);
}
void __aeabi_memclr8(void* to, size_t size) {
  memset(to, 0, size);
}
#endif
}
