// codegen/cpu/Evaluate.cpp - emits code that computes elements of tensors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// `evaluate` emits the code that computes a tensor at one position of a loop
// nest, for `width` neighbouring elements at once (Lanes.h). If the plan gives
// the tensor a buffer, the code reads it. Otherwise `expression` evaluates the
// operands of the defining operation and emits the operation. For a nest with 8
// lanes that starts at element %i of
//
//     %r = tile.range 0, 64            Affine: %i + lane * 1, two scalars
//     %p = tile.addptr %base, %r       Affine, in bytes: 4 * %i + lane * 4
//     %x = tile.load %p                General: one contiguous vector load
//     %y = arith.addf %x, %s           General: one vector addition
//
// of f32, in which the splats %base and %s are Uniform. The memo of the nest's
// body ensures that equal values at equal positions are emitted once.
#include "codegen/cpu/Emitter.h"

#include "codegen/analysis/Stride.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera::codegen::cpu {

// Returns the part of a memo key for one index position. Positions that are
// equal constants have the same key, even if different operations define them.
static void *keyOf(Value value) {
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return const_cast<void *>(constant.getAsOpaquePointer());
  return value.getAsOpaquePointer();
}

Lanes Emitter::evaluate(Value value, const Index &index) {
  if (!isa<RankedTensorType>(value.getType())) {
    Value held = scalar(value);
    if (!isa<tile::PtrType>(value.getType()))
      return Lanes::uniform(held);
    Lanes pointer = Lanes::uniform(lanes.i64(0));
    pointer.base = held;
    return pointer;
  }
  std::vector<void *> where;
  for (Value at : index.at)
    where.push_back(keyOf(at));
  where.push_back(reinterpret_cast<void *>(intptr_t(index.lane)));
  MemoKey key{value.getAsOpaquePointer(), std::move(where)};
  if (auto it = memo.find(key); it != memo.end())
    return it->second;
  Lanes result = plan.bufferOf(value) >= 0 ? readBuffer(value, index)
                                           : expression(value, index);
  memo[key] = result;
  return result;
}

Lanes Emitter::expression(Value value, const Index &index) {
  Operation *op = value.getDefiningOp();
  if (!op) // An argument of a loop's body, which has a buffer.
    return evaluate(value, index);
  Location outer = loc;
  loc = op->getLoc();
  unsigned result = cast<OpResult>(value).getResultNumber();
  Lanes lanesOut;
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constantOp.getValue());
    if (!dense || !dense.isSplat())
      unsupported(op, "a constant tensor whose elements differ");
    lanesOut = Lanes::uniform(constant(dense.getSplatValue<Attribute>(),
                                       tile::elementType(value.getType())));
  } else if (auto range = dyn_cast<tile::RangeOp>(op)) {
    Value at =
        b.createOrFold<arith::TruncIOp>(loc, b.getI32Type(), index.at[0]);
    Value start = lanes.integer(b.getI32Type(), int32_t(range.getStart()));
    Value base = lanes.add(at, start);
    lanesOut = index.lane < 0
                   ? Lanes::uniform(base)
                   : Lanes::affine(base, lanes.integer(b.getI32Type(), 1));
  } else if (auto splat = dyn_cast<tile::SplatOp>(op)) {
    lanesOut = evaluate(splat.getSrc(), index);
  } else if (isa<tile::TransOp, tile::ExpandDimsOp, tile::BroadcastOp>(op) ||
             isUnitReshape(op)) {
    lanesOut = evaluateView(op, index);
  } else if (isa<tile::ReshapeOp>(op)) {
    lanesOut = evaluateReshape(op, index);
  } else if (auto join = dyn_cast<tile::JoinOp>(op)) {
    lanesOut = evaluateJoin(join, index);
  } else if (auto split = dyn_cast<tile::SplitOp>(op)) {
    Index inner = index;
    inner.at.push_back(lanes.i64(result));
    lanesOut = evaluate(split.getSrc(), inner);
  } else if (auto gather = dyn_cast<tile::GatherOp>(op)) {
    lanesOut = evaluateGather(gather, index);
  } else if (auto loadOp = dyn_cast<tile::LoadOp>(op)) {
    lanesOut = load(loadOp, index);
  } else if (isElementwise(op)) {
    lanesOut = evaluateElementwise(op, result, index);
  } else {
    unsupported(op, "this operation");
  }
  loc = outer;
  return lanesOut;
}

Lanes Emitter::evaluateView(Operation *op, const Index &index) {
  Value source = op->getOperand(0);
  Index inner;
  inner.at.resize(tile::shapeOf(source.getType()).size());
  inner.width = index.width;
  for (size_t d = 0; d < index.at.size(); ++d)
    if (auto from = sourceDim(op, d)) {
      inner.at[*from] = index.at[d];
      if (int(d) == index.lane)
        inner.lane = int(*from);
    }
  for (Value &at : inner.at)
    if (!at)
      at = lanes.i64(0);
  if (inner.lane < 0)
    inner.width = 1;
  return evaluate(source, inner);
}

// Reads the source's buffer at the row-major index of the result's element: a
// reshape does not change that index.
Lanes Emitter::evaluateReshape(Operation *op, const Index &index) {
  Value source = op->getOperand(0);
  ArrayRef<int64_t> shape = tile::shapeOf(op->getResult(0).getType());
  Value linear = lanes.i64(0);
  int64_t stride = 1, laneStride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    linear = lanes.add(linear, lanes.mul(index.at[d], lanes.i64(stride)));
    if (int(d) == index.lane)
      laneStride = stride;
    stride *= shape[d];
  }
  return readLinear(viewOf(plan.bufferOf(source)),
                    tile::elementType(source.getType()), linear, laneStride,
                    index.width, index.lane < 0);
}

Lanes Emitter::evaluateJoin(tile::JoinOp op, const Index &index) {
  Index inner = index;
  Value which = inner.at.pop_back_val();
  int last = int(index.at.size()) - 1;
  if (index.lane == last) {
    inner.lane = -1;
    inner.width = 1;
  }
  Lanes left = evaluate(op.getLhs(), inner);
  Lanes right = evaluate(op.getRhs(), inner);
  Lanes result;
  if (index.lane == last) {
    Value a = lanes.vector(left, 1), c = lanes.vector(right, 1);
    Value both =
        LLVM::UndefOp::create(b, loc, VectorType::get({2}, a.getType()));
    result = Lanes::general(lanes.insert(lanes.insert(both, a, 0), c, 1));
  } else {
    Value isLeft = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                         which, lanes.i64(0));
    Value a = lanes.vector(left, index.width);
    Value c = lanes.vector(right, index.width);
    Value value = arith::SelectOp::create(b, loc, isLeft, a, c);
    result = index.width == 1 ? Lanes::uniform(value) : Lanes::general(value);
  }
  return result;
}

// Returns the indices modulo `size`, a power of two, so that no index is
// outside of the buffer. The GPU back end does the same
// (lower/rows/Gather.cpp).
Value Emitter::insideOf(Value indices, int64_t size) {
  unsigned bits =
      getElementTypeOrSelf(indices.getType()).getIntOrFloatBitWidth();
  Type wide = lanes.like(indices, b.getI32Type());
  if (bits == 1)
    indices = arith::ExtUIOp::create(b, loc, wide, indices);
  else if (bits < 32)
    indices = arith::ExtSIOp::create(b, loc, wide, indices);
  return arith::AndIOp::create(b, loc, indices,
                               lanes.integer(indices.getType(), size - 1));
}

Lanes Emitter::evaluateGather(tile::GatherOp op, const Index &index) {
  Lanes picks = evaluate(op.getIndices(), index);
  View view = viewOf(plan.bufferOf(op.getSrc()));
  Type element = tile::elementType(op.getType());
  int axis = int(op.getAxis());
  Value base = lanes.i64(0);
  for (size_t d = 0; d < view.strides.size(); ++d)
    if (int(d) != axis)
      base =
          lanes.add(base, lanes.mul(index.at[d], lanes.i64(view.strides[d])));
  Value vector = insideOf(lanes.vector(picks, index.width),
                          tile::shapeOf(op.getSrc().getType())[axis]);
  Value gathered;
  for (int64_t i = 0; i < index.width; ++i) {
    Value pick = lanes.extract(vector, i);
    if (pick.getType() != b.getI64Type())
      pick = arith::ExtSIOp::create(b, loc, b.getI64Type(), pick);
    Value linear =
        lanes.add(base, lanes.mul(pick, lanes.i64(view.strides[axis])));
    if (index.lane >= 0 && index.lane != axis)
      linear = lanes.add(linear, lanes.i64(i * view.strides[index.lane]));
    Lanes one = readLinear(view, element, linear, 1, 1, true);
    if (index.width == 1)
      return one;
    Value scalarValue = lanes.vector(one, 1);
    if (!gathered)
      gathered = LLVM::UndefOp::create(
          b, loc, VectorType::get({index.width}, scalarValue.getType()));
    gathered = lanes.insert(gathered, scalarValue, i);
  }
  return Lanes::general(gathered);
}

// True if value + lane * stride does not overflow for the lanes of `index`, for
// one of two reasons. AxisInfo bounds the value on one side, which it does only
// if no operation wrapped. Or the lanes are `width` consecutive integers from a
// multiple of `width` on: a wrap occurs only at such a multiple.
bool Emitter::neverWraps(Value value, const Index &index) const {
  const AxisInfo info = axes.of(value);
  auto type = cast<IntegerType>(tile::elementType(value.getType()));
  if (type.getWidth() == 1)
    return false;
  if (info.low > llvm::minIntN(type.getWidth()) ||
      info.high < llvm::maxIntN(type.getWidth()))
    return true;
  const AxisInfo::Axis &axis = info.axes[size_t(index.lane)];
  return std::min(axis.contiguity, axis.divisibility) >= index.width;
}

// If `op` keeps the difference between neighbouring lanes constant, emits
// scalar code for the base and the stride of its result. Returns nullopt
// otherwise, and if an operand is General.
std::optional<Lanes> Emitter::affine(Operation *op, ArrayRef<Lanes> in,
                                     const Index &index) {
  auto steps = [](const Lanes &value) { return value.kind == Lanes::Affine; };
  auto fixed = [](const Lanes &value) { return value.kind == Lanes::Uniform; };
  if (isa<arith::ExtSIOp>(op) && steps(in[0]) &&
      neverWraps(op->getOperand(0), index)) {
    Type type = tile::elementType(op->getResult(0).getType());
    return Lanes::affine(
        b.createOrFold<arith::ExtSIOp>(loc, type, in[0].value),
        b.createOrFold<arith::ExtSIOp>(loc, type, in[0].stride));
  }
  if (isa<arith::TruncIOp>(op) && steps(in[0])) {
    Type type = tile::elementType(op->getResult(0).getType());
    return Lanes::affine(
        b.createOrFold<arith::TruncIOp>(loc, type, in[0].value),
        b.createOrFold<arith::TruncIOp>(loc, type, in[0].stride));
  }
  if (in.size() != 2 || in[0].kind == Lanes::General ||
      in[1].kind == Lanes::General)
    return std::nullopt;
  if (isa<arith::AddIOp>(op)) {
    Value base = lanes.add(in[0].value, in[1].value);
    if (steps(in[0]) && steps(in[1]))
      return Lanes::affine(base, lanes.add(in[0].stride, in[1].stride));
    return Lanes::affine(base, steps(in[0]) ? in[0].stride : in[1].stride);
  }
  if (isa<arith::SubIOp>(op)) {
    Value base = lanes.sub(in[0].value, in[1].value);
    Value zero = lanes.zero(base.getType());
    return Lanes::affine(base, lanes.sub(steps(in[0]) ? in[0].stride : zero,
                                         steps(in[1]) ? in[1].stride : zero));
  }
  if (isa<arith::MulIOp>(op) && (fixed(in[0]) || fixed(in[1]))) {
    const Lanes &moving = fixed(in[0]) ? in[1] : in[0];
    const Lanes &factor = fixed(in[0]) ? in[0] : in[1];
    return Lanes::affine(lanes.mul(moving.value, factor.value),
                         lanes.mul(moving.stride, factor.value));
  }
  if (isa<arith::ShLIOp>(op) && steps(in[0]) && fixed(in[1]))
    return Lanes::affine(
        b.createOrFold<arith::ShLIOp>(loc, in[0].value, in[1].value),
        b.createOrFold<arith::ShLIOp>(loc, in[0].stride, in[1].value));
  return std::nullopt;
}

// Returns 32-bit affine offsets that may wrap between two lanes as 64-bit
// lanes. Wrapping is rare, so they stay affine. `exact` is computed at run
// time: no lane wraps. The load or store branches on it and otherwise uses
// `wrapped`.
Lanes Emitter::mayWrap(const Lanes &offset, int64_t width) {
  Type word = b.getI64Type();
  auto extend = [&](Value value) -> Value {
    return b.createOrFold<arith::ExtSIOp>(loc, lanes.like(value, word), value);
  };
  Value first = extend(offset.value), stride = extend(offset.stride);
  Lanes result = Lanes::affine(first, stride);
  // The first lane fits into 32 bits. The others are between it and the last,
  // which fits if last + 2^31 < 2^32, unsigned.
  Value last = lanes.add(first, lanes.mul(stride, lanes.i64(width - 1)));
  result.exact =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                            lanes.add(last, lanes.i64(int64_t(1) << 31)),
                            lanes.i64(int64_t(1) << 32));
  result.wrapped = extend(lanes.vector(offset, width));
  return result;
}

// Returns an i1 that is true if the integers of `vector` are consecutive. The
// analysis often cannot prove it of indices modulo or below a size, but one
// load can then replace a gather.
Value Emitter::isRun(Value vector) {
  auto type = cast<VectorType>(vector.getType());
  const int64_t width = type.getNumElements();
  Value first = lanes.extract(vector, 0),
        last = lanes.extract(vector, width - 1);
  Lanes run = Lanes::affine(first, lanes.integer(first.getType(), 1));
  Value equal = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, vector,
                                      lanes.vector(run, width));
  Value bits =
      LLVM::BitcastOp::create(b, loc, b.getIntegerType(unsigned(width)), equal);
  Value all = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, bits,
                                    lanes.integer(bits.getType(), -1));
  // The sums above may wrap, and addresses do not.
  Value rises =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, first, last);
  return arith::AndIOp::create(b, loc, all, rises);
}

Lanes Emitter::evaluateAddPtr(Operation *op, const Lanes &ptr,
                              const Lanes &offset) {
  Type pointee =
      cast<tile::PtrType>(tile::elementType(op->getResult(0).getType()))
          .getPointee();
  Value size = lanes.i64(tile::bytesInMemory(pointee));
  Type i64Type = b.getI64Type();
  auto extend = [&](Value value) -> Value {
    if (getElementTypeOrSelf(value.getType()) == i64Type)
      return value;
    return b.createOrFold<arith::ExtSIOp>(loc, lanes.like(value, i64Type),
                                          value);
  };
  Lanes bytes = offset;
  Lanes result;
  result.base = ptr.base;
  bytes.value = extend(bytes.value);
  if (bytes.kind == Lanes::Affine)
    bytes.stride = extend(bytes.stride);
  if (bytes.kind == Lanes::General) {
    int64_t width = cast<VectorType>(bytes.value.getType()).getNumElements();
    Value moved = lanes.mul(bytes.value, lanes.splat(size, width));
    if (ptr.kind == Lanes::Uniform) {
      Value first = lanes.add(ptr.value, lanes.extract(moved, 0));
      result = Lanes::affine(first, size);
      result.base = ptr.base;
      result.exact = isRun(offset.value);
      result.wrapped = lanes.add(lanes.splat(ptr.value, width), moved);
      return result;
    }
    result.kind = Lanes::General;
    result.value = lanes.add(lanes.vector(ptr.offsets(), width), moved);
    return result;
  }
  bytes.value = lanes.mul(bytes.value, size);
  if (bytes.kind == Lanes::Affine)
    bytes.stride = lanes.mul(bytes.stride, size);
  auto numLanes = [](Value vector) {
    return cast<VectorType>(vector.getType()).getNumElements();
  };
  if (bytes.exact)
    bytes.wrapped =
        lanes.mul(bytes.wrapped, lanes.splat(size, numLanes(bytes.wrapped)));
  if (ptr.kind == Lanes::General) {
    int64_t width = cast<VectorType>(ptr.value.getType()).getNumElements();
    result.kind = Lanes::General;
    result.value = lanes.add(ptr.value, lanes.vector(bytes, width));
    return result;
  }
  result.value = lanes.add(ptr.value, bytes.value);
  const Lanes *parts[] = {&ptr, &bytes};
  for (const Lanes *each : parts)
    if (each->exact)
      result.exact = result.exact ? arith::AndIOp::create(b, loc, result.exact,
                                                          each->exact)
                                        .getResult()
                                  : each->exact;
  if (result.exact) {
    int64_t width = numLanes((ptr.exact ? ptr : bytes).wrapped);
    result.wrapped = lanes.add(lanes.vector(ptr.offsets(), width),
                               lanes.vector(bytes, width));
  }
  if (ptr.kind == Lanes::Affine || bytes.kind == Lanes::Affine) {
    Value zero = lanes.i64(0);
    result.kind = Lanes::Affine;
    result.stride =
        lanes.add(ptr.kind == Lanes::Affine ? ptr.stride : zero,
                  bytes.kind == Lanes::Affine ? bytes.stride : zero);
  }
  return result;
}

Lanes Emitter::evaluateElementwise(Operation *op, unsigned result,
                                   const Index &index) {
  SmallVector<Lanes> in;
  bool uniform = true, anyBase = false;
  for (Value operand : op->getOperands()) {
    in.push_back(evaluate(operand, index));
    uniform &= in.back().kind == Lanes::Uniform;
    anyBase |= in.back().hasBase();
  }
  if (isa<tile::AddPtrOp>(op)) {
    Lanes offset = in[1];
    if (offset.kind == Lanes::Affine &&
        offset.value.getType().getIntOrFloatBitWidth() < 64 &&
        !neverWraps(op->getOperand(1), index))
      offset = offset.value.getType().isInteger(32)
                   ? mayWrap(offset, index.width)
                   : Lanes::general(lanes.vector(offset, index.width));
    return evaluateAddPtr(op, in[0], offset);
  }
  // A bitcast to a pointer does not change the lanes: an integer operand is an
  // absolute address, and a pointer operand keeps its base.
  if (isa<tile::BitcastOp>(op) &&
      isa<tile::PtrType>(tile::elementType(op->getResult(0).getType())))
    return in[0];
  if (!uniform && !anyBase)
    if (auto kept = affine(op, in, index))
      return *kept;
  int64_t width = uniform ? 1 : index.width;
  SmallVector<Value> operands;
  for (auto [i, value] : llvm::enumerate(in)) {
    // The condition of a select may be a scalar that chooses between tensors.
    bool whole =
        isa<arith::SelectOp>(op) && i == 0 && value.kind == Lanes::Uniform;
    operands.push_back(lanes.vector(value, whole ? 1 : width));
  }
  Value value = apply(op, result, operands);
  return uniform ? Lanes::uniform(value) : Lanes::general(value);
}

} // namespace tessera::codegen::cpu
