// runtime/device/cpu/KernelOutput.h - what running kernels print and assert.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A kernel with tl.device_print or tl.device_assert gets the address of a
// Callbacks after its arguments and calls through it;
// codegen/cpu/PrintAssert.cpp writes these calls.
#pragma once

#include "runtime/device/cpu/CpuModule.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace tessera::runtime {

class Report {
public:
  // The layout that compiled code knows. A value is an array of `count`
  // elements of `type` ("fp32", "i64", "bf16" ...; "i1" is a byte).
  struct Callbacks {
    void (*print)(Callbacks *, const char *label, const char *type,
                  const uint32_t *pid, const void *data, int64_t count,
                  int64_t hex);
    // Does not return. `text` is place and message; `element` the row-major
    // number of the element, -1 for a scalar; the two sides of a comparison
    // as `type`, which is empty when there was none.
    void (*fail)(Callbacks *, const char *text, const uint32_t *pid,
                 int64_t element, const char *type, const void *sides);
    Report *owner;
  };

  Report();
  Report(const Report &) = delete;
  Report &operator=(const Report &) = delete;

  void *callbacks() { return &table; }
  // Runs one program. False when an assertion failed, in this one or before.
  bool run(CpuEntry entry, const void *args, const uint32_t pid[3],
           const uint32_t grid[3], void *scratch);
  // Throws Error when an assertion failed.
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

// One element as text. Throws nothing; an unknown type is "?".
std::string formatElement(const char *type, const void *data, int64_t index,
                          bool hex);

} // namespace tessera::runtime
