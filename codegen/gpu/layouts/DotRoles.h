// codegen/gpu/layouts/DotRoles.h - which operand of a dot is the A of mma.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace tessera::codegen::gpu {

/// What the dots around a dot say about it. a b = (b^T a^T)^T: with `swapped`
/// the instruction's rows are the columns of the result. Rows and columns
/// below are those of the instruction.
struct DotRoles {
  bool swapped = false;
  /// Votes for spreading warps along rows or columns, from the chains of dots
  /// that contain this dot (softmax(q k^T) v: rows of both).
  int rows = 0, columns = 0;
  /// An operand is the accumulator of another dot without a conversion: along
  /// K, each lane holds pairs of neighbours.
  bool chained = false;
  /// Its columns become rows of another dot's instruction or come from there:
  /// a warp has 16 neighbours of them, not 8.
  bool pairedColumns = false;
  /// Rows g and g + 8 of a fragment are neighbours 2 g and 2 g + 1: A comes
  /// from memory that runs along its rows, 32 bits an element, two at a time.
  bool pairedRows = false;
};

/// Follows the elements of each dot's result to operands of other dots, and
/// operands back to the loads they come from.
///
/// An accumulator has its columns in pairs in a lane, its rows in eight groups
/// of lanes; operands have K in pairs and the other axis in eight groups. So
/// what another dot sums over has to be a column of the instruction, which
/// decides `swapped` of a dot that feeds others (s of p^T do: the columns of
/// s^T = k q^T are the rows of do). A dot of 32-bit operands that feeds none is
/// swapped if its B is contiguous along N in memory. No instruction transposes
/// 32-bit elements on the way, but a lane's fragment of A can have neighbours
/// along M, and a fragment of B cannot have neighbours along N.
llvm::MapVector<tile::DotOp, DotRoles> dotRoles(mlir::func::FuncOp function,
                                                int numWarps);

} // namespace tessera::codegen::gpu
