// codegen/gpu/GlobalAccess.h - accesses of global memory: where, in what order.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/Operation.h"

namespace tessera::codegen::gpu {

/// The pointer that a store or an atomic writes through; null for others.
mlir::Value writtenPointer(mlir::Operation *op);

/// An atomic that tells others what this program did before it.
bool releases(mlir::Operation *op);

/// What tells this program what others have done: an atomic that acquires, if
/// its old element is looked at, and a volatile load. No later load may be done
/// before it.
bool acquires(mlir::Operation *op);

} // namespace tessera::codegen::gpu
