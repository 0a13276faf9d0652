// codegen/gpu/layouts/Dots.h - layouts for matrix products.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/layout/LinearLayout.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace tessera::codegen::gpu {

/// The instruction of a dot: mma.sync of m16n8k16 (16 bits), m16n8k8 (tf32),
/// m16n8k32 (8 bits) or m8n8k4 (f64).
struct MmaShape {
  int m = 16, n = 8, k = 16;
  int64_t kWidth = 2; // neighbours along K that a lane holds
};

/// None where no instruction takes the operands: types without one, f32 with
/// `ieee`.
std::optional<MmaShape> instructionShapeOf(tile::DotOp dot);

/// None for a dot that fused multiply-adds must do: one without an instruction,
/// or K less than that of the instruction (rows and columns may be fewer: the
/// lanes that are left over hold replicas).
std::optional<MmaShape> mmaShapeOf(tile::DotOp dot);

struct DotLayouts {
  layout::LinearLayout acc;
  /// None: any layout will do.
  std::optional<layout::LinearLayout> a, b;
  bool tensorCore = false;
};

/// How warps are spread over [M, N] of each dot. Where the result of one dot,
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
