// codegen/gpu/Scratch.cpp - places of scratch in shared memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/Scratch.h"

#include "codegen/Where.h"
#include "dialect/tile/TileDialect.h"
#include "support/Error.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <algorithm>

using namespace mlir;

namespace tessera::codegen::gpu {

int64_t scratchBytes(Operation *op, const GpuOptions &options) {
  return convertScratchBytes(op, options) + reduceScratchBytes(op, options) +
         scanScratchBytes(op, options) + atomicScratchBytes(op, options) +
         dotScratchBytes(op, options);
}

// All scratch is short-lived, so all of it shares one place.
void allocateScratch(ModuleOp module, const GpuOptions &options) {
  Builder builder(module.getContext());
  int64_t most = 0;
  Operation *largest = nullptr;
  module.walk([&](Operation *op) {
    int64_t bytes = scratchBytes(op, options);
    if (!bytes)
      return;
    op->setAttr(kScratchOffsetAttr, builder.getI64IntegerAttr(0));
    if (bytes > most) {
      most = bytes;
      largest = op;
    }
  });
  if (most > options.target.sharedPerBlock)
    throw Error(whereOf(largest->getLoc()) + ": error: the kernel needs " +
                    std::to_string(most) +
                    " bytes of shared memory here; a block on " +
                    options.target.name + " has " +
                    std::to_string(options.target.sharedPerBlock),
                "use smaller tiles or more warps");
  module->setAttr(kSharedBytesAttr, builder.getI64IntegerAttr(most));
}

} // namespace tessera::codegen::gpu
