// codegen/cpu/Math.h - math operations as arithmetic, so that kernels need no
// libm. Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace mlir {
class ModuleOp;
class Pass;
} // namespace mlir
namespace llvm {
struct LogicalResult;
} // namespace llvm

namespace tessera::codegen {

// Rewrites every operation of the math dialect (and arith.remf) on scalars and
// vectors, of any rank, into arith operations and LLVM intrinsics that select
// to instructions. f16 and bf16 are computed in f32 and rounded once.
//
//   f32, f64: exp, exp2, log, log2, sqrt, rsqrt, absf, floor, ceil, trunc,
//             roundeven, sin, cos, fma, copysign, absi
//   f32 only: tanh, erf
//
// Errors in ulp: docs/numerics.md. Fails, with a diagnostic at the operation,
// on anything else of the math dialect.
llvm::LogicalResult rewriteMath(mlir::ModuleOp module);

// The same as a pass: tessera-rewrite-math.
std::unique_ptr<mlir::Pass> createRewriteMathPass();

} // namespace tessera::codegen
