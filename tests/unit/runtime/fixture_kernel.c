// tests/unit/runtime/fixture_kernel.c - a hand-written artifact: records what
// it was given. Copyright the tessera authors. SPDX-License-Identifier:
// Apache-2.0
#include <stdint.h>

// Slot 0: int64 out[programs][6]; slots 1 and 2 are copied as they are.
__attribute__((visibility("default"))) void
tessera_entry(const void *args, const uint32_t pid[3], const uint32_t grid[3],
              void *scratch) {
  const int64_t *slots = (const int64_t *)args;
  int64_t *out = *(int64_t *const *)args;
  int64_t index = ((int64_t)pid[2] * grid[1] + pid[1]) * grid[0] + pid[0];
  out += 6 * index;
  out[0] += 1;
  out[1] = pid[0];
  out[2] = pid[1] + 1000 * (int64_t)pid[2];
  out[3] = slots[1];
  out[4] = slots[2];
  out[5] = (int64_t)((uintptr_t)scratch % 64);
  *(volatile int64_t *)((char *)scratch + 992) = index; // 1000 bytes are ours
}
