// codegen/gpu/layouts/Transfer.h - layouts of operands and results of one op.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/layout/LinearLayout.h"

#include "mlir/IR/Operation.h"

#include <optional>

namespace tessera::codegen::gpu {

/// True for arith, math and tile operations that work element by element: all
/// tensor operands and results have one layout.
bool isElementwise(mlir::Operation *op);

/// Returns the layout that operand `index` (a tensor) must have so that the
/// result of a shape or elementwise operation has the layout `result` without
/// data movement. Returns nullopt for other operations, and if lanes would have
/// to be split.
std::optional<layout::LinearLayout>
operandLayout(mlir::Operation *op, unsigned index,
              const layout::LinearLayout &result);

/// Returns the layout of the results of an elementwise or shape operation, a
/// reduction or a scan whose first operand (all operands of an elementwise
/// operation or a join) has the layout `operand`. Returns nullopt for others,
/// for a split across lanes and for scalar results.
std::optional<layout::LinearLayout>
resultLayout(mlir::Operation *op, const layout::LinearLayout &operand);

/// Returns a layout for the result of a broadcast if no user determines one.
/// Lane bits that are free in `operand` take the axes that grow, the last axis
/// first; registers take the rest. No lane needs an element of another lane.
layout::LinearLayout spreadBroadcast(const layout::LinearLayout &operand,
                                     llvm::ArrayRef<int64_t> shape);

/// Returns `layout` restricted to the axes on which `shape` agrees with it. The
/// other axes must have size 1 in `shape`.
layout::LinearLayout projected(const layout::LinearLayout &layout,
                               llvm::ArrayRef<int64_t> shape);

} // namespace tessera::codegen::gpu
