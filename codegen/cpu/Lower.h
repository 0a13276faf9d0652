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

/// Replaces the only func.func of `module` by a function `tessera_entry` on
/// LLVM pointers, whose body has loops and vectors of arith, math, scf and llvm
/// operations. Throws tessera::Error with a source location for operations that
/// the CPU back end does not support.
void lowerToLoops(mlir::ModuleOp module, const CpuOptions &options);

/// Lowers the module to the LLVM dialect, ready for translation to LLVM IR.
void lowerToCpu(mlir::ModuleOp module, const CpuOptions &options);

} // namespace tessera::codegen::cpu
