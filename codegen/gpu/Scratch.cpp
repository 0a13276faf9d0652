// codegen/gpu/Scratch.cpp - places of scratch in shared memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/Scratch.h"

#include "codegen/Where.h"
#include "dialect/tile/TileDialect.h"
#include "support/Error.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;

namespace tessera::codegen::gpu {

int64_t scratchBytes(Operation *op, const GpuOptions &options) {
  return convertScratchBytes(op, options) + reduceScratchBytes(op, options) +
         scanScratchBytes(op, options) + atomicScratchBytes(op, options) +
         dotScratchBytes(op, options);
}

// Buffers of 128 bytes and more start where banks do.
constexpr int64_t kBufferAlignment = 128;

// Buffers live as long as the kernel; scratch is short-lived, so all of it
// shares one place behind them.
void allocateScratch(ModuleOp module, const GpuOptions &options) {
  Builder builder(module.getContext());
  int64_t buffers = 0, most = 0;
  Operation *largest = nullptr;
  module.walk([&](tile::SmemAllocOp alloc) {
    alloc->setAttr(kScratchOffsetAttr, builder.getI64IntegerAttr(buffers));
    buffers =
        llvm::alignTo(buffers + alloc.getType().getBytes(), kBufferAlignment);
    largest = alloc;
  });
  module.walk([&](Operation *op) {
    int64_t bytes = scratchBytes(op, options);
    if (!bytes)
      return;
    op->setAttr(kScratchOffsetAttr, builder.getI64IntegerAttr(buffers));
    if (bytes > most) {
      most = bytes;
      largest = op;
    }
  });
  most += buffers;
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
