// simulator/machine/ByteTaint.cpp - tracks registers of which only some bytes
// are uninitialized.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/ByteTaint.h"

namespace tessera::sim {

static uint64_t valueOf(const Warp &w, uint32_t row, uint32_t bytes,
                        uint32_t lane) {
  return bytes <= 4 ? w.row32(row)[lane] : w.row64(row)[lane];
}

BytesTainted bytesTainted(const Warp &w, uint32_t row, uint32_t bytes) {
  BytesTainted result;
  const uint32_t whole = uint32_t(w.taint[row] & PoisonBits);
  result.fill(whole);
  if (!whole)
    return result;
  const auto found = w.byteTaints.find(row);
  if (found == w.byteTaints.end())
    return result;
  // Lanes whose register still has the recorded value.
  const ByteTaint &noted = found->second;
  uint32_t same = 0;
  for (uint32_t l = 0; l < Lanes; ++l)
    same |= uint32_t{noted.value[l] == valueOf(w, row, bytes, l)} << l;
  same &= noted.mask;
  for (uint32_t i = 0; i < bytes; ++i)
    result[i] = whole & (noted.byte[i] | ~same);
  return result;
}

void setBytesTainted(Warp &w, uint32_t row, uint32_t mask, uint32_t bytes,
                     const BytesTainted &tainted) {
  uint32_t any = 0, all = ~0u;
  for (uint32_t i = 0; i < bytes; ++i) {
    any |= tainted[i];
    all &= tainted[i];
  }
  w.setTaint(row, mask, any);
  if (!((any ^ all) & mask))
    return;
  ByteTaint &note = w.byteTaints[row];
  // The record keeps the bytes of lanes outside of `mask`, which are on the
  // other side of a branch.
  note.mask |= mask;
  for (uint32_t l = 0; l < Lanes; ++l)
    if (mask >> l & 1)
      note.value[l] = valueOf(w, row, bytes, l);
  for (uint32_t i = 0; i < tainted.size(); ++i)
    note.byte[i] = (note.byte[i] & ~mask) | (tainted[i] & mask);
}

} // namespace tessera::sim
