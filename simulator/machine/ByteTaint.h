// simulator/machine/ByteTaint.h - registers of which some bytes are
// uninitialized.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/machine/Warp.h"

#include <array>

namespace tessera::sim {

// LLVM builds a vector of 16- or 8-bit values from a register that nothing has
// written, by mov and prmt, and takes out the bytes that it put in. So those
// two (and a copy) know of each byte whether it is uninitialized; everything
// else marks the register (Warp::taint).
using BytesTainted = std::array<uint32_t, 8>; // lanes, by byte of the register

// Of a register of at most 8 bytes.
BytesTainted bytesTainted(const Warp &w, uint32_t row, uint32_t bytes);

// Marks what lanes of `mask` hold in a register that has just been written.
void setBytesTainted(Warp &w, uint32_t row, uint32_t mask, uint32_t bytes,
                     const BytesTainted &tainted);

} // namespace tessera::sim
