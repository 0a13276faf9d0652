// codegen/gpu/memory/AllocateShared.cpp - assigns offsets in shared memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The pass gives every buffer and every operation's scratch an offset. Buffers
// whose live ranges do not overlap may share memory:
//
//     a = smem_alloc   1 KiB           offset 0
//     .. store a, load a ..
//     convert_layout   512 B scratch   offset 0     (a is not live any more)
//     b = smem_alloc   2 KiB           offset 0
//     reduce           128 B scratch   offset 2048  (b is live)
//     .. load b ..
#include "codegen/analysis/MemoryModel.h"
#include "codegen/gpu/kernel/Warps.h"
#include "codegen/gpu/memory/Scratch.h"
#include "codegen/gpu/memory/SharedLiveness.h"
#include "codegen/gpu/passes/Passes.h"
#include "support/Error.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>

#define DEBUG_TYPE "tessera-allocate-shared"

using namespace mlir;

namespace tessera::codegen::gpu {

#define GEN_PASS_DEF_ALLOCATESHAREDPASS
#include "codegen/gpu/passes/Passes.h.inc"

// Alignment of all offsets: 32 banks of 4 bytes. A buffer starts at bank 0.
constexpr int64_t kBufferAlignment = 128;

// Scratch up to this size does not overlap the small scratch of the previous
// two operations. Then no operation must wait for the readers of the other two.
constexpr int64_t kSmallScratch = 2048;

namespace {
struct Placed {
  int64_t offset, bytes;
  LiveRange live;
};

// Returns the lowest offset at which `bytes` are free during all of `live`.
int64_t firstFit(ArrayRef<Placed> blocks, int64_t bytes, LiveRange live) {
  SmallVector<const Placed *> meeting;
  for (const Placed &block : blocks)
    if (block.live.meets(live))
      meeting.push_back(&block);
  llvm::sort(meeting, [](const Placed *a, const Placed *b) {
    return a->offset < b->offset;
  });
  int64_t offset = 0;
  for (const Placed *block : meeting) {
    if (offset + bytes <= block->offset)
      break;
    offset = std::max(
        offset,
        int64_t(llvm::alignTo(block->offset + block->bytes, kBufferAlignment)));
  }
  return offset;
}

// Reuses memory for buffers that are live at different times, and for scratch
// where no buffer is live. Before the first write of a new use, all threads
// wait at a barrier: threads may still read what the memory held before.
class SharedAllocation {
public:
  SharedAllocation(ModuleOp module, const GpuOptions &options)
      : module(module), options(options), builder(module.getContext()),
        liveness(sharedLiveness(module)) {}

  LogicalResult run() {
    placeBuffers();
    bool described = true;
    module.walk([&](Operation *op) {
      op->removeAttr(kScratchBytesAttr);
      op->removeAttr(kScratchOfWarpAttr);
      if (isa<tile::SmemAllocOp>(op)) {
        if (!liveness.buffers.contains(op))
          place(op, 0, {}); // unused
        return;
      }
      op->removeAttr(tile::kScratchOffsetAttr);
      if (int64_t bytes = scratchBytes(op, options))
        described &= succeeded(placeScratch(op, bytes));
    });
    module->setAttr(kSharedBytesAttr, builder.getI64IntegerAttr(most));
    return success(described);
  }

private:
  int64_t place(Operation *op, int64_t bytes, LiveRange live) {
    assert(bytes >= 0 && live.first <= live.last && "an empty live range");
    int64_t offset = bytes ? firstFit(blocks, bytes, live) : 0;
    op->setAttr(tile::kScratchOffsetAttr, builder.getI64IntegerAttr(offset));
    most = std::max(most, offset + bytes);
    LDBG() << op->getName() << " at " << op->getLoc() << ": " << bytes
           << " bytes from " << offset << ", live from " << live.first << " to "
           << live.last;
    return offset;
  }

  // Places the largest buffers first, because small ones fit into the gaps.
  void placeBuffers() {
    auto bytesOf = [](const auto &buffer) {
      return cast<tile::SmemAllocOp>(buffer.first).getType().getBytes();
    };
    auto buffers = llvm::to_vector(liveness.buffers);
    llvm::stable_sort(buffers, [&](const auto &a, const auto &b) {
      return bytesOf(a) > bytesOf(b);
    });
    for (auto &buffer : buffers) {
      int64_t bytes = bytesOf(buffer);
      blocks.push_back(
          {place(buffer.first, bytes, buffer.second), bytes, buffer.second});
    }
  }

  LogicalResult placeScratch(Operation *op, int64_t bytes) {
    const ScratchUse use = memoryBehaviorOf(op).scratch;
    if (use == ScratchUse::None)
      return op->emitOpError("takes shared memory that "
                             "codegen/analysis/MemoryModel.cpp does not tell "
                             "of");
    op->setAttr(kScratchBytesAttr, builder.getI64IntegerAttr(bytes));
    if (hasScratchOfWarp(op, options))
      op->setAttr(kScratchOfWarpAttr, builder.getUnitAttr());
    int64_t number = liveness.numbers[op];
    LiveRange live{number, number};
    if (bytes > kSmallScratch || use != ScratchUse::MayOmitFirst) {
      place(op, bytes, live);
      return success();
    }
    size_t count = blocks.size();
    for (Placed &block : recent)
      blocks.push_back({block.offset, block.bytes, live});
    int64_t offset = place(op, bytes, live);
    blocks.truncate(count);
    if (recent.size() == 2)
      recent.erase(recent.begin());
    recent.push_back({offset, bytes, live});
    return success();
  }

  ModuleOp module;
  const GpuOptions &options;
  Builder builder;
  SharedLiveness liveness;
  SmallVector<Placed> blocks;
  SmallVector<Placed> recent; // small scratch of the previous two operations
  int64_t most = 0;
};

struct AllocateSharedPass
    : public impl::AllocateSharedPassBase<AllocateSharedPass> {
  using Base::Base;

  void runOnOperation() final {
    ModuleOp module = getOperation();
    // Scratch barriers depend on offsets, which this pass assigns again.
    module.walk([](tile::BarrierOp barrier) {
      if (!barrier.getScratch())
        return;
      LDBG() << "scratch barrier removed at " << barrier.getLoc();
      barrier.erase();
    });
    GpuOptions options;
    try {
      options.target = GpuTarget::parse(target);
    } catch (const Error &error) {
      module.emitError(error.message);
      return signalPassFailure();
    }
    options.numWarps = numWarps;
    if (failed(SharedAllocation(module, withWarpsOf(module, options)).run()))
      signalPassFailure();
  }
};

} // namespace

} // namespace tessera::codegen::gpu

#undef DEBUG_TYPE
