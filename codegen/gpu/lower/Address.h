// codegen/gpu/lower/Address.h - pointers plus offsets, in the cheapest order.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/lower/Emitter.h"

namespace tessera::codegen::gpu {

/// pointers[i] + offsets[i] * size of `step`, as the language defines it: the
/// offset is extended to 64 bits, sums wrap in 64 bits.
///
/// A tile's address is a sum: of the tensor, the tile, the row, the column. Its
/// order is free, so what all registers share is added first, once, then what
/// some share, and constants last: they become part of the instruction. 16 rows
/// of 8 columns take 16 additions instead of 128.
Registers addOffsets(Emitter &e, llvm::Type *step,
                     llvm::ArrayRef<llvm::Value *> pointers,
                     llvm::ArrayRef<llvm::Value *> offsets);

} // namespace tessera::codegen::gpu
