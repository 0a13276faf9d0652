// codegen/gpu/lower/Functions.h - functions that a GPU has no instruction for.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tessera::codegen::gpu {

/// Replaces by arithmetic, the same as on cpu: sin, cos, tanh, erf, remainder
/// of f32 and narrower; exp, exp2, log, log2, sin, cos, rsqrt of f64. The
/// others have instructions (lower/Math.cpp) or nothing at all.
void rewriteFunctions(mlir::ModuleOp module);

} // namespace tessera::codegen::gpu
