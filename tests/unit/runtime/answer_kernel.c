/* tests/unit/runtime/answer_kernel.c - a loaded kernel: stores ANSWER. */
/* Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

void entry(const void *args, const uint32_t pid[3], const uint32_t grid[3],
           void *scratch) {
  (void)pid;
  (void)grid;
  (void)scratch;
  **(int *const *)args = ANSWER;
}
