// codegen/gpu/layouts/Transfer.h - layouts of operands and results of one op.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/layout/LinearLayout.h"

#include "mlir/IR/Operation.h"

#include <optional>

namespace tessera::codegen::gpu {

/// arith, math and tile operations that combine the elements of one place: all
/// tensors among operands and results have one layout.
bool isElementwise(mlir::Operation *op);

/// The layout that operand `index` (a tensor) must have so that the result of
/// a shape operation or an elementwise one has `result` and nothing moves.
/// None for other operations, and where lanes would have to be split.
std::optional<layout::LinearLayout>
operandLayout(mlir::Operation *op, unsigned index,
              const layout::LinearLayout &result);

/// The layout of the results when the first operand (all operands of an
/// elementwise operation or a join) has `operand`: elementwise and shape
/// operations, reductions, scans. None for others, for a split across lanes
/// and for scalar results.
std::optional<layout::LinearLayout>
resultLayout(mlir::Operation *op, const layout::LinearLayout &operand);

/// The result of a broadcast that nobody has a layout for: lanes whose bits are
/// free in `operand` take the axes that grow, the last axis first, and
/// registers what is left. No lane needs an element that it does not hold.
layout::LinearLayout spreadBroadcast(const layout::LinearLayout &operand,
                                     llvm::ArrayRef<int64_t> shape);

/// What `layout` says about the axes on which `shape` agrees with it; the
/// others, of size 1 in `shape`, are left out.
layout::LinearLayout projected(const layout::LinearLayout &layout,
                               llvm::ArrayRef<int64_t> shape);

} // namespace tessera::codegen::gpu
