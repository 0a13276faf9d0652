// codegen/gpu/masks/TileBounds.h - bounds of a tile's elements as scalars.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A tile of integers is mostly a range with scalars added: `n + arange(0, 64)`,
// `min(rows // 4, length - 1)`. Its least and its greatest element are then
// scalars that a few instructions compute, however large the tile is. With them
// a comparison of two tiles holds everywhere when it holds of two scalars:
//
//     n + arange(0, 64) <= t    everywhere if    n + 63 <= least of t
//
// Numbers wrap. A bound is that of the elements as they are, so wherever the
// sum or product behind it could leave its type for all that AxisInfo knows, a
// comparison is written that says that it does not, and the result holds only
// with it. A loop's counter may end anywhere below the end of its type, so the
// comparison is one of the loop's upper bound; it is left out where the counter
// is a multiple of a power of two that the sum does not reach.
#pragma once

#include "codegen/analysis/AxisInfo.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

#include <optional>

namespace tessera::codegen::gpu {

/// Writes scalars where its builder stands; all operands must be visible there.
class TileBounds {
public:
  TileBounds(mlir::OpBuilder &builder, mlir::Location loc,
             const AxisInfoAnalysis &axes)
      : b(builder), loc(loc), axes(axes) {}

  /// A scalar i1: where it is true every element of `mask`, a tensor of i1, is
  /// `wanted`. The reverse need not hold. Null where none is known; what was
  /// written by then is left behind without uses.
  mlir::Value all(mlir::Value mask, bool wanted = true);

private:
  // A scalar, and what is known of it before the kernel runs. `value` is null
  // where least == most.
  struct Bound {
    mlir::Value value;
    int64_t least, most;
  };
  // Every element is in low .. high.
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
  // bound <= end, end <= bound; or a condition from which that follows.
  void requireAtMost(const Bound &bound, int64_t end);
  void requireAtLeast(const Bound &bound, int64_t end);
  // The loop whose counter the bound is; null if it is none.
  static mlir::scf::ForOp loopOf(const Bound &bound);
  mlir::Value materialize(const Bound &bound, mlir::Type type);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const AxisInfoAnalysis &axes;
  llvm::DenseMap<mlir::Value, Found> known;
  mlir::Value required; // what all bounds so far rest on; null: nothing
};

} // namespace tessera::codegen::gpu
