// simulator/ops/GlobalRaces.h - who accessed global memory, and in what order.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// All of them expect that the caller holds the lock of the address
// (GlobalMemory::lockFor), and throw Violation.
#pragma once

#include "simulator/ops/Access.h"

namespace tessera::sim {

// Remembers who wrote a stretch of global memory, and compares with the last
// writer and the readers since. `before` and `after` are the bytes there (null:
// an atomic or another strong store, which may meet others of its kind).
void noteGlobalWrite(Warp &w, const Inst &i, U32 lane, Allocation &allocation,
                     U64 address, U32 bytes, const uint8_t *before,
                     const uint8_t *after);

// Records a load and compares it with the last writer. Not for strong loads.
// Memory that the launch does not write is not tracked. Returns false if
// another thread of the block has stored there and nothing orders the two. The
// loaded value is then undefined, which is an error once it is used: a lane may
// load a neighbour's location if it drops the value.
bool noteGlobalRead(Warp &w, const Inst &i, U32 lane, Allocation &allocation,
                    U64 address, U32 bytes);

// What an atomic, a strong load or a strong store of a lane orders
// (Inst::order).
void orderGlobal(Warp &w, const Inst &i, U32 lane, U64 address);

// Keeps the lock of the last address that it was asked for: accesses of a warp
// mostly lie together.
class GlobalLock {
public:
  explicit GlobalLock(GlobalMemory &memory) : memory(memory) {}
  void hold(U64 address) {
    std::mutex &wanted = memory.lockFor(address);
    if (lock.mutex() == &wanted)
      return;
    lock = {}; // one at a time: two warps could wait for each other's
    lock = std::unique_lock(wanted);
  }

private:
  GlobalMemory &memory;
  std::unique_lock<std::mutex> lock;
};

} // namespace tessera::sim
