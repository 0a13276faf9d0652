// codegen/analysis/LoopSteps.h - whether iterations reach other addresses.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/Operation.h"

namespace tessera::codegen {

/// Whether no thread's access through `pointers` by `op`, in one iteration of
/// the loops around it, meets another thread's in another iteration: each loop
/// moves the tile past itself or leaves it where it is. Steps that are not
/// constant are taken to be strides that are large enough. False where the
/// address does not grow evenly, or where two elements of the tile may be
/// equal.
bool iterationsStayApart(mlir::Operation *op, mlir::Value pointers);

} // namespace tessera::codegen
