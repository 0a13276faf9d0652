// codegen/cpu/Nest.cpp - emits loop nests, and loads and stores of buffers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A nest is one loop per dimension of a tensor. At most one dimension, the
// lane, is vectorized: its loop advances by the vector width and is innermost.
// A buffer is a row-major array in scratch memory (plan/Plan.h). With 8 lanes,
// materialize(%y) of %y : 4x64xf32 emits
//
//     for i in 0 .. 4
//       for j in 0 .. 64 step 8
//         v = expression(%y, [i, j], lane = 1, width = 8)   // Evaluate.cpp
//         store v at buffer + 64 * i + j
//
// If the loads of %y are contiguous along dimension 0 instead, vectors run
// along i. Blocks of 4 x 4 elements are then transposed in registers and stored
// along j (materializeTransposed).
#include "codegen/cpu/Emitter.h"

#include "codegen/analysis/Stride.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include <cassert>

using namespace mlir;

namespace tessera::codegen::cpu {

// For all element types, vectors have as many lanes as 32-bit elements fit into
// a register.
int64_t Emitter::laneWidth(int64_t size) const {
  return std::min<int64_t>(size, options.vectorBits / 32);
}

namespace {
// Counts votes for the dimension along which vectors should run. Loads, stores
// and reads of buffers vote for the dimensions in which their addresses are
// neighbours. A load or a buffer that is broadcast along a dimension of the
// nest has no vote. In a nest of rows and columns, a row is one vector along
// the columns and one scalar along the rows; both are cheap.
// Weights: the pointers of a store 6, of a load 4, and a buffer 1.
class LaneVotes {
public:
  LaneVotes(const Plan &plan, ArrayRef<int64_t> shape)
      : plan(plan), votes(shape.size(), 0),
        rank(llvm::count_if(shape, [](int64_t size) { return size > 1; })) {}

  // dims[d]: the dimension of the nest that indexes dimension d of `value`; -1
  // if none does.
  void add(Value value, SmallVector<int> dims, int depth);
  void addNeighbours(Value pointers, ArrayRef<int> dims, int weight);
  int of(int dim) const { return votes[dim]; }

private:
  bool isBroadcast(Value value, ArrayRef<int> dims) const {
    ArrayRef<int64_t> shape = tile::shapeOf(value.getType());
    int64_t along = 0;
    for (size_t d = 0; d < dims.size(); ++d)
      along += dims[d] >= 0 && shape[d] > 1;
    return along < rank;
  }

  const Plan &plan;
  SmallVector<int> votes;
  int64_t rank; // number of dimensions of the nest whose size exceeds 1
};
} // namespace

void LaneVotes::addNeighbours(Value pointers, ArrayRef<int> dims, int weight) {
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] >= 0 && tile::shapeOf(pointers.getType())[d] > 1 &&
        strideAlong(pointers, d) == 1)
      votes[dims[d]] += weight;
}

void LaneVotes::add(Value value, SmallVector<int> dims, int depth) {
  Operation *op = value.getDefiningOp();
  if (!isa<RankedTensorType>(value.getType()) || depth > 24)
    return;
  if (plan.bufferOf(value) >= 0 && depth > 0) {
    // A read along another dimension than the last takes one load per lane, or
    // two vector loads if the stride is 2.
    if (!dims.empty() && dims.back() >= 0 &&
        tile::shapeOf(value.getType()).back() > 1 && !isBroadcast(value, dims))
      votes[dims.back()] += 1;
    return;
  }
  if (!op)
    return;
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    if (!isBroadcast(value, dims))
      addNeighbours(load.getPtr(), dims, 4);
    return;
  }
  if (isa<tile::TransOp, tile::ExpandDimsOp, tile::BroadcastOp>(op) ||
      isUnitReshape(op)) {
    Value source = op->getOperand(0);
    SmallVector<int> inner(tile::shapeOf(source.getType()).size(), -1);
    for (size_t d = 0; d < dims.size(); ++d)
      if (auto from = sourceDim(op, d))
        inner[*from] = dims[d];
    add(source, inner, depth + 1);
    return;
  }
  if (auto split = dyn_cast<tile::SplitOp>(op)) {
    dims.push_back(-1);
    add(split.getSrc(), dims, depth + 1);
    return;
  }
  if (isElementwise(op))
    for (Value operand : op->getOperands())
      add(operand, dims, depth + 1);
}

int Emitter::chooseLane(ArrayRef<int64_t> shape, ArrayRef<Value> values,
                        int fallback, bool own) const {
  LaneVotes votes(plan, shape);
  SmallVector<int> dims;
  for (size_t d = 0; d < shape.size(); ++d)
    dims.push_back(int(d));
  for (Value value : values) {
    if (isa<tile::PtrType>(tile::elementType(value.getType())))
      votes.addNeighbours(value, dims, 6);
    else
      votes.add(value, dims, own ? 0 : 1);
  }
  int best = -1;
  for (int d = int(shape.size()) - 1; d >= 0; --d)
    if (shape[d] > 1 && (best < 0 || votes.of(d) > votes.of(best)))
      best = d;
  // Without votes, `best` is only the last dimension above size 1, so the
  // caller's choice is used.
  if (best >= 0 && votes.of(best) == 0 && fallback >= 0 && shape[fallback] > 1)
    best = fallback;
  return best;
}

void Emitter::loop(int64_t size, int64_t step,
                   llvm::function_ref<void(Value)> body) {
  if (size == step) {
    body(lanes.i64(0));
    return;
  }
  Value lower = lanes.i64(0), upper = lanes.i64(size), by = lanes.i64(step);
  auto op = scf::ForOp::create(b, loc, lower, upper, by);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.getBody());
  // Values that the body computes do not dominate the code after the loop.
  auto saved = memo;
  body(op.getInductionVar());
  memo = std::move(saved);
}

SmallVector<Value>
Emitter::carry(int64_t size, int64_t step, ValueRange init,
               llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  if (size == step)
    return body(lanes.i64(0), init);
  Value lower = lanes.i64(0), upper = lanes.i64(size), by = lanes.i64(step);
  auto op = scf::ForOp::create(b, loc, lower, upper, by, init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.getBody());
  auto saved = memo;
  SmallVector<Value> next = body(op.getInductionVar(), op.getRegionIterArgs());
  scf::YieldOp::create(b, loc, next);
  memo = std::move(saved);
  return SmallVector<Value>(op.getResults());
}

void Emitter::nest(ArrayRef<int64_t> shape, int lane, int64_t width,
                   Body body) {
  assert(lane < int(shape.size()) && "the nest does not have this dimension");
  Index index;
  index.at.resize(shape.size());
  index.lane = width > 1 ? lane : -1;
  index.width = width;
  SmallVector<int> order;
  for (int d = 0; d < int(shape.size()); ++d)
    if (d != lane)
      order.push_back(d);
  if (lane >= 0)
    order.push_back(lane);
  auto level = [&](auto &self, size_t depth) -> void {
    if (depth == order.size()) {
      body(index);
      return;
    }
    int dim = order[depth];
    loop(shape[dim], dim == lane ? width : 1, [&](Value at) {
      index.at[dim] = at;
      self(self, depth + 1);
    });
  };
  // The body computes values at other positions than the code around the nest.
  auto saved = std::move(memo);
  memo.clear();
  level(level, 0);
  memo = std::move(saved);
}

View Emitter::viewOf(int id) {
  assert(id >= 0 && "a view of a value without a buffer");
  const Buffer &buffer = plan.buffer(id);
  View view;
  view.address = slotAddresses[buffer.slot];
  view.stored = buffer.stored;
  view.slot = buffer.slot;
  view.strides.resize(buffer.shape.size());
  int64_t stride = 1;
  for (size_t d = buffer.shape.size(); d-- > 0;) {
    view.strides[d] = stride;
    stride = stride * buffer.shape[d] + buffer.padding;
  }
  return view;
}

Value Emitter::elementAddress(const View &view, const Index &index,
                              int dropped) {
  assert(index.at.size() >= view.strides.size() &&
         "the index has a position for each dimension of the view");
  Value linear = lanes.i64(0);
  for (size_t d = 0; d < view.strides.size(); ++d)
    if (int(d) != dropped)
      linear =
          lanes.add(linear, lanes.mul(index.at[d], lanes.i64(view.strides[d])));
  if (matchPattern(linear, m_Zero()))
    return view.address;
  return LLVM::GEPOp::create(b, loc, view.address.getType(), view.stored,
                             view.address, ArrayRef<LLVM::GEPArg>{linear},
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value Emitter::loadView(const View &view, Value address, int64_t width) {
  Type type =
      width == 1 ? view.stored : Type(VectorType::get({width}, view.stored));
  auto op = LLVM::LoadOp::create(b, loc, type, address,
                                 view.stored.getIntOrFloatBitWidth() / 8);
  op.setAliasScopesAttr(ownScope[view.slot]);
  op.setNoaliasScopesAttr(otherScopes[view.slot]);
  return op;
}

void Emitter::storeView(const View &view, Value address, Value value) {
  auto op = LLVM::StoreOp::create(b, loc, value, address,
                                  view.stored.getIntOrFloatBitWidth() / 8);
  op.setAliasScopesAttr(ownScope[view.slot]);
  op.setNoaliasScopesAttr(otherScopes[view.slot]);
}

// Converts register values to the element type of the buffer: i1 becomes i8,
// 16-bit floats their bits, operands of integer dots i32, and pointers
// integers.
Value Emitter::toStored(const View &view, Type element, Value value) {
  if (element.isInteger(1))
    return arith::ExtUIOp::create(b, loc, lanes.like(value, b.getI8Type()),
                                  value);
  if ((element.isF16() || element.isBF16()) && view.stored.isInteger(16))
    return lanes.narrowBits(element, value);
  if (element.isInteger(8) && view.stored.isInteger(32))
    return arith::ExtSIOp::create(b, loc, lanes.like(value, view.stored),
                                  value);
  if (isa<LLVM::LLVMPointerType>(value.getType()))
    return LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), value);
  return value;
}

// The inverse of toStored, except that pointers remain integers.
Value Emitter::fromStored(const View &view, Type element, Value value) {
  if (element.isInteger(1))
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value,
                                 lanes.zero(value.getType()));
  if ((element.isF16() || element.isBF16()) && view.stored.isInteger(16))
    return lanes.widenBits(element, value);
  if (element.isInteger(8) && view.stored.isInteger(32))
    return arith::TruncIOp::create(b, loc, lanes.like(value, b.getI8Type()),
                                   value);
  return value;
}

void Emitter::storeLanes(const View &view, const Index &index, Type element,
                         const Lanes &value) {
  Value address = elementAddress(view, index);
  Value vector = toStored(view, element, lanes.vector(value, index.width));
  if (index.width == 1 || view.strides[index.lane] == 1) {
    storeView(view, address, vector);
    return;
  }
  for (int64_t i = 0; i < index.width; ++i)
    storeView(view,
              lanes.byteOffset(
                  address, lanes.i64(i * view.strides[index.lane] *
                                     view.stored.getIntOrFloatBitWidth() / 8)),
              lanes.extract(vector, i));
}

// Loads elements 0, 2, ... of 2 * width - 1. The second of the two vectors ends
// with the last element, so the load reads nothing after it.
Value Emitter::loadEverySecond(const View &view, Value address, int64_t width) {
  Value low = loadView(view, address, width);
  int64_t step = view.stored.getIntOrFloatBitWidth() / 8;
  Value high = loadView(
      view, lanes.byteOffset(address, lanes.i64((width - 1) * step)), width);
  SmallVector<int32_t> picks;
  for (int32_t i = 0; i < width; ++i)
    picks.push_back(2 * i < width ? 2 * i : int32_t(2 * i + 1));
  return lanes.shuffle(low, high, picks);
}

Lanes Emitter::readLinear(const View &view, Type element, Value linear,
                          int64_t laneStride, int64_t width, bool uniform) {
  Value address = view.address;
  if (!matchPattern(linear, m_Zero()))
    address = LLVM::GEPOp::create(b, loc, address.getType(), view.stored,
                                  address, ArrayRef<LLVM::GEPArg>{linear},
                                  LLVM::GEPNoWrapFlags::inbounds);
  Value value;
  if (uniform || width == 1) {
    value = loadView(view, address, 1);
  } else if (laneStride == 1) {
    value = loadView(view, address, width);
  } else if (laneStride == 2) {
    value = loadEverySecond(view, address, width);
  } else {
    value =
        LLVM::UndefOp::create(b, loc, VectorType::get({width}, view.stored));
    for (int64_t i = 0; i < width; ++i) {
      Value at = lanes.byteOffset(
          address,
          lanes.i64(i * laneStride * view.stored.getIntOrFloatBitWidth() / 8));
      value = lanes.insert(value, loadView(view, at, 1), i);
    }
  }
  value = fromStored(view, element, value);
  return isa<VectorType>(value.getType()) ? Lanes::general(value)
                                          : Lanes::uniform(value);
}

Lanes Emitter::readBuffer(Value value, const Index &index) {
  View view = viewOf(plan.bufferOf(value));
  Value linear = lanes.i64(0);
  for (size_t d = 0; d < view.strides.size(); ++d)
    linear =
        lanes.add(linear, lanes.mul(index.at[d], lanes.i64(view.strides[d])));
  return readLinear(view, tile::elementType(value.getType()), linear,
                    index.lane >= 0 ? view.strides[index.lane] : 1, index.width,
                    index.lane < 0);
}

void Emitter::transposeVectors(MutableArrayRef<Value> rows) {
  const int64_t width = int64_t(rows.size());
  for (int64_t step = 1; step < width; step *= 2) {
    SmallVector<int32_t> low, high;
    for (int32_t l = 0; l < width; ++l) {
      bool odd = (l & step) != 0;
      low.push_back(odd ? int32_t(width + l - step) : l);
      high.push_back(odd ? int32_t(width + l) : int32_t(l + step));
    }
    for (int64_t i = 0; i < width; ++i)
      if (!(i & step)) {
        Value a = rows[i], c = rows[i + step];
        rows[i] = lanes.shuffle(a, c, low);
        rows[i + step] = lanes.shuffle(a, c, high);
      }
  }
}

// Computes blocks of width x width elements with vectors along `lane`,
// transposes each block in registers, and stores it with vectors along the last
// dimension.
void Emitter::materializeTransposed(Value value, const View &view, int lane,
                                    int64_t width) {
  ArrayRef<int64_t> shape = tile::shapeOf(value.getType());
  Type element = tile::elementType(value.getType());
  int last = int(shape.size()) - 1;
  auto saved = std::move(memo);
  memo.clear();
  Index index;
  index.at.resize(shape.size());
  index.lane = lane;
  index.width = width;
  auto block = [&] {
    SmallVector<Value> rows;
    Value first = index.at[last];
    for (int64_t r = 0; r < width; ++r) {
      index.at[last] = lanes.add(first, lanes.i64(r));
      rows.push_back(toStored(view, element,
                              lanes.vector(expression(value, index), width)));
    }
    transposeVectors(rows);
    index.at[last] = first;
    Value start = index.at[lane];
    for (int64_t r = 0; r < width; ++r) {
      index.at[lane] = lanes.add(start, lanes.i64(r));
      storeView(view, elementAddress(view, index), rows[r]);
    }
    index.at[lane] = start;
  };
  auto level = [&](auto &self, int dim) -> void {
    if (dim == int(shape.size())) {
      block();
      return;
    }
    loop(shape[dim], dim == lane || dim == last ? width : 1, [&](Value at) {
      index.at[dim] = at;
      self(self, dim + 1);
    });
  };
  level(level, 0);
  memo = std::move(saved);
}

void Emitter::copy(const View &from, const View &to, Type tensor) {
  ArrayRef<int64_t> shape = tile::shapeOf(tensor);
  Type element = tile::elementType(tensor);
  int last = int(shape.size()) - 1;
  int lane = chooseLane(shape, {}, last);
  int64_t width = lane < 0 ? 1 : laneWidth(shape[lane]);
  nest(shape, lane, width, [&](const Index &index) {
    Value linear = lanes.i64(0);
    for (size_t d = 0; d < shape.size(); ++d)
      linear =
          lanes.add(linear, lanes.mul(index.at[d], lanes.i64(from.strides[d])));
    Lanes value =
        readLinear(from, element, linear, lane < 0 ? 1 : from.strides[lane],
                   width, width == 1);
    storeLanes(to, index, element, value);
  });
}

void Emitter::deliver(Value value, const View &view) {
  int id = plan.bufferOf(value);
  if (id >= 0)
    copy(viewOf(id), view, value.getType());
  else
    materialize(value, view);
}

// Interleaves vectors of both sources, because joined elements are neighbours
// in memory.
void Emitter::materializeJoin(tile::JoinOp op, const View &view, int lane) {
  ArrayRef<int64_t> shape = tile::shapeOf(op.getLhs().getType());
  Type element = tile::elementType(op.getType());
  int64_t width = laneWidth(shape[lane]);
  SmallVector<int32_t> turns;
  for (int32_t i = 0; i < width; ++i)
    turns.append({i, int32_t(i + width)});
  nest(shape, lane, width, [&](const Index &index) {
    auto stored = [&](Value source) {
      return toStored(view, element,
                      lanes.vector(evaluate(source, index), width));
    };
    Value left = stored(op.getLhs());
    Value both = lanes.shuffle(left, stored(op.getRhs()), turns);
    Index target = index;
    target.at.push_back(lanes.i64(0));
    storeView(view, elementAddress(view, target), both);
  });
}

void Emitter::materialize(Value value, const View &view) {
  ArrayRef<int64_t> shape = tile::shapeOf(value.getType());
  if (auto join = value.getDefiningOp<tile::JoinOp>();
      join && shape.size() > 1 && view.strides.back() == 1) {
    ArrayRef<int64_t> source = shape.drop_back();
    int along = int(source.size()) - 1;
    if (source[along] > 1 &&
        chooseLane(source, {join.getLhs(), join.getRhs()}, along) == along)
      return materializeJoin(join, view, along);
  }
  Type element = tile::elementType(value.getType());
  int last = int(shape.size()) - 1;
  int lane = chooseLane(shape, {value}, last, true);
  int64_t width = lane < 0 ? 1 : laneWidth(shape[lane]);
  if (lane >= 0 && lane != last && view.strides[last] == 1) {
    int64_t square = std::min(width, laneWidth(shape[last]));
    if (square >= 4) {
      materializeTransposed(value, view, lane, square);
      return;
    }
  }
  nest(shape, lane, width, [&](const Index &index) {
    storeLanes(view, index, element, expression(value, index));
  });
}

} // namespace tessera::codegen::cpu
