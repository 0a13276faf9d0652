// codegen/cpu/plan/Plan.h - chooses the tensors to store in scratch memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A virtual tensor is evaluated again inside the loop nest of each consumer. A
// buffered tensor is evaluated once, at its position in the program, and stored
// in scratch memory. The plan decides which; it does not change the IR.
#pragma once

#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <vector>

namespace tessera::codegen::cpu {

/// A row-major array in scratch memory.
struct Buffer {
  llvm::SmallVector<int64_t> shape;
  /// Elements between the ends of a row and the next one.
  int64_t padding = 0;
  /// Element type in memory: integers (i1 as i8, 16-bit floats and pointers as
  /// integers of their size), f32 or f64. 16-bit operands of dots are stored as
  /// f32, or as integers if they are bf16 and `dotsInPairs` is true.
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
  /// `pairs`: the CPU multiplies bf16 in pairs (avx512bf16).
  Plan(mlir::func::FuncOp function, int64_t dotRows, bool pairs);

  /// The buffer of a tensor, or -1 if it is virtual.
  int bufferOf(mlir::Value value) const {
    auto it = buffers.find(value);
    return it == buffers.end() ? -1 : it->second;
  }
  /// True if all dots of bf16 read pairs of neighbours along K, 32 bits each.
  /// Either all dots of the function do so, or none.
  bool dotsInPairs() const { return inPairs; }
  /// The buffer [K / 2, columns] of i32 that holds `value`, [K, columns] of
  /// bf16, in pairs; -1 if there is none. It is written where the value is
  /// computed.
  int packedOf(mlir::Value value) const {
    auto it = packed.find(value);
    return it == packed.end() ? -1 : it->second;
  }
  /// The same for the right operand of a dot, written before the dot: for
  /// values that no expression computes.
  int packedFor(mlir::Operation *dot) const {
    auto it = packedThere.find(dot);
    return it == packedThere.end() ? -1 : it->second;
  }
  const Buffer &buffer(int id) const { return all[id]; }

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
  void choosePacked(mlir::func::FuncOp function);
  bool readsPacked(mlir::OpOperand &use) const;
  void assignPacked(mlir::func::FuncOp function);
  void decide(mlir::func::FuncOp function);
  bool mustBuffer(mlir::Value value) const;
  bool readsInPlace(tile::DotOp dot) const;
  bool loadNeedsBuffer(mlir::Operation *load, const Roots &roots) const;
  Roots rootsOf(mlir::Value value) const;
  void assign(mlir::func::FuncOp function);
  void assignCarried(mlir::Operation *op);
  bool canUpdateInPlace(mlir::Value carried, mlir::Value next) const;
  int newBuffer(mlir::Type type, int64_t first, int64_t last, bool widened);
  void padRows(int buffer, mlir::Value value);
  int addBuffer(Buffer buffer, int64_t first, int64_t last);
  int64_t lastUse(mlir::Value value) const;
  void place();

  int64_t dotRows;
  bool inPairs;
  llvm::DenseMap<mlir::Operation *, std::pair<int64_t, int64_t>> numbers;
  llvm::DenseMap<mlir::Value, bool> buffered;
  llvm::DenseMap<mlir::Value, int> buffers, packed;
  llvm::DenseMap<mlir::Operation *, int> packedThere;
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, int> carried, parking;
  std::vector<Buffer> all;
  std::vector<int64_t> slotOffsets;
  int64_t total = 0;
};

/// True if `op` computes every element of its results from the same element of
/// its operands.
bool isElementwise(mlir::Operation *op);

/// True if `op` is a matrix product (without batches) of bf16 with an even K
/// and rows of at least the instruction's shortest vector.
bool canPair(tile::DotOp op);

/// True if the emitter can compute the result of `op` element by element inside
/// a nest.
bool canBeVirtual(mlir::Operation *op);

/// True if `op` is cheap enough to be evaluated wherever it is used.
bool isCheap(mlir::Operation *op);

/// True if `op` has an operand or a result that is a tensor.
bool touchesTensors(mlir::Operation *op);

} // namespace tessera::codegen::cpu
