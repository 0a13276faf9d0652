// codegen/math/Math.h - functions of libm as arithmetic.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace mlir {
class ModuleOp;
class Operation;
class Pass;
} // namespace mlir
namespace llvm {
struct LogicalResult;
} // namespace llvm

namespace tessera::codegen {

// Rewrites every operation of the math dialect (and arith.remf) that would
// become a call of libm, on scalars and vectors of any rank, into arithmetic:
//
//   exp, exp2, log, log2, rsqrt, sin, cos, tanh, erf, arith.remf,
//   and 1 / (1 + exp(x)), in f32 and f64
//
// f16 and bf16 are computed in f32 and rounded once. What is left of the math
// dialect are operations with instructions: fma, sqrt, absf, absi, copysign,
// floor, ceil, trunc, round, roundeven, ctpop, ctlz, cttz. Errors in ulp:
// docs/numerics.md. Fails, with a diagnostic at the operation, on anything else
// of the dialect. avx512: vectors of 512 bits may use instructions of AVX-512F;
// the results are the same bits.
llvm::LogicalResult rewriteMath(mlir::ModuleOp module, bool avx512 = false);

// Attribute of what rewriteFunction() makes: no product and sum of it may be
// fused, and quotients are rounded once.
inline constexpr char kExactAttr[] = "tile.exact";

// Whether rewriteFunction() knows this function of this type.
bool canRewriteFunction(mlir::Operation *op);
// One operation of those that rewriteMath() replaces, also on tensors; each new
// operation has kExactAttr. Only if canRewriteFunction(op).
void rewriteFunction(mlir::Operation *op);

// The same as a pass: tessera-rewrite-math.
std::unique_ptr<mlir::Pass> createRewriteMathPass(bool avx512 = false);

} // namespace tessera::codegen
