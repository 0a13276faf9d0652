// codegen/gpu/lower/Shape.cpp - ranges, and ops that only rename registers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The layout passes choose layouts of operand and result that agree on lanes
// and warps. The lowering only determines which register of the operand each
// register of the result is. The layouts alone decide that.
#include "codegen/gpu/lower/Emitter.h"
#include "codegen/gpu/lower/Families.h"

#include "dialect/layout/ShapeOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using tessera::layout::Dim;
using tessera::layout::LinearLayout;
using tessera::layout::Word;

namespace tessera::codegen::gpu {

// Returns, for each register of `to`, the register of `from` that holds the
// same element in every lane and warp. `from` is the operand's layout after the
// operation, with the outs of `to`.
static llvm::SmallVector<int64_t> registerMap(Emitter &e, Operation *op,
                                              const LinearLayout &from,
                                              const LinearLayout &to) {
  if (from.outs() != to.outs() ||
      from.columns(Dim::Lane) != to.columns(Dim::Lane) ||
      from.columns(Dim::Warp) != to.columns(Dim::Warp))
    e.unsupported(op, "the layouts of operand and result do not fit",
                  "this is a defect of tessera; please report it");
  layout::Span span;
  std::vector<Word> columns = from.columns(Dim::Register);
  for (Word column : columns)
    span.add(column);
  llvm::SmallVector<int64_t> map;
  for (int64_t index = 0; index < to.inSize(Dim::Register); ++index) {
    Word element = to.apply(Word(index) << to.inStart(Dim::Register));
    auto found = span.solve(element);
    if (!found)
      e.unsupported(op, "the layouts of operand and result do not fit",
                    "this is a defect of tessera; please report it");
    map.push_back(int64_t(*found));
  }
  return map;
}

static void view(Emitter &e, Operation *op, const LinearLayout &transferred) {
  Value result = op->getResult(0);
  const Registers &source = e.get(op->getOperand(0));
  Registers registers;
  for (int64_t index :
       registerMap(e, op, transferred, e.layoutOf(result.getType())))
    registers.push_back(source[size_t(index)]);
  e.set(result, registers);
}

static void emitRange(Emitter &e, tile::RangeOp op) {
  const LinearLayout &layout = e.layoutOf(op.getType());
  llvm::Value *part = e.threadPart(layout);
  Registers result;
  for (int64_t index = 0; index < layout.inSize(Dim::Register); ++index) {
    Word constant = layout.apply(Word(index) << layout.inStart(Dim::Register));
    // Without a common bit, XOR is a sum, which folds into addresses.
    Word threads = 0;
    for (Dim dim : {Dim::Lane, Dim::Warp})
      for (Word column : layout.columns(dim))
        threads |= column;
    int64_t start = op.getStart();
    result.push_back(
        threads & constant
            ? e.b.CreateNSWAdd(e.b.CreateXor(part, e.i32(int64_t(constant))),
                               e.i32(start))
            : e.b.CreateAdd(part, e.i32(int64_t(constant) + start), "",
                            /*HasNUW=*/start >= 0, /*HasNSW=*/true));
  }
  e.set(op, result);
}

static void emitBroadcast(Emitter &e, tile::BroadcastOp op) {
  LinearLayout transferred = e.layoutOf(op.getSrc().getType());
  ArrayRef<int64_t> from = tile::shapeOf(op.getSrc().getType()),
                    to = tile::shapeOf(op.getType());
  // Lanes and warps of the result may differ along a broadcast axis: in the
  // operand, they hold replicas.
  const LinearLayout &wanted = e.layoutOf(op.getType());
  const Registers &source = e.get(op.getSrc());
  // Projects the wanted layout to the axes that are not broadcast.
  std::vector<Word> columns;
  auto project = [&](Word word) {
    Word result = 0;
    for (auto [axis, sizes] : llvm::enumerate(llvm::zip(from, to))) {
      auto [small, large] = sizes;
      if (small != large)
        continue;
      Dim dim = layout::tileDim(int(axis));
      Word mask = Word(large - 1);
      result |= (word >> wanted.outStart(dim) & mask)
                << transferred.outStart(dim);
    }
    return result;
  };
  for (Word column : wanted.columns())
    columns.push_back(project(column));
  LinearLayout projected(wanted.ins(), transferred.outs(), columns);
  Registers registers;
  for (int64_t index : registerMap(e, op, transferred, projected))
    registers.push_back(source[size_t(index)]);
  e.set(op, registers);
}

// Lists the registers of both operands: the new axis is one more register bit.
static void emitJoin(Emitter &e, tile::JoinOp op) {
  const LinearLayout &operand = e.layoutOf(op.getLhs().getType());
  LinearLayout joined = layout::join(operand);
  Registers both = e.get(op.getLhs());
  llvm::append_range(both, e.get(op.getRhs()));
  Registers registers;
  // layout::join() chooses the position of the new register bit. The last
  // coordinate of an element tells which operand its register comes from.
  const LinearLayout &wanted = e.layoutOf(op.getType());
  Dim last = joined.outs().back().dim;
  for (int64_t index : registerMap(e, op, joined, wanted)) {
    Word element = joined.apply(Word(index) << joined.inStart(Dim::Register));
    bool second = element >> joined.outStart(last) & 1;
    // The word of the element in the operand, which lacks the new axis.
    Word rest = element & ((Word(1) << joined.outStart(last)) - 1);
    layout::Span span;
    for (Word column : operand.columns(Dim::Register))
      span.add(column);
    Word register_ = *span.solve(rest);
    registers.push_back(both[register_ + (second ? both.size() / 2 : 0)]);
  }
  e.set(op, registers);
}

static void emitSplit(Emitter &e, tile::SplitOp op) {
  const LinearLayout &whole = e.layoutOf(op.getSrc().getType());
  auto parts = layout::split(whole);
  if (!parts)
    e.unsupported(op, "the last axis of a split is spread over threads",
                  "this is a defect of tessera; please report it");
  const Registers &source = e.get(op.getSrc());
  const LinearLayout &half = e.layoutOf(op.getLhs().getType());
  Registers first, second;
  for (int64_t index : registerMap(e, op, parts->half, half)) {
    int64_t low = index & ((int64_t(1) << parts->registerBit) - 1);
    int64_t place = (index - low) << 1 | low;
    first.push_back(source[size_t(place)]);
    second.push_back(source[size_t(place | int64_t(1) << parts->registerBit)]);
  }
  e.set(op.getLhs(), first);
  e.set(op.getRhs(), second);
}

bool emitShape(Emitter &e, Operation *op) {
  auto operand = [&]() -> const LinearLayout & {
    return e.layoutOf(op->getOperand(0).getType());
  };
  if (auto range = dyn_cast<tile::RangeOp>(op)) {
    emitRange(e, range);
  } else if (auto splat = dyn_cast<tile::SplatOp>(op)) {
    e.set(splat, Registers(size_t(e.numRegisters(splat.getType())),
                           e.scalar(splat.getSrc())));
  } else if (auto expand = dyn_cast<tile::ExpandDimsOp>(op)) {
    view(e, op, layout::expandDims(operand(), int(expand.getAxis())));
  } else if (auto trans = dyn_cast<tile::TransOp>(op)) {
    view(e, op,
         layout::transpose(operand(),
                           {trans.getOrder().begin(), trans.getOrder().end()}));
  } else if (isa<tile::ReshapeOp>(op)) {
    view(e, op,
         layout::reshape(operand(),
                         tile::shapeOf(op->getResult(0).getType()).vec()));
  } else if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
    emitBroadcast(e, broadcast);
  } else if (auto join = dyn_cast<tile::JoinOp>(op)) {
    emitJoin(e, join);
  } else if (auto split = dyn_cast<tile::SplitOp>(op)) {
    emitSplit(e, split);
  } else {
    return false;
  }
  return true;
}

} // namespace tessera::codegen::gpu
