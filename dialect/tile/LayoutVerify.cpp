// dialect/tile/LayoutVerify.cpp - verifies the layouts of an operation's
// tensors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Implements the table "What lowering may rely on" of
// docs/compiler/gpu-layouts.md.
#include "dialect/layout/ShapeOps.h"
#include "dialect/layout/Share.h"
#include "dialect/tile/TileDialect.h"
#include "dialect/tile/Verify.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;
using layout::Dim;
using layout::LinearLayout;
using layout::Span;
using layout::Word;

// Returns `layout` with the shape `shape`. Axes whose size differs, which the
// operation broadcasts, get bases of zero.
static LinearLayout grownFrom(const LinearLayout &layout,
                              ArrayRef<int64_t> shape) {
  layout::Extents outs = layout::tileExtents(shape.vec());
  std::vector<Word> columns;
  for (Word column : layout.columns()) {
    Word kept = 0;
    int start = 0;
    for (const layout::Extent &out : outs) {
      if (out.bits == layout.outBits(out.dim))
        kept |=
            (column >> layout.outStart(out.dim) & ((Word(1) << out.bits) - 1))
            << start;
      start += out.bits;
    }
    columns.push_back(kept);
  }
  return {layout.ins(), outs, columns};
}

// Verifies that elements stay in their lane and warp, and that each register of
// `result` is a register of `natural`.
static LogicalResult verifyView(Operation *op, const LinearLayout &natural,
                                const LinearLayout &result) {
  if (natural.outs() == result.outs() &&
      natural.columns(Dim::Lane) == result.columns(Dim::Lane) &&
      natural.columns(Dim::Warp) == result.columns(Dim::Warp) &&
      Span(natural.columns(Dim::Register))
          .contains(Span(result.columns(Dim::Register))))
    return success();
  return op->emitOpError(
      "moves elements: the layouts of operand and result do not fit");
}

static LogicalResult verifySame(Operation *op, ValueRange values) {
  Attribute first;
  for (Value value : values) {
    LinearAttr attr = layoutOf(value.getType());
    if (!attr)
      continue;
    if (first && attr != first)
      return op->emitOpError("needs tensors of one layout");
    first = attr;
  }
  return success();
}

LogicalResult tile::verifyLayouts(Operation *op) {
  SmallVector<Value> all(op->getOperands());
  llvm::append_range(all, op->getResults());
  int with = 0, without = 0;
  for (Value value : all)
    if (isa<RankedTensorType>(value.getType()))
      ++(layoutOf(value.getType()) ? with : without);
  if (!with)
    return success();
  if (without)
    return op->emitOpError("has tensors with and without a layout");

  if (isa<LoadOp, StoreOp, AtomicRMWOp, AtomicCASOp>(op))
    return verifySame(op, all);
  if (isa<GatherOp>(op))
    return verifySame(op, {op->getOperand(1), op->getResult(0)});
  if (isa<HistogramOp>(op))
    return verifySame(op, op->getOperands());

  LinearLayout source = layoutOf(op->getOperand(0).getType()).layout();
  LinearAttr attr =
      op->getNumResults() ? layoutOf(op->getResult(0).getType()) : LinearAttr();
  if (!attr)
    return success(); // A scalar.
  LinearLayout result = attr.layout();
  if (auto expand = dyn_cast<ExpandDimsOp>(op))
    return verifyView(op, layout::expandDims(source, int(expand.getAxis())),
                      result);
  if (isa<BroadcastOp>(op))
    return verifyView(op, source, grownFrom(result, layout::shapeOf(source)));
  if (auto trans = dyn_cast<TransOp>(op))
    return verifyView(op,
                      layout::transpose(source, {trans.getOrder().begin(),
                                                 trans.getOrder().end()}),
                      result);
  if (isa<ReshapeOp>(op))
    return verifyView(op, layout::reshape(source, layout::shapeOf(result)),
                      result);
  if (isa<JoinOp>(op))
    return verifyView(op, layout::join(source), result);
  if (isa<SplitOp>(op))
    return verifyView(op, layout::join(result), source);
  auto reduced = [&](int axis) {
    if (failed(verifySame(op, op->getOperands())) ||
        failed(verifySame(op, op->getResults())))
      return failure();
    return verifyView(op, layout::slice(source, axis), result);
  };
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    auto shares = layout::scatteredSlice(source, int(reduce.getAxis()));
    return shares && *shares == result ? success()
                                       : reduced(int(reduce.getAxis()));
  }
  if (auto reduce = dyn_cast<ReduceByOp>(op))
    return reduced(int(reduce.getAxis()));
  return success();
}
