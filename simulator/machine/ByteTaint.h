// simulator/machine/ByteTaint.h - registers of which some bytes are
// uninitialized.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/machine/Warp.h"

#include <array>

namespace tessera::sim {

// LLVM builds a vector of 16- or 8-bit values from a register that nothing has
// written, by mov, prmt, bfi, shifts and logic, and takes out the bytes that it
// put in. In between it copies the register, chooses it with selp or sends it
// to another lane with shfl. These instructions track each byte; every other
// instruction marks the register (Warp::taint).
using BytesTainted = std::array<uint32_t, 8>; // lanes, by byte of the register

// Whether some lanes of `mask` hold a register of which only some bytes are
// uninitialized. False where all of it is, or none.
inline bool hasBytesTainted(const Warp &w, uint32_t row, uint32_t mask) {
  return (w.taint[row] & mask) && w.byteTaints.count(row);
}

// Of a register of at most 8 bytes.
BytesTainted bytesTainted(const Warp &w, uint32_t row, uint32_t bytes);

// Marks what lanes of `mask` hold in a register that has just been written.
void setBytesTainted(Warp &w, uint32_t row, uint32_t mask, uint32_t bytes,
                     const BytesTainted &tainted);

} // namespace tessera::sim
