// codegen/gpu/lower/rows/Combiner.h - combines two parts of a row.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/lower/Emitter.h"

#include "mlir/IR/Region.h"

namespace tessera::codegen::gpu {

/// Emits the combinations of tile.reduce, tile.reduce_by, tile.scan and
/// tile.scan_by. A part has one value for each source; for argmax and argmin,
/// it has the value and its index.
class Combiner {
public:
  Combiner(Emitter &e, mlir::Operation *op);

  int axis() const { return axisNumber; }
  bool reverse() const { return isReverse; }
  /// True if parts must be combined in the order of the axis. Otherwise,
  /// swapping two parts does not change a bit of the result.
  bool ordered() const { return isOrdered; }
  bool isArg() const;
  /// Returns the element types of a part.
  llvm::ArrayRef<mlir::Type> types() const { return elements; }
  mlir::ValueRange sources() const { return op->getOperands(); }

  /// Emits the combination of two parts. `fuse` permits LLVM to contract an f32
  /// product with this sum. Set it only if all threads with a replica of the
  /// result add in the same way.
  Registers combine(const Registers &first, const Registers &second,
                    bool fuse = false);
  /// Combines neighbouring parts, given in the order of the axis, as a tree.
  /// Their number is a power of two.
  Registers combineAll(llvm::ArrayRef<Registers> parts);
  /// Emits redux.sync over all lanes. Returns an empty list if PTX does not
  /// have it for this combination.
  Registers reduceWarp(const Registers &part);

private:
  llvm::Value *combineKind(llvm::Value *x, llvm::Value *y, bool fuse);
  Registers combineArg(const Registers &x, const Registers &y);
  Registers combineRegion(const Registers &x, const Registers &y);

  Emitter &e;
  mlir::Operation *op;
  mlir::Region *region = nullptr;
  // A scan kind other than prod is stored as the reduce kind.
  tile::ReduceKind kind = tile::ReduceKind::Sum;
  bool isProduct = false, isOrdered = false, isReverse = false;
  int axisNumber = 0;
  llvm::SmallVector<mlir::Type> elements;
};

/// Return ordered() and axis() of the Combiner of `op`, without an emitter.
bool isOrderedCombination(mlir::Operation *op);
int axisOfCombination(mlir::Operation *op);
/// Returns the element types of a part.
llvm::SmallVector<mlir::Type> partTypes(mlir::Operation *op);

} // namespace tessera::codegen::gpu
