// runtime/sim/ops/GlobalRaces.cpp - who accessed global memory, and in what
// order. Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/ops/GlobalRaces.h"

#include <algorithm>
#include <cstring>

namespace tessera::sim {
namespace {

// An access of the past: which instruction of which thread, in which block (+
// 1).
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

// Did the store happen before what this lane does now?
bool happenedBefore(const Warp &w, U32 lane, const GlobalWriter &writer) {
  const Block &block = *w.block;
  if (!writer.block || writer.epoch < block.acquired)
    return true;
  U32 thread = writer.info & 2047;
  return writer.block == numberOf(block) &&
         (thread == w.id * Lanes + lane ||
          writer.stamp <= w.seen[thread / Lanes]);
}

// A store that changes the value comes after every load of the old one by
// another block. (Within the block it is found when the load comes second; not
// every load matters.)
void checkReaders(const Warp &w, U32 lane, U64 address,
                  const GlobalReaders &readers) {
  const Block &block = *w.block;
  const auto check = [&](U32 number, U32 info, U32 epoch) {
    if (number && number != numberOf(block) && epoch >= block.acquired)
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

} // namespace

void noteGlobalWrite(Warp &w, const Inst &i, U32 lane, Allocation &allocation,
                     U64 address, U32 bytes, const uint8_t *before,
                     const uint8_t *after) {
  const Block &block = *w.block;
  GlobalMemory &memory = *block.launch.memory;
  bool all = block.launch.options->conflicts == GlobalConflicts::All;
  U32 granule = 1u << memory.granuleShift();
  GlobalWriter now{numberOf(block), infoOf(w, i, lane), w.now, memory.epoch()};
  for (U32 at = 0; at < bytes; at += granule) {
    GlobalWriter &writer = *memory.writers(allocation, address + at);
    // Atomics of many may meet, so they leave no mark.
    if (!before) {
      writer = {};
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
    // A store of the value that is there hides no earlier change of it.
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
  U32 mine = numberOf(block), epoch = memory.epoch();
  bool ordered = true;
  // A load is narrower than a granule, or a number of whole ones.
  for (U64 at = address; at < address + bytes; at += granule) {
    const GlobalWriter &writer = *memory.writers(allocation, at);
    if (writer.changed && !happenedBefore(w, lane, writer)) {
      Past past{writer.block, writer.info, "written by "};
      if (writer.block != mine)
        conflict(w, lane, at,
                 "reads a place that another block has written: which value it "
                 "reads is left open",
                 past);
      if (ordered && block.openLoad.empty())
        block.openLoad = memory.describe(at) + ", loaded by " +
                         block.describe(i.index) + ", " + describe(block, past);
      ordered = false;
    }
    GlobalReaders &readers = *memory.readers(allocation, at);
    if (readers.block && readers.block != mine) {
      readers.earlierBlock = readers.block;
      readers.earlierInfo = readers.info;
      readers.earlierEpoch = std::max(readers.earlierEpoch, readers.epoch);
      readers.epoch = 0;
    }
    readers.block = mine;
    readers.info = infoOf(w, i, lane);
    readers.epoch = std::max(readers.epoch, epoch);
  }
  return ordered;
}

void orderGlobal(Warp &w, const Inst &i, U64 address) {
  if (!i.order)
    return;
  Block &block = *w.block;
  GlobalMemory &memory = *block.launch.memory;
  U32 there = memory.releasedAt(address);
  block.acquirable = std::max(block.acquirable, there);
  if (i.order & Acquires)
    block.acquired = std::max(block.acquired, there);
  bool writes = i.sem != Sem::Load;
  if (writes && ((i.order & Releases) || block.fenced))
    memory.release(address);
}

} // namespace tessera::sim
