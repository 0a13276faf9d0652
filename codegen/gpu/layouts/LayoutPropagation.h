// codegen/gpu/layouts/LayoutPropagation.h - assigns layouts to the tensors that
// are not rematerialized.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layouts propagate from *anchors*: dots (Dots.h), and loads, stores and
// atomics of more than two elements per thread (AccessLayouts.h). There are
// three kinds of value:
//
//   rematerializable  computed from ranges, splats and splat constants by cheap
//                     arithmetic and shape operations (indices, masks,
//                     pointers). It gets no layout: Rewrite.cpp computes it in
//                     each layout that a user wants.
//   forward           takes its layout from its operands. The layout of a dot
//                     on tensor cores takes precedence over a load's, because
//                     later dots and reductions want it.
//   backward          takes its layout from its users, because its operands
//                     determine none: small loads, values computed from them,
//                     and broadcasts. Results of reductions, joins and splits
//                     never take one from users.
//
// A loop or branch gives one layout to each value that it carries. The layout
// of a yielded value takes precedence over that of the initial value.
#pragma once

#include "codegen/gpu/layouts/Dots.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace tessera::codegen::gpu {

/// The layouts that earlier passes have chosen; see kLayoutAttr. `access` also
/// has those of small accesses, which are not anchors.
struct Anchors {
  llvm::DenseMap<mlir::Operation *, tile::LinearAttr> access;
  struct Dot {
    tile::LinearAttr a, b, acc; // `a` and `b` are null if any layout will do
  };
  llvm::DenseMap<mlir::Operation *, Dot> dots;
};

/// Gives the layout of a dot's accumulator to accesses in loops: loads of the
/// accumulator and stores of the result. The accumulator has 32-bit elements,
/// so that four lanes hold eight neighbours of a row, a sector of memory.
/// Otherwise each iteration would exchange the tile through shared memory:
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

  /// Returns the layout of `value`; null for scalars and rematerializable
  /// values.
  tile::LinearAttr assigned(mlir::Value value) const {
    return assignments.lookup(value);
  }
  bool isRematerializable(mlir::Value value) const {
    return rematerializable.contains(value);
  }
  /// Returns the layout in which a load, store or atomic through a tensor of
  /// pointers executes.
  tile::LinearAttr access(mlir::Operation *op) const;
  /// Returns the layout in which an operation that accepts any layout reads
  /// `value`: plain() of its shape if it is rematerializable, else assigned().
  tile::LinearAttr source(mlir::Value value);
  /// Returns plainLayout() of the shape.
  tile::LinearAttr plain(llvm::ArrayRef<int64_t> shape);
  /// Returns the layout of all operands of a reduction, scan or sort.
  tile::LinearAttr combinedIn(mlir::Operation *op);
  const Anchors &anchors() const { return given; }

  /// True if an access has at most two elements per thread. Such a load is
  /// usually cheaper in a layout that a user wants than with a conversion.
  bool isSmallAccess(mlir::Operation *op) const;
  /// True if a small access in ownLayout() with a conversion is cheaper than
  /// one in `layout`. This requires that `layout` causes more sectors (or
  /// requests, if the stride is unknown). This suffices outside of loops and
  /// for a store in a loop with dots. Other accesses in loops also need four
  /// times the requests, 16 more sectors per warp, or a tile with an element
  /// for every thread. False for a load in a loop if another load's operand is
  /// computed from it.
  bool wastesSectors(mlir::Operation *op, tile::LinearAttr layout);
  /// Returns the layout of an access in anchors(). Bits of the warp number that
  /// no large access and no dot uses become replicas there, and their elements
  /// move to registers.
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
  bool set(mlir::Value value, tile::LinearAttr layout, bool isStrong);
  bool propagate(mlir::Value to, mlir::Value from);
  tile::LinearAttr wantedBy(mlir::OpOperand &use);
  /// Lets a large store take the layout of its value, if that has no more
  /// sectors and requests: no element then moves through shared memory.
  void storeInPlace();
  tile::LinearAttr attr(const layout::LinearLayout &layout) const;

  mlir::func::FuncOp function;
  const Anchors &given;
  int numWarps;
  /// If set, an elementwise result takes the layout of any operand; otherwise
  /// it waits until all operands have one.
  bool eager = false;
  llvm::DenseMap<mlir::Value, tile::LinearAttr> assignments;
  /// Values whose layouts come from the result of a dot on tensor cores, or
  /// that are operands of any dot and have the layout that it wants.
  llvm::DenseSet<mlir::Value> strong;
  llvm::DenseSet<mlir::Value> rematerializable;
  llvm::DenseMap<mlir::Operation *, tile::LinearAttr> accesses, combined;
  std::map<std::vector<int64_t>, tile::LinearAttr> plains;
  /// Per bit of the warp number: true if a large access or a dot uses it.
  llvm::SmallVector<bool> usedWarpBits;
};

/// Attribute of a load, store or atomic (a layout) and of a dot (an array: a,
/// b, acc, or acc alone). Consumed by tessera-assign-layouts.
inline constexpr llvm::StringLiteral kLayoutAttr = "tile.layout";

} // namespace tessera::codegen::gpu
