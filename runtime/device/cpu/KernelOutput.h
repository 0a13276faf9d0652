// runtime/device/cpu/KernelOutput.h - output of running kernels:
// tl.device_print and tl.device_assert.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A kernel with one of these builtins receives the address of a Callbacks after
// its arguments and calls through it. codegen/cpu/PrintAssert.cpp emits these
// calls.
#pragma once

#include "runtime/device/cpu/CpuModule.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace tessera::runtime {

class Report {
public:
  // Compiled code depends on this layout. A value is an array of `count`
  // elements of `type` ("fp32", "i64", "bf16" ...; "i1" is a byte).
  struct Callbacks {
    void (*print)(Callbacks *, const char *label, const char *type,
                  const uint32_t *pid, const void *data, int64_t count,
                  int64_t hex);
    // Reports a failed assertion; does not return. `text` is its place and
    // message; `element` is the row-major index of the element, -1 for a
    // scalar. `sides` holds the two operands of a comparison, of type `type`,
    // which is empty if the condition is not a comparison.
    void (*fail)(Callbacks *, const char *text, const uint32_t *pid,
                 int64_t element, const char *type, const void *sides);
    Report *owner;
  };

  Report();
  Report(const Report &) = delete;
  Report &operator=(const Report &) = delete;

  void *callbacks() { return &table; }
  // Runs one program. Returns false if an assertion failed in this program or
  // in an earlier one.
  bool run(CpuEntry entry, const void *args, const uint32_t pid[3],
           const uint32_t grid[3], void *scratch);
  // Throws Error if an assertion failed.
  void finish(const std::string &kernel) const;

private:
  static void print(Callbacks *, const char *label, const char *type,
                    const uint32_t *pid, const void *data, int64_t count,
                    int64_t hex);
  static void fail(Callbacks *, const char *text, const uint32_t *pid,
                   int64_t element, const char *type, const void *sides);
  void recordFailure(const char *text, const uint32_t *pid, int64_t element,
                     const char *type, const void *sides);

  Callbacks table;
  std::mutex mutex;
  std::atomic<bool> failed{false};
  std::string message;
  int64_t lines = 0, limit;
};

// Returns one element as text, or "?" for an unknown type. Does not throw.
std::string formatElement(const char *type, const void *data, int64_t index,
                          bool hex);

} // namespace tessera::runtime
