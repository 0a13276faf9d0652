// codegen/gpu/memory/SharedLiveness.h - live ranges of shared memory buffers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// tessera-allocate-shared uses the ranges to let buffers share memory.
#pragma once

#include "dialect/tile/TileDialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tessera::codegen::gpu {

/// A range of operation numbers in program order. It includes both ends.
struct LiveRange {
  int64_t first = 0, last = 0;
  bool meets(const LiveRange &other) const {
    return first <= other.last && other.first <= last;
  }
};

struct SharedLiveness {
  /// Per tile.smem_alloc, the range from the first to the last operation that
  /// accesses the buffer. It includes all of a loop with an access, unless each
  /// iteration allocates the buffer or fills it before it reads. Unused buffers
  /// are missing.
  llvm::MapVector<mlir::Operation *, LiveRange> buffers;
  /// The number of every operation of the module.
  llvm::DenseMap<mlir::Operation *, int64_t> numbers;
};

/// Returns the live ranges of all buffers of the module.
SharedLiveness sharedLiveness(mlir::ModuleOp module);

} // namespace tessera::codegen::gpu
