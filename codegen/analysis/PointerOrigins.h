// codegen/analysis/PointerOrigins.h - alias analysis of pointers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The one alias relation of the GPU compiler. A kernel reaches global memory
// through its pointer arguments, so an address
//
//     %q = tile.addptr (tile.splat %p), %offsets
//
// has the *origin* %p. Selects, branches and loops merge addresses, so an
// address may have several origins. A pointer that was loaded from memory has
// an unknown origin. Two addresses may alias if they share an origin or if one
// origin is unknown. Different arguments are assumed not to alias
// (docs/compiler/gpu-lowering.md, "A program keeps its order").
//
// Tiles in shared memory are simpler: a value of type !tile.smem is a
// tile.smem_alloc or a view of one.
#pragma once

#include "dialect/tile/TileDialect.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tessera::codegen {

/// Returns the values that control flow may pass to `value`. For an argument in
/// the body of an scf.for or scf.while, these are the initial and the yielded
/// values; for a result of an scf.for, scf.while or scf.if, the values that the
/// regions yield. Returns an empty list for other values: results of other
/// operations, induction variables, function arguments.
llvm::SmallVector<mlir::Value, 2> incomingValues(mlir::Value value);

class PointerOrigins {
public:
  /// Returns the origins of `pointer`: function arguments, and null for unknown
  /// memory. The result is valid until the next call. Results are cached, so
  /// the queried values must not be erased while this object is used.
  const llvm::SmallPtrSet<mlir::Value, 4> &of(mlir::Value pointer);

  /// True if accesses through `a` and `b` may touch the same memory. Both are
  /// pointers or tensors of pointers; null means unknown memory.
  bool mayAlias(mlir::Value a, mlir::Value b);

private:
  llvm::DenseMap<mlir::Value, llvm::SmallPtrSet<mlir::Value, 4>> known;
};

/// Returns the allocation that `buffer`, a value of type !tile.smem, is a view
/// of; null if it is unknown.
tile::SmemAllocOp sharedBufferOf(mlir::Value buffer);

/// Returns the operations that use `alloc` or a view of it, without the view
/// operations. An operation that uses it twice appears twice.
llvm::SmallVector<mlir::Operation *> usersOfBuffer(tile::SmemAllocOp alloc);

} // namespace tessera::codegen
