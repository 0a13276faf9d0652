// codegen/analysis/LoopSteps.h - whether iterations access distinct addresses.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/Operation.h"

namespace tessera::codegen {

/// True if no two threads access the same address through `pointers` by `op` in
/// different iterations of the loops around it. Each loop must advance the tile
/// by at least its size, or leave it unchanged. Variable steps are assumed to
/// be strides that are large enough. Returns false if the address does not grow
/// by equal steps, or if two elements of the tile may be equal.
bool iterationsStayApart(mlir::Operation *op, mlir::Value pointers);

} // namespace tessera::codegen
