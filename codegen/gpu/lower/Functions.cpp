// codegen/gpu/lower/Functions.cpp - functions that a GPU has no instruction
// for.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/lower/Functions.h"

#include "codegen/math/Math.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace tessera::codegen::gpu {

void rewriteFunctions(ModuleOp module) {
  SmallVector<Operation *> found;
  module.walk([&](Operation *op) {
    if (op->getNumResults() != 1 || !canRewriteFunction(op))
      return;
    bool approximated = isa<math::ExpOp, math::Exp2Op, math::LogOp,
                            math::Log2Op, math::RsqrtOp>(op);
    if (!approximated || getElementTypeOrSelf(op->getResult(0)).isF64())
      found.push_back(op);
  });
  if (!found.empty())
    module.getContext()->loadDialect<arith::ArithDialect, math::MathDialect>();
  for (Operation *op : found)
    rewriteFunction(op);
}

} // namespace tessera::codegen::gpu
