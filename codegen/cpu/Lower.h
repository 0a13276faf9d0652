// codegen/cpu/Lower.h - tile IR to the LLVM dialect for a CPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/CpuTarget.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tessera::codegen::cpu {

/// Module attribute (i64): bytes of scratch memory that a program needs.
inline constexpr llvm::StringLiteral kScratchBytesAttr =
    "tessera.scratch_bytes";

/// Module attribute (unit): the function calls through a table of callbacks,
/// whose address is in the slot after the last argument.
inline constexpr llvm::StringLiteral kReportsAttr = "tessera.reports";

struct CpuOptions {
  /// Width of vectors: 256 or 512.
  unsigned vectorBits = 256;
  CpuTarget target;
};

/// Options that fit `target`.
CpuOptions cpuOptionsFor(const CpuTarget &target);

/// Replaces the one func.func of `module` by loops and vectors: a function
/// `tessera_entry` on LLVM pointers whose body is arith, math, scf and llvm
/// operations. Throws tessera::Error, naming the place in the kernel, for what
/// the CPU back end does not do.
void lowerToLoops(mlir::ModuleOp module, const CpuOptions &options);

/// The same down to the LLVM dialect, ready for translation.
void lowerToCpu(mlir::ModuleOp module, const CpuOptions &options);

} // namespace tessera::codegen::cpu
