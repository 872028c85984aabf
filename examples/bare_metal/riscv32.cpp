// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Start-up and output of QEMU's RISC-V machine virt: text to its serial port, the exit code to its
// test device.
#include "board.hpp"

extern "C" {
extern uint32_t bss_begin, bss_end, stack_bottom, stack_top;
[[noreturn]] void start();
[[noreturn]] void fault();
}

__asm__(
    ".section .init\n"
    ".globl reset\n"
    ".option arch, +zicsr\n"
    "reset:\n"
    ".option push\n"
    ".option norelax\n"
    "  la gp, __global_pointer$\n"
    ".option pop\n"
    "  la sp, stack_top\n"
    "  la t0, fault\n"
    "  csrw mtvec, t0\n"
#ifdef __riscv_flen
    "  li t0, 0x2000\n"  // mstatus.FS: the floating-point unit is on
    "  csrs mstatus, t0\n"
#endif
    "  j start\n"
    ".text\n");

namespace {

constexpr uint32_t paint = 0xc0dec0de;

[[noreturn]] void leave(int code) {
  auto& test_device = *reinterpret_cast<volatile uint32_t*>(0x100000);
  test_device = code == 0 ? 0x5555 : static_cast<uint32_t>(code) << 16 | 0x3333;
  for (;;) {
  }
}

}  // namespace

[[gnu::aligned(4)]] void fault() {
  board::print("fault\n");
  leave(99);
}

void start() {
  for (volatile uint32_t* word = &bss_begin; word < &bss_end;) *word++ = 0;
  const uint32_t here = reinterpret_cast<uint32_t>(__builtin_frame_address(0)) - 128;
  for (volatile uint32_t* word = &stack_bottom; reinterpret_cast<uint32_t>(word) < here;)
    *word++ = paint;
  leave(board::program());
}

namespace board {

void print(const char* text) {
  auto& serial_port = *reinterpret_cast<volatile unsigned char*>(0x10000000);
  while (*text != 0) serial_port = static_cast<unsigned char>(*text++);
}

uint32_t instructions() {
  uint32_t count;
  __asm__ volatile(".option arch, +zicsr\n csrr %0, minstret" : "=r"(count));
  return count;
}

uint32_t stack_bytes() {
  const volatile uint32_t* word = &stack_bottom;
  while (*word == paint) ++word;
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&stack_top) -
                               reinterpret_cast<uintptr_t>(word));
}

}  // namespace board
