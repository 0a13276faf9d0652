// codegen/gpu/layouts/Dots.h - layouts for matrix products.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/layout/LinearLayout.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace tessera::codegen::gpu {

struct DotLayouts {
  layout::LinearLayout acc;
  /// nullopt means that any layout will do.
  std::optional<layout::LinearLayout> a, b;
};

/// How warps are spread over [M, N] of each dot, whose instructions are known
/// (tessera-dot-instructions). Where the result of one dot,
/// element by element, becomes the operand of another, all warps lie along the
/// axis that the second does not sum over, as far as there are rows: the first
/// one's result is in the registers where the second wants it (softmax(Q K^T)
/// V). Otherwise the tile of a warp is as square as it can be, so that it
/// reads the least of A and B.
///
/// Without tensor cores acc is blocked. When all products of a thread are few,
/// a and b have the rows (columns) of its part of acc, with all of K in its
/// registers; else they may have any layout, for they go through shared memory.
llvm::MapVector<tile::DotOp, DotLayouts> dotLayouts(mlir::func::FuncOp function,
                                                    int numWarps);

} // namespace tessera::codegen::gpu
