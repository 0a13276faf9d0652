// codegen/gpu/lower/Address.h - adds offsets to the pointers of a tile.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/lower/Emitter.h"

namespace tessera::codegen::gpu {

/// Returns pointers[i] + offsets[i] * size of `step` for each register i. As
/// the language defines, offsets are sign-extended to 64 bits and sums wrap.
///
/// A tile's address is the sum of tensor, tile, row and column offsets, in any
/// order. Terms that more registers share are added first, once for all of
/// them. Constants come last, because load and store instructions include them.
/// 16 rows of 8 columns take 16 additions instead of 128.
Registers addOffsets(Emitter &e, llvm::Type *step,
                     llvm::ArrayRef<llvm::Value *> pointers,
                     llvm::ArrayRef<llvm::Value *> offsets);

} // namespace tessera::codegen::gpu
