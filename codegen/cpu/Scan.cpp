// codegen/cpu/Scan.cpp - emits scans and histograms.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::codegen::cpu {

Value Emitter::combineScan(tile::ScanKind kind, Type element, Value x,
                           Value y) {
  switch (kind) {
  case tile::ScanKind::Sum:
    return combine(tile::ReduceKind::Sum, element, x, y);
  case tile::ScanKind::Max:
    return combine(tile::ReduceKind::Max, element, x, y);
  case tile::ScanKind::Min:
    return combine(tile::ReduceKind::Min, element, x, y);
  case tile::ScanKind::Prod:
    break;
  }
  if (isa<FloatType>(registerType(element)))
    return lanes.roundTo(element, arith::MulFOp::create(b, loc, x, y));
  return arith::MulIOp::create(b, loc, x, y);
}

void Emitter::emitScan(tile::ScanOp op) {
  Value source = op.getSrc();
  ArrayRef<int64_t> shape = tile::shapeOf(source.getType());
  Type element = tile::elementType(source.getType());
  int axis = int(op.getAxis()), last = int(shape.size()) - 1;
  // Vectorizes across the scans if they are adjacent in memory.
  int lane = axis == last || shape[last] == 1 ? -1 : last;
  int64_t width = lane < 0 ? 1 : laneWidth(shape[lane]);
  SmallVector<int64_t> kept(shape);
  kept.erase(kept.begin() + axis);
  View view = viewOf(plan.bufferOf(op.getResult()));
  nest(kept, lane < 0 ? -1 : lane - 1, width, [&](const Index &outer) {
    loc = op.getLoc();
    Type type = registerType(element);
    Value start;
    switch (op.getKind()) {
    case tile::ScanKind::Sum:
      start = lanes.zero(type);
      break;
    case tile::ScanKind::Prod:
      start =
          isa<FloatType>(type) ? lanes.real(type, 1) : lanes.integer(type, 1);
      break;
    case tile::ScanKind::Max:
    case tile::ScanKind::Min:
      start = lowest(element, op.getKind() == tile::ScanKind::Max);
      break;
    }
    Index index;
    index.lane = width > 1 ? lane : -1;
    index.width = width;
    carry(shape[axis], 1, ValueRange(lanes.splat(start, width)),
          [&](Value step, ValueRange so) -> SmallVector<Value> {
            Value at = step;
            if (op.getReverse())
              at = lanes.sub(lanes.i64(shape[axis] - 1), step);
            index.at = outer.at;
            index.at.insert(index.at.begin() + axis, at);
            Value next = lanes.vector(evaluate(source, index), width);
            loc = op.getLoc();
            Value sum = combineScan(op.getKind(), element, so[0], next);
            storeLanes(view, index, element,
                       width == 1 ? Lanes::uniform(sum) : Lanes::general(sum));
            return {sum};
          });
  });
}

void Emitter::emitHistogram(tile::HistogramOp op) {
  View view = viewOf(plan.bufferOf(op.getResult()));
  int64_t bins = tile::shapeOf(op.getType())[0];
  nest({bins}, 0, laneWidth(bins), [&](const Index &index) {
    storeLanes(view, index, b.getI32Type(),
               Lanes::uniform(lanes.integer(b.getI32Type(), 0)));
  });
  nest(tile::shapeOf(op.getSrc().getType()), -1, 1, [&](const Index &index) {
    Value bin = lanes.vector(evaluate(op.getSrc(), index), 1);
    Value counts = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, bin,
                                         lanes.integer(b.getI32Type(), bins));
    if (op.getMask())
      counts = arith::AndIOp::create(
          b, loc, counts, lanes.vector(evaluate(op.getMask(), index), 1));
    loc = op.getLoc();
    auto branch = scf::IfOp::create(b, loc, TypeRange(), counts, false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    Index target;
    target.at = {arith::ExtUIOp::create(b, loc, b.getI64Type(), bin)};
    Value address = elementAddress(view, target);
    storeView(view, address,
              lanes.add(loadView(view, address, 1),
                        lanes.integer(b.getI32Type(), 1)));
  });
}

} // namespace tessera::codegen::cpu
