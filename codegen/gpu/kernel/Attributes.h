// codegen/gpu/kernel/Attributes.h - attributes and options of a GPU kernel.
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
/// Attribute (i64) of loads, stores and atomics: the vector width in elements.
/// The elements are consecutive in the lowest register bits of the layout and
/// in memory, are aligned to the size of the vector, and share one mask. The
/// width is a power of two; 1 if the attribute is missing.
inline constexpr llvm::StringLiteral kVectorAttr = "tile.vector";
/// Unit attribute of float sums that a pass has duplicated. They are not
/// contracted to fma (codegen/gpu/kernel/Contraction.h).
inline constexpr llvm::StringLiteral kRoundingsAttr = "tile.roundings";
/// Name of the symbol of a block's shared memory in PTX.
inline constexpr llvm::StringLiteral kSharedSymbol = "tessera_shared";

struct GpuOptions {
  GpuTarget target;
  int numWarps = 4;
  int numStages = 3;
  bool swapOperands = false; // tessera-swap-operands
  // True if, while the kernel runs, no other program writes to memory of
  // arguments that the kernel does not write to (tessera-pipeline-loops).
  bool constantInputs = false;
};

} // namespace tessera::codegen::gpu
