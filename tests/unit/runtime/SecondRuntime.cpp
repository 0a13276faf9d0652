// tests/unit/runtime/SecondRuntime.cpp - a library with a runtime of its own,
// as libtessera_torch.so is.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/CpuModule.h"

#include <string>

// What the kernel `entry` of a shared object stores.
extern "C" __attribute__((visibility("default"))) int
answerOfSecondRuntime(const char *code, size_t bytes) {
  const tessera::runtime::CpuModule module({code, bytes}, "entry");
  int answer = 0;
  int *const args[] = {&answer};
  const uint32_t pid[3] = {0, 0, 0}, grid[3] = {1, 1, 1};
  module.entry()(args, pid, grid, nullptr);
  return answer;
}
