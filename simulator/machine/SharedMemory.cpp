// simulator/machine/SharedMemory.cpp - a block's shared memory, and the history
// of accesses that finds races.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/SharedMemory.h"

#include "simulator/machine/Block.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace tessera::sim {
namespace {

uint32_t infoOf(const Warp &w, uint32_t inst, uint32_t lane) {
  return inst << 11 | (w.id * Lanes + lane);
}
uint32_t threadOf(uint32_t info) { return info & 2047; }

} // namespace

void SharedMemory::resize(uint32_t newBytes, uint32_t granule) {
  assert(std::has_single_bit(granule) && "granules are powers of two");
  bytes = newBytes;
  shift = static_cast<uint32_t>(std::countr_zero(granule));
  memory.resize(bytes + 16);
  size_t cells = (size_t{bytes} >> shift) + 1;
  for (auto *array :
       {&writeStamp, &writeInfo, &readStamp, &readInfo, &readWarps})
    array->resize(cells);
  poison.resize(cells);
}

void SharedMemory::clear(bool check) {
  std::fill(memory.begin(), memory.end(), uint8_t{0xcd});
  for (auto *array : {&writeStamp, &readStamp, &readWarps})
    std::fill(array->begin(), array->end(), 0);
  std::fill(poison.begin(), poison.end(), check ? 1 : 0);
}

void SharedMemory::conflict(Warp &w, const Inst &i, uint32_t lane,
                            uint32_t cell, bool writes, bool withReader) {
  uint32_t address = cell << shift;
  uint32_t info = withReader ? readInfo[cell] : writeInfo[cell];
  uint32_t thread = threadOf(info);
  // Readers include earlier writers of the current value
  // (keepWriter).
  bool wrote =
      !withReader || w.program->code[info >> 11].kind == Class::SharedStore;
  std::string other =
      (wrote ? "written by " : "read by ") + w.block->describe(info >> 11);
  if (thread == ManyThreads)
    other += " (several lanes)";
  else
    other += " in warp " + std::to_string(thread / Lanes) + " lane " +
             std::to_string(thread % Lanes);
  Violation violation;
  violation.lane = lane;
  violation.address = address;
  violation.place = "shared + " + std::to_string(address);
  violation.history = other;
  if (!withReader && writeStamp[cell] == InFlight) {
    violation.check = Check::AsyncRead;
    violation.message =
        writes ? "writes shared memory that an asynchronous copy still fills"
               : "reads shared memory that an asynchronous copy still fills: "
                 "no cp.async.wait_group is in between";
  } else {
    violation.check = Check::SharedRace;
    // Lanes store different copies of one value. Triton's sums over lanes do
    // this if the compiler contracted their first step
    // (docs/simulator-tests.md).
    bool together = writes && !withReader && info >> 11 == i.index;
    violation.message =
        together
            ? "lanes write different values to one place of shared memory "
              "by one instruction: which one stays is left open"
            : std::string(writes ? "writes" : "reads") +
                  " shared memory that was " + (wrote ? "written" : "read") +
                  " by another thread, without a barrier between";
  }
  violate(violation);
}

// Reports a race unless the last write happened before this access.
void SharedMemory::checkWrite(Warp &w, const Inst &i, uint32_t lane,
                              uint32_t cell, bool writes) {
  uint32_t stamp = writeStamp[cell];
  if (stamp == InFlight)
    conflict(w, i, lane, cell, writes, false);
  uint32_t thread = threadOf(writeInfo[cell]);
  if (thread == w.id * Lanes + lane || stamp <= w.seen[thread / Lanes])
    return;
  conflict(w, i, lane, cell, writes, false);
}

// Reports a race unless all reads happened before this access.
void SharedMemory::checkReads(Warp &w, const Inst &i, uint32_t lane,
                              uint32_t cell) {
  uint32_t thread = threadOf(readInfo[cell]);
  if (thread == w.id * Lanes + lane)
    return;
  for (uint32_t v = 0; v < w.seen.size(); ++v)
    if ((readWarps[cell] >> v) & 1 && readStamp[cell] > w.seen[v])
      conflict(w, i, lane, cell, true, true);
}

void SharedMemory::read(Warp &w, const Inst &i, uint32_t lane, uint32_t first,
                        uint32_t length, bool collective) {
  uint32_t mine =
      collective ? i.index << 11 | ManyThreads : infoOf(w, i.index, lane);
  for (uint32_t cell = first >> shift; cell < (first + length) >> shift;
       ++cell) {
    if (writeStamp[cell] > w.floor)
      checkWrite(w, i, lane, cell, false);
    uint32_t old = readStamp[cell];
    readWarps[cell] = (old > w.floor ? readWarps[cell] : 0) | 1u << w.id;
    bool shared = old > w.floor && threadOf(readInfo[cell]) != threadOf(mine);
    readInfo[cell] = shared ? i.index << 11 | ManyThreads : mine;
    readStamp[cell] = std::max(old, w.now);
  }
}

// Records the last writer as a reader, because a store of the same value is
// about to replace it. A later store of another value must come after both, as
// it must come after all readers.
void SharedMemory::keepWriter(const Warp &w, uint32_t cell) {
  uint32_t stamp = writeStamp[cell];
  if (stamp <= w.floor)
    return;
  uint32_t thread = threadOf(writeInfo[cell]);
  bool alone = readStamp[cell] <= w.floor;
  readWarps[cell] = (alone ? 0 : readWarps[cell]) | 1u << thread / Lanes;
  readStamp[cell] = alone ? stamp : std::max(readStamp[cell], stamp);
  if (alone)
    readInfo[cell] = writeInfo[cell];
  else if (threadOf(readInfo[cell]) != thread)
    readInfo[cell] = (readInfo[cell] & ~2047u) | ManyThreads;
}

void SharedMemory::write(Warp &w, const Inst &i, uint32_t lane, uint32_t first,
                         uint32_t length, const uint8_t *data) {
  uint32_t mine = infoOf(w, i.index, lane);
  for (uint32_t cell = first >> shift; cell < (first + length) >> shift;
       ++cell) {
    bool same = false;
    if (std::max(writeStamp[cell], readStamp[cell]) > w.floor) {
      uint32_t at = cell << shift;
      same = data && writeStamp[cell] != InFlight &&
             std::memcmp(data + (at - first), memory.data() + at,
                         size_t{1} << shift) == 0;
      if (!same) {
        checkWrite(w, i, lane, cell, true);
        checkReads(w, i, lane, cell);
      }
    }
    if (same) {
      keepWriter(w, cell);
    } else {
      readStamp[cell] = 0;
      readWarps[cell] = 0;
    }
    writeStamp[cell] = w.now;
    writeInfo[cell] = mine;
  }
}

void SharedMemory::beginCopy(Warp &w, const Inst &i, uint32_t lane,
                             uint32_t first, uint32_t length) {
  write(w, i, lane, first, length, nullptr);
  for (uint32_t cell = first >> shift; cell < (first + length) >> shift; ++cell)
    writeStamp[cell] = InFlight;
}

void SharedMemory::endCopy(Warp &w, uint32_t inst, uint32_t lane,
                           uint32_t first, uint32_t length) {
  for (uint32_t cell = first >> shift; cell < (first + length) >> shift;
       ++cell) {
    writeStamp[cell] = w.now;
    writeInfo[cell] = infoOf(w, inst, lane);
  }
}

bool SharedMemory::poisoned(uint32_t first, uint32_t length) const {
  uint8_t any = 0;
  for (uint32_t cell = first >> shift; cell < (first + length) >> shift; ++cell)
    any |= poison[cell];
  return any;
}

void SharedMemory::setPoison(uint32_t first, uint32_t length, bool value) {
  for (uint32_t cell = first >> shift; cell < (first + length) >> shift; ++cell)
    poison[cell] = value;
}

} // namespace tessera::sim
