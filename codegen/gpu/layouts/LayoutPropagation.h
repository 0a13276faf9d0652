// codegen/gpu/layouts/LayoutPropagation.h - a layout for each tensor.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layouts propagate from *anchors*: large loads (AccessLayouts.h) and dots
// (Dots.h). There are three kinds of value:
//
//   rematerializable  arithmetic and shape operations alone make it of ranges,
//                     splats and constants (indices, masks, pointers). It has
//                     no layout of its own: Rewrite.cpp computes it in each
//                     layout that a user wants.
//   forward           its operands' layouts decide. A dot's layout wins over a
//                     load's: later dots and reductions want it.
//   backward          its users decide, where operands say nothing: small
//   loads,
//                     for which any layout is good, and what is made of them;
//                     broadcasts.
//
// A loop or branch gives one layout to each value that it carries; what an
// iteration yields decides over what enters the loop.
#pragma once

#include "codegen/gpu/layouts/Dots.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace tessera::codegen::gpu {

/// What the passes before have chosen; see kLayoutAttr.
struct Anchors {
  llvm::DenseMap<mlir::Operation *, tile::LinearAttr> access;
  struct Dot {
    tile::LinearAttr a, b, acc; // a, b: null where any will do
  };
  llvm::DenseMap<mlir::Operation *, Dot> dots;
};

/// Gives stores of results of dots, and loads of what dots add to, the layout
/// of the dot where they run in a loop. Sums have 32 bits, so that four lanes
/// have eight neighbours in a row, and eight lanes in a column: a sector of
/// memory. Otherwise each iteration would exchange the tile in shared memory:
///
///     %old = load p           : blocked       %old = load p : mma
///     %acc = convert %old     : mma           %new = dot a, b, %old : mma
///     %new = dot a, b, %acc   : mma      =>   store p, %new
///     %out = convert %new     : blocked
///     store p, %out
void takeLayoutsOfDots(mlir::func::FuncOp function, Anchors &anchors);

class LayoutPropagation {
public:
  LayoutPropagation(mlir::func::FuncOp function, const Anchors &anchors,
                    int numWarps);

  /// The layout of `value`; null for scalars and rematerializable values.
  tile::LinearAttr assigned(mlir::Value value) const {
    return assignments.lookup(value);
  }
  bool isRematerializable(mlir::Value value) const {
    return rematerializable.contains(value);
  }
  /// In which layout a load, store or atomic through a tensor of pointers
  /// executes.
  tile::LinearAttr access(mlir::Operation *op) const;
  /// The layout of `value`, or, if it is rematerializable, the plain layout of
  /// its shape: the one in which an operation that takes any layout reads it.
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
  void findRematerializable();
  bool canRematerialize(mlir::Operation *op) const;
  bool forward(mlir::Region &region);
  bool forward(mlir::Operation *op);
  bool forwardFor(mlir::scf::ForOp loop);
  bool forwardWhile(mlir::scf::WhileOp loop);
  bool forwardIf(mlir::scf::IfOp branch);
  bool forwardStore(mlir::Operation *op);
  bool backward(mlir::Region &region);
  bool backward(mlir::Value value);
  bool isSmallInLoop(mlir::Value value) const;
  bool decideOne(mlir::Region &region);
  bool set(mlir::Value value, tile::LinearAttr layout, bool strong);
  bool propagate(mlir::Value to, mlir::Value from);
  tile::LinearAttr wantedBy(mlir::OpOperand &use);
  tile::LinearAttr attr(const layout::LinearLayout &layout) const;

  mlir::func::FuncOp function;
  const Anchors &given;
  int numWarps;
  bool eager = false;
  llvm::DenseMap<mlir::Value, tile::LinearAttr> assignments;
  /// Their layouts come from a dot of tensor cores.
  llvm::DenseSet<mlir::Value> strong;
  llvm::DenseSet<mlir::Value> rematerializable;
  llvm::DenseMap<mlir::Operation *, tile::LinearAttr> accesses, combined;
  std::map<std::vector<int64_t>, tile::LinearAttr> plains;
  /// By bit of the warp number: some anchor has work for it.
  llvm::SmallVector<bool> usedWarps;
};

/// Attribute of a load, store or atomic (a layout) and of a dot (an array: a,
/// b, acc, or acc alone). Consumed by tessera-assign-layouts.
inline constexpr llvm::StringLiteral kLayoutAttr = "tile.layout";

} // namespace tessera::codegen::gpu
