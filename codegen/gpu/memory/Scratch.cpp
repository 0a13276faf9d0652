// codegen/gpu/memory/Scratch.cpp - sizes and offsets of scratch memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/memory/Scratch.h"

#include "codegen/SourceLines.h"
#include "dialect/tile/TileDialect.h"
#include "support/Error.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tessera::codegen::gpu {

int64_t scratchBytes(Operation *op, const GpuOptions &options) {
  return convertScratchBytes(op, options) + reduceScratchBytes(op, options) +
         scanScratchBytes(op, options) + atomicScratchBytes(op, options) +
         dotScratchBytes(op, options);
}

static int64_t numberOf(Operation *op, StringRef name) {
  auto attr = op->getAttrOfType<IntegerAttr>(name);
  return attr ? attr.getInt() : -1;
}

std::optional<SharedPart> sharedPartOf(Operation *op) {
  auto alloc = dyn_cast<tile::SmemAllocOp>(op);
  const int64_t first = numberOf(op, tile::kScratchOffsetAttr),
                bytes = alloc ? alloc.getType().getBytes()
                              : numberOf(op, kScratchBytesAttr);
  if (first < 0 || bytes < 0)
    return std::nullopt;
  return SharedPart(first, first + bytes);
}

void checkSharedMemory(ModuleOp module, const GpuOptions &options) {
  const int64_t most = numberOf(module, kSharedBytesAttr);
  Operation *largest = module, *homeless = most < 0 ? module : nullptr;
  module.walk([&](Operation *op) {
    std::optional<SharedPart> part = sharedPartOf(op);
    const int64_t bytes = scratchBytes(op, options);
    if (isa<tile::SmemAllocOp>(op)
            ? !part
            : bytes != (part ? part->second - part->first : 0))
      homeless = op;
    if (part && part->second == most)
      largest = op;
  });
  if (homeless)
    throw Error(whereOf(homeless->getLoc()) +
                    ": error: " + homeless->getName().getStringRef().str() +
                    " has no place in shared memory",
                "run tessera-allocate-shared before the lowering");
  if (most > options.target.sharedPerBlock)
    throw Error(whereOf(largest->getLoc()) + ": error: the kernel needs " +
                    std::to_string(most) +
                    " bytes of shared memory here; a block on " +
                    options.target.name + " has " +
                    std::to_string(options.target.sharedPerBlock),
                "use smaller tiles or more warps");
}

} // namespace tessera::codegen::gpu
