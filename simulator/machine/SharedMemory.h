// simulator/machine/SharedMemory.h - a block's shared memory and its history.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// History is kept per granule, the narrowest access that the kernel makes to
// shared memory, so that it is exact and no bigger than needed. Every access
// carries the stamp of its warp (Warp::now); a warp knows up to which stamp
// each other warp's accesses happened before its own (Warp::seen). Two accesses
// of different threads, one of them a write, of which neither happened before
// the other, are a race.
#pragma once

#include "simulator/machine/Warp.h"

#include <cstdint>
#include <vector>

namespace tessera::sim {

class SharedMemory {
public:
  // inst << 11 | thread; ManyThreads: more than one reader.
  static constexpr uint32_t ManyThreads = 2047;
  static constexpr uint32_t InFlight = ~uint32_t{0}; // stamp: cp.async target

  void resize(uint32_t bytes, uint32_t granule);
  // All bytes uninitialized, no history. `poison`: whether reads are checked.
  void clear(bool poison);

  uint32_t size() const { return bytes; }
  uint8_t *data() { return memory.data(); }
  uint32_t granule() const { return 1u << shift; }

  // One lane's access, which lies inside; `first` + `length` are multiples of
  // the granule. They throw Violation.
  void read(Warp &w, const Inst &i, uint32_t lane, uint32_t first,
            uint32_t length, bool collective);
  // Records a write. `data` is the bytes, which are not stored yet; null:
  // unknown. Rewriting equal bytes does not conflict, but keeps the record of
  // earlier accesses.
  void write(Warp &w, const Inst &i, uint32_t lane, uint32_t first,
             uint32_t length, const uint8_t *data);
  // cp.async: the bytes from `first` on are being written; accesses before the
  // copy has completed are errors.
  void beginCopy(Warp &w, const Inst &i, uint32_t lane, uint32_t first,
                 uint32_t length);
  void endCopy(Warp &w, uint32_t inst, uint32_t lane, uint32_t first,
               uint32_t length);

  bool poisoned(uint32_t first, uint32_t length) const;
  void setPoison(uint32_t first, uint32_t length, bool value);

private:
  [[noreturn]] void conflict(Warp &w, const Inst &i, uint32_t lane,
                             uint32_t cell, bool writes, bool withReader);
  void checkWrite(Warp &w, const Inst &i, uint32_t lane, uint32_t cell,
                  bool writes);
  void checkReads(Warp &w, const Inst &i, uint32_t lane, uint32_t cell);
  void keepWriter(const Warp &w, uint32_t cell);

  uint32_t bytes = 0, shift = 0;
  std::vector<uint8_t> memory;
  std::vector<uint32_t> writeStamp, writeInfo; // per granule
  std::vector<uint32_t> readStamp, readInfo, readWarps;
  std::vector<uint8_t> poison;
};

} // namespace tessera::sim
