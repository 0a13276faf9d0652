// codegen/cpu/ToLlvm.h - lowers the loops of a kernel to the LLVM dialect.
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
// arith.addf, subf and mulf of f32 scalars and vectors. Operations that must
// not be fused, such as those of Math.h, have to be emitted after this pass.
std::unique_ptr<mlir::Pass> createAllowContractionPass();

// Expands conversions from and to bf16 to shifts and integer rounding to
// nearest even. Without avx512bf16, LLVM would call a function of the
// compiler's runtime library.
std::unique_ptr<mlir::Pass> createExpandBf16Pass();

// Converts scf, cf, arith, index, ub, vector, func and the math operations with
// an LLVM intrinsic to the LLVM dialect, in one conversion.
std::unique_ptr<mlir::Pass> createToLlvmPass();

// Reports every access whose base is a constant null pointer. LLVM deletes such
// an access and the code that leads to it. An address that a kernel computes
// from integers is an llvm.inttoptr.
std::unique_ptr<mlir::Pass> createRejectNullBasesPass();

// Adds all passes, in order: contraction, functions of libm, 16-bit floats that
// the target does not support, vector operations, conversion, null bases.
void addLlvmPasses(mlir::OpPassManager &passes, const CpuTarget &target);

// Registers the passes for tools: tessera-allow-contraction,
// tessera-rewrite-math, tessera-expand-bf16, tessera-to-llvm,
// tessera-reject-null-bases.
void registerCpuLlvmPasses();

} // namespace tessera::codegen::cpu
