// codegen/gpu/layouts/Homes.h - the layout in which each tensor is computed.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layouts spread from *anchors*: large loads (Access.h) and dots (Dots.h). A
// value gets its *home* in one of three ways:
//
//   floating   made of ranges, splats and constants by arithmetic and shape
//              operations only. It has no home: it is computed again in each
//              layout that somebody wants (indices, masks, pointers).
//   forward    from its operands' homes. A dot's layout wins over a load's: it
//              is the one that later dots and reductions want.
//   backward   from its users, where operands say nothing: small loads, that
//              any layout is good for, and what is made of them; broadcasts,
//              that spread with what they meet.
//
// Loops and branches tie what they carry: the value that a round yields decides
// over the one that came before the loop.
#pragma once

#include "codegen/gpu/layouts/Dots.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace tessera::codegen::gpu {

/// What the passes before have chosen; see kLayoutAttr.
struct Anchors {
  llvm::DenseMap<mlir::Operation *, tile::LinearAttr> access;
  struct Dot {
    tile::LinearAttr a, b, acc; // a, b: null where any will do
    bool tensorCore = false;
  };
  llvm::DenseMap<mlir::Operation *, Dot> dots;
};

class Homes {
public:
  Homes(mlir::func::FuncOp function, const Anchors &anchors, int numWarps);

  /// Of a value that has one; null for scalars and floating values.
  tile::LinearAttr home(mlir::Value value) const { return homes.lookup(value); }
  bool isFloating(mlir::Value value) const { return floating.contains(value); }
  /// In which layout a load, store or atomic through a tensor of pointers
  /// executes.
  tile::LinearAttr access(mlir::Operation *op) const;
  /// The home, or for a floating value the plain layout of its shape: where an
  /// operation that takes any layout finds its operand.
  tile::LinearAttr source(mlir::Value value);
  tile::LinearAttr plain(llvm::ArrayRef<int64_t> shape);
  /// The layout of all operands of a reduction, scan or sort.
  tile::LinearAttr combinedIn(mlir::Operation *op);
  const Anchors &anchors() const { return given; }

  /// A load that is cheaper in a layout that somebody wants than converted:
  /// it has few elements.
  bool isSmallAccess(mlir::Operation *op) const;
  /// Whether a small access in `layout` touches so many more sectors than in
  /// the layout of its own that a conversion is worth it: outside of loops any,
  /// in a loop many.
  bool wastesSectors(mlir::Operation *op, tile::LinearAttr layout);
  /// The layout of an access alone, on no more warps than the kernel's large
  /// accesses and dots use.
  tile::LinearAttr ownLayout(mlir::Operation *op);

private:
  void findFloating();
  bool floats(mlir::Operation *op) const;
  bool forward(mlir::Region &region);
  bool forward(mlir::Operation *op);
  bool backward(mlir::Region &region);
  bool backward(mlir::Value value);
  bool isSmallInLoop(mlir::Value value) const;
  bool decideOne(mlir::Region &region);
  bool set(mlir::Value value, tile::LinearAttr layout, bool strong);
  bool copy(mlir::Value to, mlir::Value from);
  tile::LinearAttr wantedBy(mlir::OpOperand &use);
  tile::LinearAttr attr(const layout::LinearLayout &layout) const;

  mlir::func::FuncOp function;
  const Anchors &given;
  int numWarps;
  bool eager = false;
  llvm::DenseMap<mlir::Value, tile::LinearAttr> homes;
  /// Homes that come from a dot of tensor cores.
  llvm::DenseSet<mlir::Value> strong;
  llvm::DenseSet<mlir::Value> floating;
  llvm::DenseMap<mlir::Operation *, tile::LinearAttr> accesses, combined;
  std::map<std::vector<int64_t>, tile::LinearAttr> plains;
  /// By bit of the warp number: some anchor has work for it.
  llvm::SmallVector<bool> usedWarps;
};

/// Attribute of a load, store or atomic (a layout) and of a dot (an array: a,
/// b, acc, or acc alone, and a unit attribute kTensorCoreAttr for tensor
/// cores). Consumed by
/// tessera-assign-layouts.
inline constexpr llvm::StringLiteral kLayoutAttr = "tile.layout";
inline constexpr llvm::StringLiteral kTensorCoreAttr = "tile.tensor_core";

} // namespace tessera::codegen::gpu
