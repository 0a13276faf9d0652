// dialect/tile/Verify.h - checks that several op families share.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/Operation.h"

namespace tessera::tile {

/// Verifies that a tensor has static power-of-two dimensions and at most
/// kMaxTileElements elements. Accepts scalars.
mlir::LogicalResult verifyTileShape(mlir::Operation *op, mlir::Type type);

/// Verifies 0 <= axis < rank.
mlir::LogicalResult verifyAxis(mlir::Operation *op, int64_t axis, int64_t rank);

/// Verifies that the operation's tensors have no layouts, or layouts that its
/// lowering supports without moving elements between lanes
/// (docs/compiler/gpu-layouts.md).
mlir::LogicalResult verifyLayouts(mlir::Operation *op);

} // namespace tessera::tile
