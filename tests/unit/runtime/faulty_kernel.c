// tests/unit/runtime/faulty_kernel.c - a hand-written artifact: one program of
// the grid does what stops it. Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>

// Slot 0: int64 out[programs], 1 where a program went to its end; slot 1: the
// program along x that fails; slot 2: what it does; slot 3: the address that it
// reads or writes, the address of a flag that it sets while it runs, a function
// of the host that it calls, or a signal that it sends itself.
static long systemCall(long number, long a, long b) {
  __asm__ volatile("syscall"
                   : "+a"(number)
                   : "D"(a), "S"(b)
                   : "rcx", "r11", "memory");
  return number;
}

__attribute__((visibility("default"))) void
tessera_entry(const void *args, const uint32_t pid[3], const uint32_t grid[3],
              void *scratch) {
  const int64_t *slots = (const int64_t *)args;
  int64_t *out = *(int64_t *const *)args;
  if (pid[0] == (uint32_t)slots[1]) {
    if (slots[2] == 'r')
      *(volatile int64_t *)scratch = *(volatile int64_t *)slots[3];
    else if (slots[2] == 'w')
      *(volatile int64_t *)slots[3] = 1;
    else if (slots[2] == '/')
      __asm__ volatile("idivl %1" : : "a"(1), "r"(0), "d"(0));
    else if (slots[2] == 'c')
      ((void (*)(void))slots[3])();
    else if (slots[2] == 'e') // loops forever, after it set the flag
      for (*(volatile int64_t *)slots[3] = 1;;)
        __asm__ volatile("");
    else if (slots[2] == 's') // tkill(gettid(), signal)
      systemCall(200, systemCall(186, 0, 0), slots[3]);
  }
  out[pid[0] + grid[0] * pid[1]] = 1;
}
