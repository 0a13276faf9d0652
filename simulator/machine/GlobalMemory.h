// simulator/machine/GlobalMemory.h - host tensors with known bounds.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/Sim.h"
#include "simulator/machine/ReleaseHistory.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tessera::sim {

// "0x7f00", as addresses are printed.
std::string hex(uint64_t value);

struct Allocation {
  std::string name;
  uint64_t base = 0, end = 0;
  bool writable = true;
  bool atomics = false; // may write, though not writable
  bool isConst = false;
  // One byte per byte of the range; 1: not written yet. Empty: all initialized.
  std::vector<uint8_t> unwritten;
  uint32_t index = 0;
};

// The last writer of a granule, and its time.
struct GlobalWriter {
  uint32_t block = 0;   // + 1; 0: none
  uint32_t info = 0;    // inst << 11 | thread, as in SharedMemory
  uint32_t stamp = 0;   // Warp::now
  uint32_t epoch = 0;   // ReleaseHistory::epoch
  bool changed = false; // the store left another value than it found
  bool strong = false;  // an atomic, or another that may meet its like
};

// The blocks that have loaded a granule: the last one, and all earlier ones
// merged.
struct GlobalReaders {
  uint32_t block = 0; // + 1; 0: none
  uint32_t info = 0;  // of its last load: inst << 11 | thread
  uint32_t epoch = 0; // the largest
  uint32_t earlierBlock = 0, earlierInfo = 0, earlierEpoch = 0;
  // The last load by ld.global.nc, as block and info.
  uint32_t nonCoherentBlock = 0, nonCoherentInfo = 0;
};

class GlobalMemory {
public:
  // granule: bytes that every store covers whole (a power of two).
  GlobalMemory(const Memory &memory, uint32_t granule);
  void add(Allocation allocation); // before finish()
  // Completes the list of ranges. Throws Error if ranges overlap.
  void finish();

  // Returns the range that contains the byte, or null.
  Allocation *find(uint64_t address);
  const std::vector<Allocation> &allocations() const { return ranges; }
  // "A + 0x40 of 4096 bytes", or the nearest range below for what is outside.
  std::string describe(uint64_t address) const;

  uint32_t granuleShift() const { return shift; }
  GlobalWriter *writers(const Allocation &allocation, uint64_t address);
  GlobalReaders *readers(const Allocation &allocation, uint64_t address);
  // Of a granule whose last writer is strong: one of another block before it.
  GlobalWriter *earlierWriters(const Allocation &allocation, uint64_t address);

  // Those of an address with the lock of the address held.
  ReleaseHistory releases;

  // Returns the lock that is held during stores and atomics to an address
  // range.
  std::mutex &lockFor(uint64_t address) {
    return locks[(address >> 12) % locks.size()];
  }

private:
  static constexpr uint64_t PageGranules = 1 << 14;
  // A cell for each granule of an allocation, made page by page.
  template <class Cell>
  struct Shadow {
    using Page = std::array<Cell, PageGranules>;
    std::vector<std::atomic<Page *>> pages;
    explicit Shadow(size_t count) : pages(count) {}
    ~Shadow() {
      for (auto &page : pages)
        delete page.load();
    }
    Cell *at(uint64_t granule);
  };
  uint64_t granuleOf(const Allocation &allocation, uint64_t address) const {
    return (address - (allocation.base & ~((uint64_t{1} << shift) - 1))) >>
           shift;
  }

  std::vector<Allocation> ranges; // by base
  std::vector<std::unique_ptr<Shadow<GlobalWriter>>> writerCells, earlierCells;
  std::vector<std::unique_ptr<Shadow<GlobalReaders>>> readerCells;
  uint32_t shift = 0;
  std::array<std::mutex, 64> locks;
};

} // namespace tessera::sim
