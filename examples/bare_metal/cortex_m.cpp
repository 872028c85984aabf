// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Start-up and output of a Cortex-M under QEMU: vectors, the floating-point unit, data, bss, a
// painted stack; text and exit code leave through semihosting.
#include "board.hpp"

extern "C" {
extern uint32_t data_in_flash, data_begin, data_end, bss_begin, bss_end, stack_bottom, stack_top;
[[noreturn]] void reset();
[[noreturn]] void start();
}

namespace {

constexpr uint32_t paint = 0xc0dec0de;

void semihosting(int operation, const void* argument) {
  register int r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

[[noreturn]] void leave(int code) {
  const uint32_t reason[2] = {0x20026, static_cast<uint32_t>(code)};  // application exit
  semihosting(0x20, reason);
  for (;;) {
  }
}

[[noreturn]] void fault() {
  board::print("fault\n");
  leave(99);
}

struct SysTick {
  volatile uint32_t control, reload, current;
};
SysTick& systick() {
  return *reinterpret_cast<SysTick*>(0xe000e010);
}

using Handler = void (*)();
struct Vectors {
  const uint32_t* stack;
  Handler handlers[15];
};
[[gnu::section(".vectors"), gnu::used]] const Vectors vectors{
    &stack_top, {reset, fault, fault, fault, fault, fault, fault}};

}  // namespace

// The floating-point unit is switched on before any function runs that could save its registers.
[[gnu::naked]] void reset() {
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  __asm__ volatile(
      "ldr r0, =0xe000ed88\n ldr r1, [r0]\n orr r1, r1, #0xf00000\n str r1, [r0]\n dsb\n isb\n");
#endif
  __asm__ volatile("bl start");
}

void start() {
  const uint32_t* source = &data_in_flash;
  for (uint32_t* word = &data_begin; word < &data_end;) *word++ = *source++;
  for (volatile uint32_t* word = &bss_begin; word < &bss_end;) *word++ = 0;
  const uint32_t here = reinterpret_cast<uint32_t>(__builtin_frame_address(0)) - 128;
  for (volatile uint32_t* word = &stack_bottom; reinterpret_cast<uint32_t>(word) < here;)
    *word++ = paint;
  systick().reload = 0xffffff;
  systick().current = 0;
  systick().control = 5;  // counts the processor's clock
  while (systick().current == 0) {
  }
  leave(board::program());
}

namespace board {

void print(const char* text) {
  semihosting(0x04, text);
}

// Under -icount shift=0 an instruction takes a nanosecond. The clock ticks every 40 of them, every
// 31.25 on the board of the Cortex-M55.
uint32_t instructions() {
  const uint32_t ticks = 0xffffff - systick().current;
#ifdef __ARM_FEATURE_MVE
  return ticks * 125 / 4;
#else
  return ticks * 40;
#endif
}

uint32_t stack_bytes() {
  const volatile uint32_t* word = &stack_bottom;
  while (*word == paint) ++word;
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&stack_top) -
                               reinterpret_cast<uintptr_t>(word));
}

}  // namespace board
