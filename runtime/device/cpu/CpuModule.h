// runtime/device/cpu/CpuModule.h - a shared object loaded from memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/cpu/Fault.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::runtime {

// Entry point of compiled code: runs one program of a grid. `args` has one
// 8-byte slot per parameter; `scratch` is 64-byte aligned and private to the
// calling thread.
using CpuEntry = void (*)(const void *args, const uint32_t pid[3],
                          const uint32_t grid[3], void *scratch);

class CpuModule {
public:
  // Loads a shared object from memory. Throws Error if the bytes are not a
  // loadable shared object or lack the symbol.
  CpuModule(std::string_view code, const std::string &symbol);
  ~CpuModule();
  CpuModule(const CpuModule &) = delete;
  CpuModule &operator=(const CpuModule &) = delete;

  CpuEntry entry() const { return function; }
  const CodeRange &code() const { return range; }

private:
  void *handle = nullptr;
  CpuEntry function = nullptr;
  CodeRange range;
};

} // namespace tessera::runtime
