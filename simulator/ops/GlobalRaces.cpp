// simulator/ops/GlobalRaces.cpp - records which thread accessed global memory,
// and reports accesses that nothing orders.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/ops/GlobalRaces.h"

#include <algorithm>
#include <cstring>

namespace tessera::sim {
namespace {

// An earlier access: its instruction and thread (`info`), and its block number
// plus 1.
struct Past {
  U32 block, info;
  const char *verb; // "written by "
  U32 thread() const { return info & 2047; }
  U32 warp() const { return thread() / Lanes; }
};

std::string describe(const Block &block, const Past &past) {
  U32 n = past.block - 1;
  std::string text = past.verb + block.describe(past.info >> 11);
  if (n == block.linear)
    return text + " in warp " + std::to_string(past.warp()) + " lane " +
           std::to_string(past.thread() % Lanes);
  const Dim3 &g = block.launch.grid;
  return text + " in block (" + std::to_string(n % g[0]) + ", " +
         std::to_string(n / g[0] % g[1]) + ", " +
         std::to_string(n / g[0] / g[1]) + ")";
}

[[noreturn]] void conflict(const Warp &w, U32 lane, U64 address,
                           const char *message, const Past &past) {
  violate({Check::GlobalConflict, lane, message, address,
           w.block->launch.memory->describe(address),
           describe(*w.block, past)});
}

U32 numberOf(const Block &block) { return static_cast<U32>(block.linear) + 1; }

U32 infoOf(const Warp &w, const Inst &i, U32 lane) {
  return i.index << 11 | (w.id * Lanes + lane);
}

// True if the store happened before the lane's current access.
bool happenedBefore(const Warp &w, U32 lane, const GlobalWriter &writer) {
  const Block &block = *w.block;
  if (!writer.block)
    return true;
  const U32 thread = writer.info & 2047;
  const bool mine = writer.block == numberOf(block);
  if (mine &&
      (thread == w.id * Lanes + lane || writer.stamp <= w.seen[thread / Lanes]))
    return true;
  const PastAccess past{writer.block, thread, writer.stamp, writer.epoch};
  const KnownEpochs &known = w.known[lane];
  ReleaseHistory &releases = block.launch.memory->releases;
  return releases.cover(past, known.acquired, false) ||
         (mine && (releases.cover(past, known.inBlock, false) ||
                   releases.cover(past, known.inBlock, true)));
}

// A store that changes a value must come after every load of the old value by
// another block. Within the block the later load reports the race, and not
// every load matters.
void checkReaders(const Warp &w, U32 lane, U64 address,
                  const GlobalReaders &readers) {
  const Block &block = *w.block;
  const auto check = [&](U32 number, U32 info, U32 epoch) {
    if (number && number != numberOf(block) && epoch >= w.known[lane].acquired)
      conflict(w, lane, address,
               "writes a place that another block has read: which value that "
               "block reads is left open",
               {number, info, "read by "});
  };
  check(readers.block, readers.info, readers.epoch);
  check(readers.earlierBlock, readers.earlierInfo, readers.earlierEpoch);
}

void checkWriter(const Warp &w, const Inst &i, U32 lane, U64 address,
                 const GlobalWriter &writer) {
  Past past{writer.block, writer.info, "written by "};
  const char *message =
      writer.block != numberOf(*w.block)
          ? "writes another value to a place that another block has written"
      : writer.info >> 11 == i.index && past.warp() == w.id
          ? "lanes write different values to one place: which one stays is "
            "left open"
          : "writes another value to a place that another thread of the block "
            "has written, without a barrier between";
  conflict(w, lane, address, message, past);
}

// No thread may write memory that ld.global.nc reads while the kernel runs,
// before or after the load (PTX ISA, "ld.global.nc").
void checkNonCoherentRead(const Warp &w, U32 lane, U64 address,
                          const GlobalWriter &writer) {
  if (writer.block)
    conflict(w, lane, address,
             "reads through ld.global.nc a place that the kernel writes: the "
             "load may return an old value",
             {writer.block, writer.info, "written by "});
}

void checkNonCoherentReaders(const Warp &w, U32 lane, U64 address,
                             const GlobalReaders &readers) {
  if (readers.nonCoherentBlock)
    conflict(w, lane, address,
             "writes a place that ld.global.nc has read: the load may return "
             "an old value",
             {readers.nonCoherentBlock, readers.nonCoherentInfo, "read by "});
}

// Atomics of many threads may access one address. Plain accesses are compared
// with the last atomic, and with the last one of another block before it.
void noteStrongWrite(Warp &w, U32 lane, Allocation &allocation, U64 address,
                     GlobalWriter now) {
  GlobalMemory &memory = *w.block->launch.memory;
  GlobalWriter &writer = *memory.writers(allocation, address);
  if (writer.changed && !writer.strong && !happenedBefore(w, lane, writer))
    conflict(w, lane, address,
             writer.block == now.block
                 ? "changes a place that another thread of the block has "
                   "written, without a barrier between"
                 : "changes a place that another block has written",
             {writer.block, writer.info, "written by "});
  if (writer.strong && writer.block != now.block)
    *memory.earlierWriters(allocation, address) = writer;
  else if (!writer.strong)
    *memory.earlierWriters(allocation, address) = {};
  now.changed = now.strong = true;
  writer = now;
}

// Checks a load of a value that another thread wrote. Returns false if that
// thread belongs to the block and nothing orders the two accesses.
bool checkLoaded(Warp &w, const Inst &i, U32 lane, U64 address,
                 const GlobalWriter &writer) {
  Block &block = *w.block;
  if (!writer.changed || happenedBefore(w, lane, writer))
    return true;
  Past past{writer.block, writer.info, "written by "};
  if (writer.block != numberOf(block))
    conflict(w, lane, address,
             "reads a place that another block has written: which value it "
             "reads is left open",
             past);
  if (block.openLoad.empty())
    block.openLoad = block.launch.memory->describe(address) + ", loaded by " +
                     block.describe(i.index) + ", " + describe(block, past);
  return false;
}

} // namespace

void noteGlobalWrite(Warp &w, const Inst &i, U32 lane, Allocation &allocation,
                     U64 address, U32 bytes, const uint8_t *before,
                     const uint8_t *after) {
  const Block &block = *w.block;
  GlobalMemory &memory = *block.launch.memory;
  bool all = block.launch.options->conflicts == GlobalConflicts::All;
  U32 granule = 1u << memory.granuleShift();
  GlobalWriter now{numberOf(block), infoOf(w, i, lane), w.now,
                   memory.releases.epoch()};
  for (U32 at = 0; at < bytes; at += granule) {
    GlobalWriter &writer = *memory.writers(allocation, address + at);
    checkNonCoherentReaders(w, lane, address + at,
                            *memory.readers(allocation, address + at));
    if (!before) {
      noteStrongWrite(w, lane, allocation, address + at, now);
      continue;
    }
    bool ordered = happenedBefore(w, lane, writer);
    now.changed =
        std::memcmp(before + at, after + at, std::min(granule, bytes - at));
    if (!ordered && (now.changed || (all && writer.block != now.block)))
      checkWriter(w, i, lane, address + at, writer);
    if (now.changed)
      checkReaders(w, lane, address + at,
                   *memory.readers(allocation, address + at));
    // A store of an equal value does not replace an earlier writer that changed
    // the value.
    if (now.changed || ordered || !writer.changed)
      writer = now;
  }
}

bool noteGlobalRead(Warp &w, const Inst &i, U32 lane, Allocation &allocation,
                    U64 address, U32 bytes) {
  if (!allocation.writable)
    return true;
  Block &block = *w.block;
  GlobalMemory &memory = *block.launch.memory;
  U32 granule = 1u << memory.granuleShift();
  U32 mine = numberOf(block), epoch = memory.releases.epoch();
  bool ordered = true;
  // A load is narrower than a granule or covers complete granules.
  for (U64 at = address; at < address + bytes; at += granule) {
    const GlobalWriter &writer = *memory.writers(allocation, at);
    if (i.nonCoherent)
      checkNonCoherentRead(w, lane, at, writer);
    ordered &= checkLoaded(w, i, lane, at, writer);
    if (writer.strong)
      ordered &=
          checkLoaded(w, i, lane, at, *memory.earlierWriters(allocation, at));
    GlobalReaders &readers = *memory.readers(allocation, at);
    if (readers.block && readers.block != mine) {
      readers.earlierBlock = readers.block;
      readers.earlierInfo = readers.info;
      readers.earlierEpoch = std::max(readers.earlierEpoch, readers.epoch);
      readers.epoch = 0;
    }
    readers.block = mine;
    readers.info = infoOf(w, i, lane);
    if (i.nonCoherent) {
      readers.nonCoherentBlock = mine;
      readers.nonCoherentInfo = readers.info;
    }
    readers.epoch = std::max(readers.epoch, epoch);
  }
  return ordered;
}

void orderGlobal(Warp &w, const Inst &i, U32 lane, U64 address) {
  if (!i.order)
    return;
  Block &block = *w.block;
  ReleaseHistory &releases = block.launch.memory->releases;
  const ReleasedAt there = releases.at(address);
  const bool narrow = i.order & BlockScope;
  // Two accesses synchronize only if the scope of each includes the other's
  // thread.
  KnownEpochs found;
  if (!narrow)
    found.acquirable = there.epoch;
  if (there.block == numberOf(block))
    found.acquirableInBlock = there.epoch;
  if (there.blockOfScope == numberOf(block))
    found.acquirableInBlock =
        std::max(found.acquirableInBlock, there.epochInBlock);
  if (i.order & Acquires)
    found.fence(true);
  w.known[lane].join(found);
  w.knowsAny |= found.acquirable || found.acquirableInBlock;
  if (i.sem == Sem::Load)
    return;
  if ((i.order & Releases) || block.fenced)
    releases.release(w, lane, address, narrow);
  else if (block.fencedInBlock)
    releases.release(w, lane, address, true);
}

} // namespace tessera::sim
