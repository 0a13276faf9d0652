// codegen/gpu/lower/shared/Shared.cpp - tiles in shared memory, asynchronous
// copies.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/lower/Emitter.h"
#include "codegen/gpu/lower/Families.h"
#include "codegen/gpu/lower/shared/SharedMemory.h"
#include "codegen/gpu/lower/shared/SmemTile.h"
#include "dialect/layout/ShapeOps.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using tessera::layout::Dim;
using tessera::layout::LinearLayout;
using tessera::layout::SharedAccess;

namespace tessera::codegen::gpu {

// Returns the layout without replicas in registers. Appends, for each register
// of `layout`, the register of the result that holds its element.
static LinearLayout distinct(const LinearLayout &layout,
                             llvm::SmallVectorImpl<int64_t> &numbers) {
  LinearLayout result = layout::dropReplication(layout);
  layout::Span span(result.columns(Dim::Register));
  for (int64_t index = 0; index < layout.inSize(Dim::Register); ++index)
    numbers.push_back(int64_t(*span.solve(
        layout.apply(layout::Word(index) << layout.inStart(Dim::Register)))));
  return result;
}

static void emitStore(Emitter &e, tile::SmemStoreOp op) {
  tile::SmemType memory = op.getDst().getType();
  const LinearLayout &layout = e.layoutOf(op.getValue().getType());
  llvm::SmallVector<int64_t> numbers;
  LinearLayout registers = distinct(layout, numbers);
  const Registers &all = e.get(op.getValue());
  Registers values(size_t(registers.inSize(Dim::Register)));
  for (auto [index, number] : llvm::enumerate(numbers))
    values[size_t(number)] = all[index];
  Bits bits(e, memory.getElement());
  SharedAccess access = layout::vectorAccess(
      registers, memory.getLayout().layout(), bits.width());
  llvm::Value *base = e.scalar(op.getDst());
  e.onlyIf(e.isFirstReplica(layout),
           [&] { storeShared(e, access, bits.from(values), 0, base); });
}

// A masked-off copy has source size 0: cp.async fills the bytes beyond the
// source size with zeros (PTX ISA, "cp.async").
static void emitCopy(Emitter &e, tile::AsyncCopyOp op) {
  tile::SmemType memory = op.getDst().getType();
  const LinearLayout &layout = e.layoutOf(op.getPtr().getType());
  LinearLayout offsets = layout.thenInverse(memory.getLayout().layout());
  int64_t unit = bytesInMemory(memory.getElement());
  int64_t vector = int64_t(op.getVector()), bytes = vector * unit;
  const Registers &pointers = e.get(op.getPtr());
  SharedAddresses places(e, offsets, unit, e.scalar(op.getDst()));
  llvm::Value *first = e.isFirstReplica(layout);
  if (!first)
    first = e.b.getTrue();
  // Copies of 16 bytes may bypass the L1 cache (.cg): the kernel reads the tile
  // from shared memory.
  std::string instruction =
      std::string("cp.async.") + (bytes == 16 ? "cg" : "ca") + ".shared.global";
  for (int64_t index = 0; index < int64_t(pointers.size()); index += vector) {
    llvm::Value *size = e.i32(bytes);
    if (op.getMask())
      size =
          e.b.CreateSelect(e.get(op.getMask())[size_t(index)], size, e.i32(0));
    e.assembly("@$3 " + instruction + " [$0], [$1], " + std::to_string(bytes) +
                   ", $2;",
               "r,l,r,b",
               {places.at(index), pointers[size_t(index)], size, first},
               e.b.getVoidTy(), MemoryUse::Write);
  }
}

bool emitShared(Emitter &e, Operation *op) {
  if (auto alloc = dyn_cast<tile::SmemAllocOp>(op)) {
    e.set(alloc, {e.shared(e.scratchOffset(op))});
  } else if (auto index = dyn_cast<tile::SmemIndexOp>(op)) {
    llvm::Value *offset = e.b.CreateMul(
        e.scalar(index.getIndex()), e.i32(index.getType().getBytesPerBuffer()));
    e.set(index,
          {e.b.CreateGEP(e.b.getInt8Ty(), e.scalar(index.getSrc()), offset)});
  } else if (auto trans = dyn_cast<tile::SmemTransOp>(op)) {
    e.set(trans, {e.scalar(trans.getSrc())});
  } else if (auto load = dyn_cast<tile::SmemLoadOp>(op)) {
    // The lowering of a dot emits the loads of its operands.
    if (!loadReadByDot(load))
      e.set(load, SmemTile(e, load).all());
  } else if (auto store = dyn_cast<tile::SmemStoreOp>(op)) {
    emitStore(e, store);
  } else if (auto copy = dyn_cast<tile::AsyncCopyOp>(op)) {
    emitCopy(e, copy);
  } else if (isa<tile::AsyncCommitOp>(op)) {
    e.intrinsic(llvm::Intrinsic::nvvm_cp_async_commit_group, {});
  } else if (auto wait = dyn_cast<tile::AsyncWaitOp>(op)) {
    if (!wait.getLeaving())
      e.unsupported(op, "the wait has no number of groups to leave",
                    "run tessera-async-waits before the lowering");
    e.intrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group,
                {e.i32(int64_t(*wait.getLeaving()))});
  } else if (isa<tile::BarrierOp>(op)) {
    e.barrier();
  } else {
    return isa<tile::AsyncDoneOp>(op);
  }
  return true;
}

} // namespace tessera::codegen::gpu
