// runtime/sim/machine/GlobalMemory.h - host tensors with known bounds.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/sim/Sim.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tessera::sim {

struct Allocation {
  std::string name;
  uint64_t base = 0, end = 0;
  bool writable = true;
  bool isConst = false;
  // One byte for each, 1: nobody has written it. Empty: all initialized.
  std::vector<uint8_t> unwritten;
  uint32_t index = 0;
};

// Who wrote a granule last: block + 1 (0: nobody) and instruction.
struct GlobalWriter {
  uint32_t block = 0;
  uint32_t inst = 0;
};

class GlobalMemory {
public:
  // granule: bytes that every store covers whole (a power of two).
  GlobalMemory(const Memory &memory, uint32_t granule);
  void add(Allocation allocation); // before finish()
  // Throws Error when ranges overlap.
  void finish();

  // Null when no range holds the byte.
  Allocation *find(uint64_t address);
  const std::vector<Allocation> &allocations() const { return ranges; }
  // "A + 0x40 of 4096 bytes", or the nearest range below for what is outside.
  std::string describe(uint64_t address) const;

  uint32_t granuleShift() const { return shift; }
  GlobalWriter *writers(const Allocation &allocation, uint64_t address);
  // Held around the stores and atomics to a stretch of memory.
  std::mutex &lockFor(uint64_t address) {
    return locks[(address >> 12) % locks.size()];
  }

private:
  static constexpr uint64_t PageGranules = 1 << 14;
  struct Page {
    std::array<GlobalWriter, PageGranules> cells{};
  };
  struct Shadow {
    std::vector<std::atomic<Page *>> pages;
    explicit Shadow(size_t count) : pages(count) {}
    ~Shadow();
  };
  std::vector<Allocation> ranges; // by base
  std::vector<std::unique_ptr<Shadow>> shadows;
  uint32_t shift = 0;
  std::array<std::mutex, 64> locks;
};

} // namespace tessera::sim
