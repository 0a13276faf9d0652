// simulator/ops/Access.cpp - computes and checks the addresses of a warp's
// memory access, and counts its sectors, lines and bank conflicts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/ops/Access.h"

#include "simulator/machine/BankConflicts.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace tessera::sim {
namespace {

const char *verb(const Access &access) {
  return access.writes ? "writes " : "reads ";
}

[[noreturn]] void misaligned(U32 lane, U64 address, U32 align,
                             std::string place) {
  violate({Check::Misaligned, lane,
           "address " + hex(address) + " is not a multiple of " +
               std::to_string(align),
           address, std::move(place), ""});
}

// Returns the number of different `value >> shift` among the lanes of a mask:
// 32-byte sectors for a shift of 5, 128-byte lines for 7.
U32 distinct(const U64 *value, U32 mask, U32 shift) {
  U64 list[Lanes];
  U32 count = 0;
  bool sorted = true;
  for (U32 l = 0; l < Lanes; ++l) {
    if (!((mask >> l) & 1))
      continue;
    U64 v = value[l] >> shift;
    if (count && v == list[count - 1])
      continue;
    sorted &= count == 0 || v > list[count - 1];
    list[count++] = v;
  }
  if (sorted)
    return count;
  std::sort(list, list + count);
  return static_cast<U32>(std::unique(list, list + count) - list);
}

// Returns the number of passes over the banks of shared memory that an access
// takes; see bankWays().
U32 bankPasses(const U64 *address, U32 bytes, U32 mask) {
  U32 narrow[Lanes];
  for (U32 l = 0; l < Lanes; ++l)
    narrow[l] = static_cast<U32>(address[l]);
  return bankWays(narrow, bytes, mask);
}

} // namespace

void addressesOf(Warp &w, const Inst &i, U32 mask, U32 row, Access &access) {
  U64 offset = static_cast<U64>(i.imm);
  if (i.wideAddress) {
    const U64 *a = w.row64(row);
    for (U32 l = 0; l < Lanes; ++l)
      access.address[l] = a[l] + offset;
  } else {
    const U32 *a = w.row32(row);
    U32 narrow = static_cast<U32>(offset);
    for (U32 l = 0; l < Lanes; ++l)
      access.address[l] = static_cast<U32>(a[l] + narrow);
  }
  Taint taint = w.taint[row] & bothHalves(mask);
  if (!taint)
    return;
  if (U32 poisoned = static_cast<U32>(taint))
    violate({Check::Uninitialized, firstLane(poisoned),
             "the address depends on an uninitialized value", 0, "", ""});
  // An offset in shared, local or parameter memory has 32 bits and may wrap.
  if (i.space == MemSpace::Global || i.space == MemSpace::Generic) {
    U32 lane = firstLane(static_cast<U32>(taint >> 32));
    violate({Check::AddressOverflow, lane,
             "the address was computed with a signed 32-bit overflow",
             access.address[lane],
             w.block->launch.memory->describe(access.address[lane]), ""});
  }
}

Allocation *checkGlobal(Warp &w, const Inst &i, U32 mask,
                        const Access &access) {
  GlobalMemory &memory = *w.block->launch.memory;
  const U64 *a = access.address;
  U32 first = firstLane(mask);
  U64 least = a[first], most = a[first], bits = 0;
  for (U32 l = 0; l < Lanes; ++l) {
    U64 v = (mask >> l) & 1 ? a[l] : a[first];
    least = std::min(least, v);
    most = std::max(most, v);
    bits |= v;
  }
  U32 align = access.bytes;
  if (bits & (align - 1))
    for (U32 l = 0; l < Lanes; ++l)
      if (((mask >> l) & 1) && (a[l] & (align - 1)))
        misaligned(l, a[l], align, memory.describe(a[l]));
  auto allowed = [&](const Allocation &allocation, U32 lane) {
    if (access.writes && !allocation.writable &&
        !(allocation.atomics && i.sem != Sem::Store))
      violate({Check::ReadOnly, lane,
               "writes " + allocation.name + ", which is read-only", a[lane],
               memory.describe(a[lane]), ""});
  };
  // Tries the allocation of this instruction's previous access first; it
  // usually matches.
  U32 &hint = w.block->lastAllocation[i.index];
  auto &ranges = memory.allocations();
  Allocation *found = nullptr;
  if (hint < ranges.size() && least >= ranges[hint].base &&
      least < ranges[hint].end)
    found = const_cast<Allocation *>(&ranges[hint]);
  else
    found = memory.find(least);
  if (found && most + access.bytes <= found->end &&
      most + access.bytes > most) {
    hint = found->index;
    allowed(*found, first);
    return found;
  }
  for (U32 l = 0; l < Lanes; ++l) {
    if (!((mask >> l) & 1))
      continue;
    Allocation *mine = memory.find(a[l]);
    if (!mine || a[l] + access.bytes > mine->end)
      violate({Check::OutOfBounds, l,
               std::string(verb(access)) + std::to_string(access.bytes) +
                   " bytes at " + hex(a[l]) +
                   (mine ? ", past the end of " + mine->name
                         : ", outside of every argument"),
               a[l], memory.describe(mine ? a[l] + access.bytes - 1 : a[l]),
               ""});
    allowed(*mine, l);
  }
  return nullptr;
}

void checkShared(Warp &w, const Inst &i, U32 mask, const U64 *address,
                 U32 bytes, U32 align, bool writes) {
  U32 size = w.block->shared.size();
  U64 bits = 0, most = 0;
  for (U32 l = 0; l < Lanes; ++l) {
    U64 v = (mask >> l) & 1 ? address[l] : 0;
    bits |= v;
    most = std::max(most, v);
  }
  if (!(bits & (align - 1)) && bytes <= size && most <= size - bytes) {
    U32 &touched = w.block->sharedTouched;
    touched = std::max(touched, static_cast<U32>(most) + bytes);
    return;
  }
  for (U32 l = 0; l < Lanes; ++l) {
    if (!((mask >> l) & 1))
      continue;
    U64 a = address[l];
    std::string place = "shared + " + std::to_string(a) + " of " +
                        std::to_string(size) + " bytes";
    if (a & (align - 1))
      misaligned(l, a, align, place);
    if (bytes > size || a > size - bytes)
      violate({Check::OutOfBounds, l,
               std::string(writes ? "writes " : "reads ") +
                   std::to_string(bytes) + " bytes beyond shared memory",
               a, place, ""});
  }
}

void checkLocal(Warp &w, const Inst &i, U32 mask, const Access &access) {
  U32 size = w.program->localBytes;
  for (U32 l = 0; l < Lanes; ++l) {
    if (!((mask >> l) & 1))
      continue;
    U64 a = access.address[l];
    std::string place = "local + " + std::to_string(a) + " of " +
                        std::to_string(size) + " bytes";
    if (a & (access.bytes - 1))
      misaligned(l, a, access.bytes, place);
    if (access.bytes > size || a > size - access.bytes)
      violate({Check::OutOfBounds, l,
               std::string(verb(access)) + std::to_string(access.bytes) +
                   " bytes beyond local memory",
               a, place, ""});
  }
}

void countGlobal(Warp &w, const Inst &i, U32 mask, const Access &access,
                 const Allocation *allocation) {
  ExecCount &c = w.block->counts[i.index];
  if (!w.block->launch.options->counters)
    return;
  ++c.requests;
  c.sectors += distinct(access.address, mask, 5);
  c.lines += distinct(access.address, mask, 7);
  GlobalMemory &memory = *w.block->launch.memory;
  for (U32 l = 0; l < Lanes; ++l) {
    if (!((mask >> l) & 1))
      continue;
    const Allocation *a =
        allocation ? allocation : memory.find(access.address[l]);
    if (!a)
      continue;
    U64 line = (access.address[l] >> 7) - (a->base >> 7);
    w.block->touchedLines[a->index][line / 64] |= U64{1} << (line % 64);
  }
}

void countShared(Warp &w, const Inst &i, U32 mask, const U64 *address,
                 U32 bytes) {
  if (!w.block->launch.options->counters)
    return;
  ExecCount &c = w.block->counts[i.index];
  ++c.requests;
  c.ways += bankPasses(address, bytes, mask);
  c.leastWays += leastBankWays(bytes, mask);
}

void countCopy(Warp &w, const Inst &i, U32 mask, const U64 *address,
               U32 bytes) {
  if (!w.block->launch.options->counters)
    return;
  ExecCount &c = w.block->counts[i.index];
  c.copyWays += bankPasses(address, bytes, mask);
  c.leastCopyWays += leastBankWays(bytes, mask);
}

} // namespace tessera::sim
