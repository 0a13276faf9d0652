// codegen/gpu/lower/rows/Gather.cpp - lowers tile.gather and tile.histogram.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/lower/rows/AxisPlan.h"
#include "codegen/gpu/lower/rows/Sort.h"
#include "codegen/gpu/lower/shared/ScratchArray.h"

#include <optional>

using namespace mlir;
using tessera::layout::Dim;
using tessera::layout::LinearLayout;
using tessera::layout::Word;

namespace tessera::codegen::gpu {

// Returns for each bit of the coordinate along the axis the bit of the lane
// that moves there and nowhere else. Null unless the lanes of a warp hold the
// same register of all elements of a row.
static std::optional<llvm::SmallVector<int>>
lanesAlong(const LinearLayout &layout, int axis) {
  llvm::SmallVector<int> lanes(size_t(layout.outBits(layout::tileDim(axis))),
                               -1);
  for (const layout::Extent &in : layout.ins())
    for (int bit = 0; bit < in.bits; ++bit) {
      const Word along = axisPart(layout, axis, layout.column(in.dim, bit));
      if (!along)
        continue;
      const int place = llvm::countr_zero(along);
      if (in.dim != Dim::Lane ||
          rowPart(layout, axis, layout.column(in.dim, bit)) ||
          along != Word(1) << place || lanes[size_t(place)] >= 0)
        return std::nullopt;
      lanes[size_t(place)] = bit;
    }
  return lanes;
}

// Returns lanesAlong if the elements of `op` can move by shuffles.
static std::optional<llvm::SmallVector<int>>
shuffleLanes(tile::GatherOp op, const LinearLayout &source,
             const LinearLayout &result) {
  if (source != result)
    return std::nullopt;
  return lanesAlong(source, int(op.getAxis()));
}

int64_t gatherScratchBytes(Operation *op) {
  if (auto gather = dyn_cast<tile::GatherOp>(op)) {
    Type type = gather.getSrc().getType();
    tile::LinearAttr source = tile::layoutOf(type),
                     result = tile::layoutOf(gather.getType());
    if (source && result &&
        !shuffleLanes(gather, source.layout(), result.layout()))
      return scratchArrayBytes(tile::elementType(type),
                               int64_t(1) << source.layout().outBits());
  }
  if (auto histogram = dyn_cast<tile::HistogramOp>(op))
    return 4 * tile::shapeOf(histogram.getType()).front();
  return 0;
}

static void expectSame(Emitter &e, Operation *op, Value x, Value y) {
  if (e.layoutOf(x.getType()) != e.layoutOf(y.getType()))
    e.unsupported(op, "the layouts of operands and result do not fit",
                  "this is a defect of tessera; please report it");
}

// Returns an index as i32. Users take it modulo the size of the axis.
static llvm::Value *asIndex(Emitter &e, llvm::Value *at) {
  return at->getType()->isIntegerTy(1)
             ? e.b.CreateZExt(at, e.b.getInt32Ty())
             : e.b.CreateSExtOrTrunc(at, e.b.getInt32Ty());
}

// Reads each element from the lane of its row that holds it.
static void gatherByShuffles(Emitter &e, tile::GatherOp op,
                             llvm::ArrayRef<int> lanes) {
  int64_t moved = 0;
  for (int bit : lanes)
    moved |= int64_t(1) << bit;
  llvm::Value *row = e.b.CreateAnd(e.lane(), e.i32(31 & ~moved));
  Registers registers;
  for (auto [value, at] :
       llvm::zip_equal(e.get(op.getSrc()), e.get(op.getIndices()))) {
    llvm::Value *along = asIndex(e, at);
    llvm::Value *lane = row;
    for (auto [bit, to] : llvm::enumerate(lanes)) {
      llvm::Value *one = e.b.CreateAnd(along, e.i32(int64_t(1) << bit));
      lane = e.b.CreateOr(
          lane, int(bit) < to ? e.b.CreateShl(one, uint64_t(to - int(bit)))
                              : e.b.CreateLShr(one, uint64_t(int(bit) - to)));
    }
    registers.push_back(
        e.shuffle(llvm::Intrinsic::nvvm_shfl_sync_idx_i32, value, lane, 31));
  }
  e.set(op, registers);
}

static void emitGather(Emitter &e, tile::GatherOp op) {
  expectSame(e, op, op.getIndices(), op.getResult());
  const LinearLayout source = e.layoutOf(op.getSrc().getType());
  const LinearLayout result = e.layoutOf(op.getType());
  if (auto lanes = shuffleLanes(op, source, result))
    return gatherByShuffles(e, op, *lanes);
  int axis = int(op.getAxis());
  int64_t size = tile::shapeOf(op.getSrc().getType())[axis];
  ScratchArray array = scratchArrays(e, op, tile::elementType(op.getType()),
                                     int64_t(1) << source.outBits())
                           .front();
  e.enterScratch();
  storeTile(e, array, source, e.get(op.getSrc()));
  e.barrier();
  llvm::Value *thread = e.threadPart(rowsOf(result, axis));
  Registers registers;
  for (auto [index, at] : llvm::enumerate(e.get(op.getIndices()))) {
    Word word = result.apply(Word(index) << result.inStart(Dim::Register));
    llvm::Value *row =
        e.b.CreateXor(thread, e.i32(int64_t(rowPart(result, axis, word))));
    // An index outside of the axis is taken modulo its size, a power of two.
    llvm::Value *along = asIndex(e, at);
    along = e.b.CreateAnd(along, uint64_t(size - 1));
    registers.push_back(
        array.load(array.address(joinWord(e, source, axis, along, row))));
  }
  e.set(op, registers);
}

// Counts by atomics in shared memory. The counters are integers, so the order
// of additions does not matter.
static void emitHistogram(Emitter &e, tile::HistogramOp op) {
  const LinearLayout source = e.layoutOf(op.getSrc().getType());
  const LinearLayout result = e.layoutOf(op.getType());
  if (op.getMask())
    expectSame(e, op, op.getSrc(), op.getMask());
  Type element = tile::elementType(op.getType());
  int64_t bins = tile::shapeOf(op.getType()).front();
  ScratchArray array = scratchArrays(e, op, element, bins).front();
  e.enterScratch();
  storeTile(e, array, result,
            Registers(size_t(result.inSize(Dim::Register)), e.i32(0)));
  e.barrier();
  e.onlyIf(e.isFirstReplica(source), [&] {
    const Registers &values = e.get(op.getSrc());
    for (auto [index, from] : llvm::enumerate(e.registerSources(source))) {
      if (int64_t(index) != from)
        continue;
      llvm::Value *counts = e.b.CreateICmpULT(values[index], e.i32(bins));
      if (op.getMask())
        counts = e.b.CreateAnd(counts, e.get(op.getMask())[index]);
      e.onlyIf(counts, [&] {
        e.b.CreateAtomicRMW(llvm::AtomicRMWInst::Add,
                            array.address(values[index]), e.i32(1),
                            llvm::Align(4), llvm::AtomicOrdering::Monotonic);
      });
    }
  });
  e.barrier();
  ThreadWord thread(e, result);
  Registers registers;
  for (int64_t index = 0; index < result.inSize(Dim::Register); ++index)
    registers.push_back(array.load(array.address(
        thread, result.apply(Word(index) << result.inStart(Dim::Register)))));
  e.set(op, registers);
}

bool emitGather(Emitter &e, Operation *op) {
  if (auto gather = dyn_cast<tile::GatherOp>(op))
    emitGather(e, gather);
  else if (auto histogram = dyn_cast<tile::HistogramOp>(op))
    emitHistogram(e, histogram);
  else
    return false;
  return true;
}

} // namespace tessera::codegen::gpu
