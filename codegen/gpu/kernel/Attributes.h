// codegen/gpu/kernel/Attributes.h - what passes and lowerings know of a kernel.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/GpuTarget.h"

#include "llvm/ADT/StringRef.h"

namespace tessera::codegen::gpu {

/// Module attribute (i64): bytes of shared memory that a block needs.
inline constexpr llvm::StringLiteral kSharedBytesAttr = "tessera.shared_bytes";
/// Module attribute (array of i32): pairs of arguments of the kernel. A copy
/// reads the first of a pair while the second is written, so the two must be
/// different memory. Missing: none.
inline constexpr llvm::StringLiteral kDisjointAttr = "tessera.disjoint";
/// Attribute (i64) of loads, stores and atomics: so many elements that follow
/// one another in the lowest register bits of the layout also follow one
/// another in memory, are aligned to the whole run there and share one mask. A
/// power of two; 1 where it is missing.
inline constexpr llvm::StringLiteral kVectorAttr = "tile.vector";
/// Attribute (unit) of a sum of floats that passes have copied: it rounds its
/// products (codegen/gpu/kernel/Contraction.h).
inline constexpr llvm::StringLiteral kRoundingsAttr = "tile.roundings";
/// Name of the symbol of a block's shared memory in PTX.
inline constexpr llvm::StringLiteral kSharedSymbol = "tessera_shared";

struct GpuOptions {
  GpuTarget target;
  int numWarps = 4;
  int numStages = 3;
  bool swapOperands = false; // tessera-swap-operands
  // Nothing writes to the arguments that the kernel does not write to while it
  // runs (tessera-pipeline-loops).
  bool constantInputs = false;
};

} // namespace tessera::codegen::gpu
