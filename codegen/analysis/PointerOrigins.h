// codegen/analysis/PointerOrigins.h - which memory a pointer may lead to.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The one alias relation of the GPU compiler. A kernel reaches global memory
// through its pointer arguments, so an address
//
//     %q = tile.addptr (tile.splat %p), %offsets
//
// has the *origin* %p. Selects, branches and loops merge addresses, and then an
// address has several origins; a pointer that was loaded from memory has an
// unknown one. Two addresses may alias where they share an origin or where one
// of them is unknown. Different arguments are taken to be different memory
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

/// The values that control flow may pass to `value`: for an argument in the
/// body of an scf.for or scf.while, what enters the loop and what an iteration
/// yields; for a result of an scf.for, scf.while or scf.if, what the regions
/// yield. Empty for every other value: operations, the counter of a loop,
/// arguments of a function.
llvm::SmallVector<mlir::Value, 2> incomingValues(mlir::Value value);

class PointerOrigins {
public:
  /// Arguments of functions; a null value stands for unknown memory. The
  /// result is valid until the next call. Answers are remembered: the values
  /// asked about must not be erased meanwhile.
  const llvm::SmallPtrSet<mlir::Value, 4> &of(mlir::Value pointer);

  /// Whether accesses through `a` and `b` (pointers or tensors of pointers;
  /// null is unknown memory) may meet.
  bool mayAlias(mlir::Value a, mlir::Value b);

private:
  llvm::DenseMap<mlir::Value, llvm::SmallPtrSet<mlir::Value, 4>> known;
};

/// The allocation that `buffer`, a value of type !tile.smem, is a view of; null
/// if it is not known.
tile::SmemAllocOp sharedBufferOf(mlir::Value buffer);

/// The operations that use `alloc` or a view of it, the views themselves left
/// out; one that uses it twice is there twice.
llvm::SmallVector<mlir::Operation *> usersOfBuffer(tile::SmemAllocOp alloc);

} // namespace tessera::codegen
