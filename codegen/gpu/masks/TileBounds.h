// codegen/gpu/masks/TileBounds.h - scalar bounds of the elements of a tile.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A tile of integers is often a range plus scalars: `n + arange(0, 64)` or
// `min(rows // 4, length - 1)`. A few instructions then compute its least and
// its greatest element as scalars, for a tile of any size. A comparison of two
// tiles holds for all elements if it holds for two scalars:
//
//     n + arange(0, 64) <= t    everywhere if    n + 63 <= least of t
//
// Integers wrap. If AxisInfo cannot exclude that a sum or product wraps,
// TileBounds emits a comparison that excludes it and adds that comparison to
// the result's conditions. For a loop's induction variable, it compares the
// loop's bound instead: that comparison is computed once, before the loop.
// tessera-guard-masks uses this class.
#pragma once

#include "codegen/analysis/AxisInfo.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

#include <optional>

namespace tessera::codegen::gpu {

/// Emits scalars at the builder's insertion point, where all operands must be
/// visible.
class TileBounds {
public:
  TileBounds(mlir::OpBuilder &builder, mlir::Location loc,
             const AxisInfoAnalysis &axes)
      : b(builder), loc(loc), axes(axes) {}

  /// Returns a scalar i1. If it is true, every element of `mask`, a tensor of
  /// i1, is `wanted`; the converse need not hold. Returns null if no bounds are
  /// known; operations emitted before that stay, without uses.
  mlir::Value all(mlir::Value mask, bool wanted = true);

private:
  // A scalar and its range that is known at compile time. `value` is null for a
  // constant, for which least == most.
  struct Bound {
    mlir::Value value;
    int64_t least, most;
  };
  // Every element e satisfies low <= e <= high.
  struct Interval {
    Bound low, high;
  };
  using Found = std::optional<Interval>;
  enum class Side { Low, High };
  enum class Sum { Add, Sub };

  mlir::Value holds(mlir::Value mask, bool wanted);
  mlir::Value compare(mlir::Value mask, bool wanted);
  mlir::Value less(const Bound &a, const Bound &b, bool orEqual);
  Found of(mlir::Value tile);
  Found always(mlir::Value tile);
  Found computed(mlir::Operation *op, mlir::Type type);
  Found ofScalar(mlir::Value value);
  Found sum(Sum kind, mlir::Value lhs, mlir::Value rhs);
  Found product(mlir::Value lhs, mlir::Value rhs);
  Found quotient(mlir::Value lhs, mlir::Value rhs);
  Found extremum(mlir::Value lhs, mlir::Value rhs, bool greatest);
  std::optional<Bound> added(Sum kind, const Bound &a, const Bound &b,
                             Side side, mlir::Type type);
  std::optional<Bound> scaled(const Bound &a, int64_t factor, Side side,
                              mlir::Type type);
  Bound pick(const Bound &a, const Bound &b, bool greatest, mlir::Type type);
  void require(mlir::Value condition);
  // Adds bound <= end or end <= bound to `required`, or a condition that
  // implies it.
  void requireAtMost(const Bound &bound, int64_t end);
  void requireAtLeast(const Bound &bound, int64_t end);
  // Returns the loop whose induction variable the bound is; null if the bound
  // is another value.
  static mlir::scf::ForOp loopOf(const Bound &bound);
  mlir::Value materialize(const Bound &bound, mlir::Type type);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const AxisInfoAnalysis &axes;
  llvm::DenseMap<mlir::Value, Found> known;
  mlir::Value required; // condition of all bounds so far; null means true
};

} // namespace tessera::codegen::gpu
