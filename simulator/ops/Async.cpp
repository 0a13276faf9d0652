// simulator/ops/Async.cpp - cp.async: copies that write their destination at
// the wait.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The destination is written when the thread that issued the copy has waited
// for its group; any access before then is an error. A GPU may read the source
// at any time in between. The simulator reads it at the wait or, with
// Options::copiesReadAtIssue, at the issue. A source that changes in between is
// an error.
//
//      cp.async dst, src    source may be read from here ...
//      cp.async.commit
//      ...                  access to dst, or store to src: error
//      cp.async.wait        ... until here; dst is written
#include "simulator/ops/GlobalRaces.h"

#include "simulator/machine/Lanes.h"
#include "simulator/machine/Select.h"

namespace tessera::sim {
namespace {

// op: shared address, global address, source size (or NoRow). imm: offset of
// the shared address. mode, mode2: unused. count: bytes.
void copyOp(Warp &w, const Inst &i, U32 mask) {
  Inst part = i;
  part.space = MemSpace::Shared;
  part.wideAddress = i.flag;
  part.imm = static_cast<int32_t>(i.target);
  Access to, from;
  to.bytes = i.count;
  to.writes = true;
  addressesOf(w, part, mask, i.op[0], to);
  for (U32 l = 0; l < Lanes; ++l)
    if ((to.address[l] & WindowMask) == SharedWindow)
      to.address[l] -= SharedWindow;
  checkShared(w, i, mask, to.address, i.count, i.count, true);
  countCopy(w, i, mask, to.address, i.count);
  // Lanes that read nothing do not need a valid global address.
  U32 reading = mask;
  U32 sizes[Lanes];
  for (U32 l = 0; l < Lanes; ++l) {
    sizes[l] = i.op[2] == NoRow ? i.count : w.row32(i.op[2])[l];
    if (sizes[l] == 0)
      reading &= ~(1u << l);
  }
  if (i.op[2] != NoRow) {
    if (U32 bad = mask & static_cast<U32>(w.taint[i.op[2]]))
      violate({Check::Uninitialized, firstLane(bad),
               "the size of this copy is uninitialized", 0, "", ""});
    for (U32 l = 0; l < Lanes; ++l)
      if (((mask >> l) & 1) && sizes[l] > i.count)
        violate({Check::OutOfBounds, l,
                 "the source of this copy is larger than its destination", 0,
                 "", ""});
  }
  Allocation *allocation = nullptr;
  from.bytes = i.count;
  if (reading) {
    part = i;
    part.space = MemSpace::Global;
    part.wideAddress = true;
    addressesOf(w, part, reading, i.op[1], from);
    // checkGlobal() tests all bytes of a full copy. A partial source is tested
    // with its smaller size.
    U32 whole = 0;
    for (U32 l = 0; l < Lanes; ++l)
      whole |= static_cast<U32>(sizes[l] == i.count) << l;
    if (U32 full = reading & whole)
      allocation = checkGlobal(w, i, full, from);
    for (U32 l = 0; l < Lanes; ++l)
      if ((reading & ~whole) >> l & 1) {
        GlobalMemory &memory = *w.block->launch.memory;
        Allocation *a = memory.find(from.address[l]);
        if (!a || from.address[l] + sizes[l] > a->end ||
            from.address[l] % i.count)
          violate({from.address[l] % i.count ? Check::Misaligned
                                             : Check::OutOfBounds,
                   l, "copies from outside of every argument, or misaligned",
                   from.address[l], memory.describe(from.address[l]), ""});
        allocation = nullptr;
      }
    if (reading & ~whole)
      allocation = nullptr;
    countGlobal(w, i, reading, from, allocation);
  }
  AsyncCopy &copy = w.copies.emplace_back();
  copy.mask = mask;
  copy.bytes = i.count;
  copy.inst = i.index;
  GlobalMemory &memory = *w.block->launch.memory;
  bool races = w.block->launch.options->races;
  bool conflicts = w.block->launch.options->conflicts != GlobalConflicts::Off;
  GlobalLock lock(memory);
  for (U32 l = 0; l < Lanes; ++l) {
    if (!((mask >> l) & 1))
      continue;
    U32 at = static_cast<U32>(to.address[l]);
    copy.dest[l] = at;
    copy.group[l] = w.committed[l];
    copy.poison[l] = 0;
    copy.sourceBytes[l] = 0;
    std::memset(copy.data[l], 0, 16);
    if ((reading >> l) & 1) {
      copy.source[l] = from.address[l];
      copy.sourceBytes[l] = static_cast<uint8_t>(sizes[l]);
      std::memcpy(copy.data[l], reinterpret_cast<const void *>(from.address[l]),
                  sizes[l]);
      Allocation *a = allocation ? allocation : memory.find(from.address[l]);
      if (conflicts) {
        lock.hold(from.address[l]);
        copy.poison[l] =
            !noteGlobalRead(w, i, l, *a, from.address[l], sizes[l]) &&
            w.block->launch.options->uninitialized;
      }
      if (!a->unwritten.empty() && w.block->launch.options->uninitialized)
        for (U32 b = 0; b < sizes[l]; ++b)
          copy.poison[l] |= a->unwritten[from.address[l] - a->base + b];
    }
    if (races)
      w.block->shared.beginCopy(w, i, l, at, i.count);
  }
}

void commitOp(Warp &w, const Inst &, U32 mask) {
  for (U32 l = 0; l < Lanes; ++l)
    if ((mask >> l) & 1) {
      ++w.committed[l];
      w.block->asyncMaxGroups = std::max<uint64_t>(
          w.block->asyncMaxGroups, w.committed[l] - w.completed[l]);
    }
}

void checkSource(const Warp &w, const AsyncCopy &copy, U32 lane) {
  if (!copy.sourceBytes[lane] || // no source: zeros are written
      std::memcmp(copy.data[lane],
                  reinterpret_cast<const void *>(copy.source[lane]),
                  copy.sourceBytes[lane]) == 0)
    return;
  violate({Check::AsyncRead, lane,
           "the source of an asynchronous copy was written before this wait: "
           "the copy may have read it before or after",
           copy.source[lane],
           w.block->launch.memory->describe(copy.source[lane]),
           "copied by " + w.block->describe(copy.inst)});
}

// Completes the copies whose group number is below done[lane].
void land(Warp &w, U32 mask, const U32 *done) {
  SharedMemory &shared = w.block->shared;
  bool races = w.block->launch.options->races;
  for (AsyncCopy &copy : w.copies) {
    for (U32 l = 0; l < Lanes; ++l) {
      if (!((copy.mask & mask) >> l & 1) || copy.group[l] >= done[l])
        continue;
      if (races)
        checkSource(w, copy, l);
      if (copy.sourceBytes[l] && !w.block->launch.options->copiesReadAtIssue)
        std::memcpy(copy.data[l],
                    reinterpret_cast<const void *>(copy.source[l]),
                    copy.sourceBytes[l]);
      std::memcpy(shared.data() + copy.dest[l], copy.data[l], copy.bytes);
      shared.setPoison(copy.dest[l], copy.bytes, copy.poison[l]);
      if (races)
        shared.endCopy(w, copy.inst, l, copy.dest[l], copy.bytes);
      copy.mask &= ~(1u << l);
    }
  }
  std::erase_if(w.copies, [](const AsyncCopy &copy) { return copy.mask == 0; });
  for (U32 l = 0; l < Lanes; ++l)
    if ((mask >> l) & 1)
      w.completed[l] =
          std::max(w.completed[l], std::min(done[l], w.committed[l]));
}

// imm: number of groups that may remain in flight.
void waitOp(Warp &w, const Inst &i, U32 mask) {
  U32 done[Lanes];
  for (U32 l = 0; l < Lanes; ++l)
    done[l] = w.committed[l] > static_cast<U64>(i.imm)
                  ? w.committed[l] - static_cast<U32>(i.imm)
                  : 0;
  land(w, mask, done);
}

void waitAllOp(Warp &w, const Inst &i, U32 mask) {
  commitOp(w, i, mask);
  U32 done[Lanes];
  std::fill_n(done, Lanes, ~0u);
  land(w, mask, done);
}

} // namespace

Exec selectAsync(const Match &m, Inst &inst) {
  switch (m.row->sem) {
  case Sem::CpAsync:
    return copyOp;
  case Sem::CpCommit:
    return commitOp;
  case Sem::CpWait:
    return waitOp;
  case Sem::CpWaitAll:
    return waitAllOp;
  default:
    return nullptr;
  }
}

} // namespace tessera::sim
