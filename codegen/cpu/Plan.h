// codegen/cpu/Plan.h - which tensors live in scratch memory, and where.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A tensor is either virtual (its expression is evaluated again inside the loop
// nest of whatever consumes it) or buffered (evaluated once, where it stands in
// the program, into scratch memory). The plan decides; it changes nothing.
#pragma once

#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <vector>

namespace tessera::codegen {

/// A row-major array in scratch memory.
struct Buffer {
  llvm::SmallVector<int64_t> shape;
  /// What is stored: integers (i1 as i8, 16-bit floats and pointers as integers
  /// of their size), f32, f64. 16-bit operands of dots are stored as f32.
  mlir::Type stored;
  int64_t bytes = 0;
  /// Operations, by number, between which the content is needed.
  int64_t first = 0, last = 0;
  /// Buffers of one slot share its memory; their lives are disjoint.
  int slot = -1;
};

class Plan {
public:
  /// `dotRows`: the rows of a dot that one pass over its right operand serves.
  Plan(mlir::func::FuncOp function, int64_t dotRows);

  /// The buffer of a tensor, or -1 if it is virtual.
  int bufferOf(mlir::Value value) const {
    auto it = buffers.find(value);
    return it == buffers.end() ? -1 : it->second;
  }
  const Buffer &buffer(int id) const { return all[id]; }
  int numBuffers() const { return int(all.size()); }

  /// The buffer that carries value `index` of the loop `op` (also of an
  /// scf.while's before region), or -1 for scalars.
  int carriedBuffer(mlir::Operation *op, unsigned index) const;
  /// A buffer in which a yield parks value `index` while others are written.
  int parkingBuffer(mlir::Operation *op, unsigned index) const;

  int64_t slotOffset(int slot) const { return slotOffsets[slot]; }
  int numSlots() const { return int(slotOffsets.size()); }
  int64_t scratchBytes() const { return total; }

private:
  using Roots = llvm::SmallPtrSet<mlir::Operation *, 4>;

  void number(mlir::func::FuncOp function);
  void decide(mlir::func::FuncOp function);
  bool mustBuffer(mlir::Value value) const;
  bool readsInPlace(tile::DotOp dot) const;
  bool loadNeedsBuffer(mlir::Operation *load, const Roots &roots) const;
  Roots rootsOf(mlir::Value value) const;
  void assign(mlir::func::FuncOp function);
  void assignCarried(mlir::Operation *op);
  bool canUpdateInPlace(mlir::Value carried, mlir::Value next) const;
  int newBuffer(mlir::Type type, int64_t first, int64_t last, bool widened);
  int64_t lastUse(mlir::Value value) const;
  void place();

  int64_t dotRows;
  llvm::DenseMap<mlir::Operation *, std::pair<int64_t, int64_t>> numbers;
  llvm::DenseMap<mlir::Value, bool> buffered;
  llvm::DenseMap<mlir::Value, int> buffers;
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, int> carried, parking;
  std::vector<Buffer> all;
  std::vector<int64_t> slotOffsets;
  int64_t total = 0;
};

/// Whether `op` computes every element of its results from the same element of
/// its operands.
bool isElementwise(mlir::Operation *op);

/// Whether `op` is cheap enough to be evaluated wherever it is used.
bool isCheap(mlir::Operation *op);

/// Whether `op` has an operand or a result that is a tensor.
bool touchesTensors(mlir::Operation *op);

} // namespace tessera::codegen
