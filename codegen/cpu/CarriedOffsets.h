// codegen/cpu/CarriedOffsets.h - carries a scalar offset instead of a tensor.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::codegen::cpu {

/// Loops often carry pointers or indices that all move by the same amount:
///   for ... iter_args(%p = %init) { ...; yield addptr(%p, splat(%step)) }
/// Carries the amount, a scalar, instead of the tensor, so that addresses keep
/// their known strides inside the loop.
void carryOffsets(mlir::func::FuncOp function);

} // namespace tessera::codegen::cpu
