// codegen/gpu/layouts/AccessLayouts.h - layouts for loads, stores and atomics.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/analysis/AxisInfo.h"
#include "dialect/layout/LinearLayout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace tessera::codegen::gpu {

/// Returns a blocked layout of `shape`: `width` neighbours along order[0] in a
/// lane, lanes along order[0] and then the next axis, then warps; of single
/// elements order[0] is the last axis for warps. What is left repeats in
/// registers, surplus lanes and warps hold replicas. `line` is the number of
/// elements of a line of the cache; where there are enough rows for all lanes
/// and warps, the lanes take at most a line of each row, and the other lines
/// are registers, whose addresses differ by constants. With 0 lanes take
/// complete rows. `rowsTogether`: a lane has neighbouring rows, which become
/// vectors on their way to shared memory.
layout::LinearLayout accessLayout(llvm::ArrayRef<int64_t> shape,
                                  llvm::ArrayRef<int> order, int64_t width,
                                  int numWarps, int64_t line,
                                  bool rowsTogether = false);

/// Returns accessLayout() with the last axis fastest and one element per lane.
layout::LinearLayout plainLayout(llvm::ArrayRef<int64_t> shape, int numWarps);

/// Returns the layouts of the operations of a function that access memory
/// through a tensor of pointers. Along the axis of contiguous addresses, a lane
/// holds neighbouring elements, so that it moves up to 16 bytes at once and a
/// warp moves complete sectors. Accesses whose data are operands of the same
/// elementwise operations get one layout, that of the widest access.
llvm::MapVector<mlir::Operation *, layout::LinearLayout>
accessLayouts(mlir::func::FuncOp function, const AxisInfoAnalysis &axes,
              int numWarps);

/// Returns an estimate of how often the operations of a region run per run of
/// the kernel; 1 outside of loops.
int64_t iterationsIn(mlir::Region *region);

/// Returns the pointer operand of a load, store or atomic; null for other
/// operations and for a scalar pointer.
mlir::Value tensorOfPointers(mlir::Operation *op);

/// Returns the mask of a load, store or atomic read-modify-write; null for
/// other operations and without a mask.
mlir::Value maskOf(mlir::Operation *op);

} // namespace tessera::codegen::gpu
