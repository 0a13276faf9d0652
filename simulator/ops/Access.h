// simulator/ops/Access.h - addresses of a warp's memory access, checked.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/machine/Block.h"

namespace tessera::sim {

using U32 = uint32_t;
using U64 = uint64_t;

// The addresses of a warp's memory access by lane, its size and its direction.
struct Access {
  U64 address[Lanes];
  U32 bytes = 0; // per lane, of all elements
  bool writes = false;
};

// Sets the addresses of all lanes to the register row `row` + i.imm. Throws
// Violation if the address of a lane of `mask` depends on an uninitialized
// value or, for global and generic accesses, on a signed 32-bit overflow.
void addressesOf(Warp &w, const Inst &i, U32 mask, U32 row, Access &access);

// Throws Violation if a lane is misaligned, is not completely inside one
// allocation, or writes to read-only memory. Returns the allocation if all
// lanes are in one, else null.
Allocation *checkGlobal(Warp &w, const Inst &i, U32 mask, const Access &access);
// Checks the bounds of a shared access, and that each address is a multiple of
// `align`. Throws Violation.
void checkShared(Warp &w, const Inst &i, U32 mask, const U64 *address,
                 U32 bytes, U32 align, bool writes);
// Checks the bounds and alignment of a local access. Throws Violation.
void checkLocal(Warp &w, const Inst &i, U32 mask, const Access &access);

// Splits generic addresses by state space: calls f(space, lanes) for each space
// that lanes of `mask` access. Addresses of shared, local and parameter memory
// become offsets in that space.
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

// Adds an access to the counters of its instruction, if they are enabled.
void countGlobal(Warp &w, const Inst &i, U32 mask, const Access &access,
                 const Allocation *allocation);
void countShared(Warp &w, const Inst &i, U32 mask, const U64 *address,
                 U32 bytes);
// Counts the bank conflicts of a cp.async's writes to shared memory.
void countCopy(Warp &w, const Inst &i, U32 mask, const U64 *address, U32 bytes);

// Loads of any space into op[0..count-1]; the address is op[count].
void loadOp(Warp &w, const Inst &i, U32 mask);

} // namespace tessera::sim
