// codegen/cpu/ToLlvm.h - everything to the LLVM dialect.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/CpuTarget.h"

#include <memory>

namespace mlir {
class OpPassManager;
class Pass;
} // namespace mlir

namespace tessera::codegen::cpu {

// Lets LLVM fuse products and sums of f32: sets the contract flag on
// arith.addf, subf and mulf of f32 scalars and vectors. What must not be fused
// has to be emitted after this pass, as the functions of Math.h are.
std::unique_ptr<mlir::Pass> createAllowContractionPass();

// Conversions from and to bf16 as shifts and integer rounding to nearest even:
// without avx512bf16, LLVM would call a function of the compiler's library.
std::unique_ptr<mlir::Pass> createExpandBf16Pass();

// scf, cf, arith, the direct operations of math, index, ub, vector and func to
// the LLVM dialect, in one conversion.
std::unique_ptr<mlir::Pass> createToLlvmPass();

// Reports every access whose base is a constant null pointer. LLVM deletes such
// an access and the code that leads to it. An address that a kernel computes
// from integers is an llvm.inttoptr.
std::unique_ptr<mlir::Pass> createRejectNullBasesPass();

// All of it, in order: contraction, functions of libm, 16-bit floats that the
// target does not have, vector operations, conversion, null bases.
void addLlvmPasses(mlir::OpPassManager &passes, const CpuTarget &target);

// For tools: tessera-allow-contraction, tessera-rewrite-math,
// tessera-expand-bf16, tessera-to-llvm, tessera-reject-null-bases.
void registerCpuLlvmPasses();

} // namespace tessera::codegen::cpu
