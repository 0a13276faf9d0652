// codegen/gpu/lower/rows/Combiner.h - how two parts of a row become one.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/lower/Emitter.h"

#include "mlir/IR/Region.h"

namespace tessera::codegen::gpu {

/// Of tile.reduce, tile.reduce_by, tile.scan, tile.scan_by. A part is one
/// value a source; of argmax and argmin the value and its index.
class Combiner {
public:
  Combiner(Emitter &e, mlir::Operation *op);

  int axis() const { return axisNumber; }
  bool reverse() const { return isReverse; }
  /// Whether parts must be given in the order of the axis. Parts of the others
  /// may be swapped, and the result keeps every bit.
  bool ordered() const { return isOrdered; }
  bool isArg() const;
  /// Element types of a part.
  llvm::ArrayRef<mlir::Type> types() const { return elements; }
  mlir::ValueRange sources() const { return op->getOperands(); }

  /// `fuse`: an f32 product that this adds may be rounded with the sum. Only
  /// where every thread that holds a replica of the result adds the same way.
  Registers combine(const Registers &first, const Registers &second,
                    bool fuse = false);
  /// Parts next to each other, from the first.
  Registers combineAll(llvm::ArrayRef<Registers> parts);
  /// redux.sync of all lanes, where there is one for this; empty elsewhere.
  Registers reduceWarp(const Registers &part);

private:
  llvm::Value *combineKind(llvm::Value *x, llvm::Value *y, bool fuse);
  Registers combineArg(const Registers &x, const Registers &y);
  Registers combineRegion(const Registers &x, const Registers &y);

  Emitter &e;
  mlir::Operation *op;
  mlir::Region *region = nullptr;
  // The scan kinds but prod are reduce kinds.
  tile::ReduceKind kind = tile::ReduceKind::Sum;
  bool isProduct = false, isOrdered = false, isReverse = false;
  int axisNumber = 0;
  llvm::SmallVector<mlir::Type> elements;
};

/// What Combiner would answer, without an emitter.
bool isOrderedCombination(mlir::Operation *op);
int axisOfCombination(mlir::Operation *op);
/// Types of the values of a part.
llvm::SmallVector<mlir::Type> partTypes(mlir::Operation *op);

} // namespace tessera::codegen::gpu
