// codegen/cpu/plan/MovingTiles.h - tiles that a loop loads from other addresses
// in each iteration.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/analysis/AxisInfo.h"
#include "codegen/cpu/plan/Plan.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace tessera::codegen::cpu {

/// A tile that a loop loads in each iteration, from other addresses each time.
struct MovingTile {
  mlir::Value pointers;
  /// The dimension along which addresses are neighbours, and the other one.
  unsigned along = 1, across = 0;
  int64_t rows = 0, linesOfRow = 0, elementsOfLine = 0;
  int64_t lines() const { return rows * linesOfRow; }
  /// The scalars of the loop's body that the addresses depend on.
  llvm::SetVector<mlir::Value> scalars;
};

/// Returns the amount by which the carried scalar `argument` grows in each
/// iteration of `loop`, if it is known before the loop; otherwise null.
mlir::Value stepOf(mlir::scf::ForOp loop, mlir::BlockArgument argument);

/// Returns the tiles whose next addresses can be computed while `dot` runs: of
/// the loads in the block of `dot`, the body of a loop, those for which it is
/// the first dot that follows. Leaves out tiles for which the dot does little
/// work.
llvm::SmallVector<MovingTile> movingTiles(tile::DotOp dot, const Plan &plan,
                                          const AxisInfoAnalysis &axes);

} // namespace tessera::codegen::cpu
