// codegen/gpu/memory/Scratch.cpp - places of scratch in shared memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/memory/Scratch.h"

#include "codegen/analysis/MemoryModel.h"
#include "codegen/gpu/memory/ScratchBarriers.h"
#include "codegen/gpu/memory/SharedLiveness.h"

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

namespace {
struct Span {
  int64_t offset, bytes;
  LiveRange live;
};

// The lowest place for `bytes` that is free all the time.
int64_t firstFit(ArrayRef<Span> blocks, int64_t bytes, LiveRange live) {
  SmallVector<const Span *> meeting;
  for (const Span &block : blocks)
    if (block.live.meets(live))
      meeting.push_back(&block);
  llvm::sort(meeting, [](const Span *a, const Span *b) {
    return a->offset < b->offset;
  });
  int64_t offset = 0;
  for (const Span *block : meeting) {
    if (offset + bytes <= block->offset)
      break;
    offset = std::max(
        offset,
        int64_t(llvm::alignTo(block->offset + block->bytes, kBufferAlignment)));
  }
  return offset;
}
} // namespace

// Small scratch stands beside that of the two operations before it, so that
// neither waits for the other's readers (ScratchBarriers.h).
constexpr int64_t kSmallScratch = 2048;

// Memory is used again: by another buffer that is live at another time, and by
// scratch where no buffer is live. Whoever writes there first waits for all
// threads before (Scratch.h), so that those that still read are done.
void allocateScratch(ModuleOp module, const GpuOptions &options) {
  Builder builder(module.getContext());
  SharedLiveness liveness = sharedLiveness(module);
  int64_t most = 0;
  Operation *largest = nullptr;
  SmallVector<Span> blocks;
  auto place = [&](Operation *op, int64_t bytes, LiveRange live) {
    int64_t offset = firstFit(blocks, bytes, live);
    op->setAttr(tile::kScratchOffsetAttr, builder.getI64IntegerAttr(offset));
    if (offset + bytes > most) {
      most = offset + bytes;
      largest = op;
    }
    return offset;
  };
  // The largest first: small ones fit into what they leave.
  auto buffers = liveness.buffers.takeVector();
  llvm::stable_sort(buffers, [](const auto &a, const auto &b) {
    return cast<tile::SmemAllocOp>(a.first).getType().getBytes() >
           cast<tile::SmemAllocOp>(b.first).getType().getBytes();
  });
  for (auto &[op, live] : buffers) {
    int64_t bytes = cast<tile::SmemAllocOp>(op).getType().getBytes();
    blocks.push_back({place(op, bytes, live), bytes, live});
  }
  llvm::DenseMap<Operation *, int64_t> sizes;
  SmallVector<Span> recent; // small scratch of the last two operations
  Operation *undescribed = nullptr;
  module.walk([&](Operation *op) {
    if (isa<tile::SmemAllocOp>(op) && !op->hasAttr(tile::kScratchOffsetAttr))
      op->setAttr(tile::kScratchOffsetAttr,
                  builder.getI64IntegerAttr(0)); // unused
    int64_t bytes = scratchBytes(op, options);
    if (!bytes)
      return;
    sizes[op] = bytes;
    const ScratchUse use = memoryBehaviorOf(op).scratch;
    if (use == ScratchUse::None)
      undescribed = op;
    int64_t number = liveness.numbers[op];
    LiveRange live{number, number};
    if (bytes > kSmallScratch || use != ScratchUse::MayOmitFirst) {
      place(op, bytes, live);
      return;
    }
    size_t count = blocks.size();
    for (Span &block : recent)
      blocks.push_back({block.offset, block.bytes, live});
    int64_t offset = place(op, bytes, live);
    blocks.truncate(count);
    if (recent.size() == 2)
      recent.erase(recent.begin());
    recent.push_back({offset, bytes, live});
  });
  if (undescribed)
    throw Error(
        whereOf(undescribed->getLoc()) +
            ": error: " + undescribed->getName().getStringRef().str() +
            " takes shared memory that codegen/analysis/MemoryModel.cpp "
            "does not tell of",
        "this is a defect of tessera; please report it");
  insertScratchBarriers(module,
                        [&](Operation *op) { return sizes.lookup(op); });
  module->setAttr(kSharedBytesAttr, builder.getI64IntegerAttr(most));
  if (most > options.target.sharedPerBlock)
    throw Error(whereOf(largest->getLoc()) + ": error: the kernel needs " +
                    std::to_string(most) +
                    " bytes of shared memory here; a block on " +
                    options.target.name + " has " +
                    std::to_string(options.target.sharedPerBlock),
                "use smaller tiles or more warps");
}

} // namespace tessera::codegen::gpu
