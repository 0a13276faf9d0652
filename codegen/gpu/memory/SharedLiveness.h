// codegen/gpu/memory/SharedLiveness.h - when shared memory holds something.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/tile/TileDialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tessera::codegen::gpu {

/// Operations are numbered in program order; both ends belong to it.
struct LiveRange {
  int64_t first = 0, last = 0;
  bool meets(const LiveRange &other) const {
    return first <= other.last && other.first <= last;
  }
};

struct SharedLiveness {
  /// From the first operation that touches a buffer to the last; a loop that
  /// touches it, all of it, unless each iteration fills the buffer before it
  /// reads.
  llvm::MapVector<mlir::Operation *, LiveRange> buffers;
  llvm::DenseMap<mlir::Operation *, int64_t> numbers;
};

SharedLiveness sharedLiveness(mlir::ModuleOp module);

} // namespace tessera::codegen::gpu
