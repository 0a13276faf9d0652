// simulator/ops/Access.h - addresses of a warp's memory access, checked.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/machine/Block.h"

namespace tessera::sim {

using U32 = uint32_t;
using U64 = uint64_t;

// Addresses of the lanes, and what they have in common.
struct Access {
  U64 address[Lanes];
  U32 bytes = 0; // of one lane, all elements
  bool writes = false;
};

// op[row] + imm for the lanes of `mask`. Throws Violation for an uninitialized
// address and (global) one that a signed overflow went into.
void addressesOf(Warp &w, const Inst &i, U32 mask, U32 row, Access &access);

// Throws Violation for lanes that are misaligned or outside of every range.
// Returns the allocation when all lanes are in one, else null.
Allocation *checkGlobal(Warp &w, const Inst &i, U32 mask, const Access &access);
// Shared: bounds and alignment. `align` is that of one address.
void checkShared(Warp &w, const Inst &i, U32 mask, const U64 *address,
                 U32 bytes, U32 align, bool writes);
// Local: bounds and alignment.
void checkLocal(Warp &w, const Inst &i, U32 mask, const Access &access);

// Splits generic addresses by window: calls f(space, mask) with the addresses
// of that mask reduced to the space's own.
template <class F>
void bySpace(const Inst &i, U32 mask, Access &access, F f) {
  if (i.space != MemSpace::Generic) {
    f(i.space, mask);
    return;
  }
  U32 shared = 0, local = 0, param = 0;
  for (U32 l = 0; l < Lanes; ++l) {
    U64 window = access.address[l] & WindowMask;
    shared |= static_cast<U32>(window == SharedWindow) << l;
    local |= static_cast<U32>(window == LocalWindow) << l;
    param |= static_cast<U32>(window == ParamWindow) << l;
    if (window == SharedWindow || window == LocalWindow ||
        window == ParamWindow)
      access.address[l] &= ~WindowMask;
  }
  if (U32 part = mask & ~(shared | local | param))
    f(MemSpace::Global, part);
  if (U32 part = mask & shared)
    f(MemSpace::Shared, part);
  if (U32 part = mask & local)
    f(MemSpace::Local, part);
  if (U32 part = mask & param)
    f(MemSpace::Param, part);
}

// Counters.
void countGlobal(Warp &w, const Inst &i, U32 mask, const Access &access,
                 const Allocation *allocation);
void countShared(Warp &w, const Inst &i, U32 mask, const U64 *address,
                 U32 bytes);
// What cp.async writes to shared memory.
void countCopy(Warp &w, const Inst &i, U32 mask, const U64 *address, U32 bytes);

// Loads of any space into op[0..count-1]; the address is op[count].
void loadOp(Warp &w, const Inst &i, U32 mask);

} // namespace tessera::sim
