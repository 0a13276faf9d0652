// compiler/semantics/builtins/Shape.cpp - lowers changes of a block's shape.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Builtins.h"

#include "dialect/tile/TileDialect.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace tessera::semantics {
namespace {

Value emitReshape(BuiltinCall &call) {
  return call.emit.reshape(call.tensor(0), call.shape(1));
}

Value emitRavel(BuiltinCall &call) {
  Tensor x = call.tensor(0);
  return call.emit.reshape(x, {x.type.elements()});
}

// Returns the only element of a block; compile-time numbers stay such.
Value emitItem(BuiltinCall &call) {
  if (call[0].constant())
    return call.tensor(0), call[0];
  Tensor x = call.tensor(0);
  if (x.type.elements() != 1)
    call.fail(0, DiagnosticId::ShapeMismatch,
              "item() needs a block of one element, got " + toString(x.type),
              "reduce it first: tl.sum(" + call.text(0) +
                  "), or load the element through a pointer");
  return call.emit.unsplat(x);
}

Value emitBroadcastTo(BuiltinCall &call) {
  return call.emit.broadcastTo(call.tensor(0), call.shape(1));
}

Value emitBroadcast(BuiltinCall &call) {
  Tensor a = call.tensor(0), b = call.tensor(1);
  call.emit.broadcastPair(a, b);
  return Value::tuple({a, b});
}

Value emitExpandDims(BuiltinCall &call) {
  Tensor x = call.tensor(0);
  std::vector<int64_t> axes = call.integers(1);
  int64_t rank = x.type.rank() + int64_t(axes.size());
  for (int64_t &axis : axes) {
    if (axis < -rank || axis >= rank)
      call.fail(1, DiagnosticId::BadArgument,
                call.what(1) + " is " + std::to_string(axis) +
                    ", outside a result of rank " + std::to_string(rank),
                "the result has one dimension more: axes 0 to " +
                    std::to_string(rank - 1));
    axis = axis < 0 ? axis + rank : axis;
  }
  llvm::sort(axes);
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    call.fail(1, DiagnosticId::BadArgument,
              call.what(1) + " names one axis twice",
              "name each new axis once");
  for (int64_t axis : axes)
    x = call.emit.expandDims(x, axis);
  return x;
}

Value emitPermute(BuiltinCall &call) {
  return call.emit.permute(call.tensor(0), call.integers(1));
}

Value emitTrans(BuiltinCall &call) {
  Tensor x = call.tensor(0);
  std::vector<int64_t> order = call.integers(1);
  if (order.empty()) {
    int64_t rank = x.type.rank();
    if (rank < 2)
      call.fail(0, DiagnosticId::ShapeMismatch,
                "tl.trans needs at least two dimensions, got " +
                    toString(x.type),
                "add one first: " + call.operandText(0) + "[:, None]");
    for (int64_t i = 0; i < rank; ++i)
      order.push_back(i);
    std::swap(order[rank - 1], order[rank - 2]);
  }
  return call.emit.permute(x, order);
}

Value emitJoin(BuiltinCall &call) {
  Tensor a = call.tensor(0), b = call.tensor(1);
  return call.emit.join(a, b);
}

Value emitSplit(BuiltinCall &call) {
  auto [a, b] = call.emit.split(call.tensor(0));
  return Value::tuple({a, b});
}

// Interleaves the elements of a and b along the last dimension.
Value emitInterleave(BuiltinCall &call) {
  Tensor a = call.tensor(0), b = call.tensor(1);
  Tensor joined = call.emit.join(a, b);
  Shape shape = joined.type.shape;
  if (shape.size() == 1)
    return joined;
  shape.pop_back();
  shape.back() *= 2;
  return call.emit.reshape(joined, shape);
}

// Joins along a new last dimension, which moves before `dim` and merges with
// it.
Value emitCat(BuiltinCall &call) {
  Tensor a = call.tensor(0), b = call.tensor(1);
  if (!a.type.isBlock() || a.type.shape != b.type.shape)
    call.fail(1, DiagnosticId::NotSupported,
              "tl.cat needs two blocks of one shape, got " + toString(a.type) +
                  " and " + toString(b.type));
  call.boolean(2); // can_reorder permits another order
  const int64_t rank = a.type.rank(), dim = call.axis(3, rank);
  std::vector<int64_t> order(size_t(rank), 0);
  std::iota(order.begin(), order.end(), 0);
  order.insert(order.begin() + dim, rank);
  Shape shape = a.type.shape;
  shape[size_t(dim)] *= 2;
  return call.emit.reshape(call.emit.permute(call.emit.join(a, b), order),
                           shape);
}

Tensor gather(Emitter &emit, const Tensor &source, const Tensor &index,
              int64_t axis) {
  Type type = index.type.with(source.type.element);
  return {tile::GatherOp::create(emit.builder, emit.location(),
                                 toMlir(emit.context(), type), source.handle,
                                 index.handle, int32_t(axis)),
          type};
}

Value emitGather(BuiltinCall &call) {
  Tensor source = call.tensor(0), index = call.tensor(1);
  int64_t axis = call.axis(2, source.type.rank());
  if (!index.type.element.isInt())
    call.fail(1, DiagnosticId::BadArgument,
              "tl.gather: `index` must hold integers, got " +
                  toString(index.type),
              "convert it: " + call.operandText(1) + ".to(tl.int32)");
  if (source.type.element.isPointer)
    call.fail(0, DiagnosticId::NotSupported,
              "tl.gather of pointers is not supported yet",
              "gather the offsets instead");
  if (source.type.rank() != index.type.rank())
    call.fail(1, DiagnosticId::ShapeMismatch,
              "tl.gather needs equal ranks, got " + toString(source.type) +
                  " and " + toString(index.type));
  for (int64_t dim = 0; dim < source.type.rank(); ++dim)
    if (dim != axis && source.type.shape[dim] != index.type.shape[dim])
      call.fail(1, DiagnosticId::ShapeMismatch,
                "tl.gather: " + toString(source.type) + " and " +
                    toString(index.type) + " may only differ along axis " +
                    std::to_string(axis));
  return gather(call.emit, source, index, axis);
}

Value emitFlip(BuiltinCall &call) {
  Emitter &emit = call.emit;
  Tensor x = call.tensor(0);
  int64_t rank = x.type.rank();
  if (rank == 0)
    call.fail(0, DiagnosticId::ShapeMismatch, "tl.flip needs a block",
              "a scalar is its own reverse");
  int64_t axis = call.isNone(1) ? rank - 1 : call.axis(1, rank);
  int64_t size = x.type.shape[axis];
  Type type(DType::Int32, {size});
  Tensor index{tile::RangeOp::create(emit.builder, emit.location(),
                                     toMlir(emit.context(), type), 0,
                                     int32_t(size)),
               type};
  index = *emit.binary(BinaryOp::Sub, Value::integer(size - 1), index).tensor();
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != axis)
      index = emit.expandDims(index, dim);
  return gather(emit, x, emit.broadcastTo(index, x.type.shape), axis);
}

} // namespace

void registerShape(Registry &registry) {
  registry.addMethod("reshape", "input, *shape, can_reorder=False",
                     emitReshape);
  registry.addMethod("view", "input, *shape, can_reorder=False", emitReshape);
  registry.addMethod("ravel", "x, can_reorder=False", emitRavel);
  registry.addMethod("item", "input", emitItem);
  registry.addMethod("broadcast_to", "input, *shape", emitBroadcastTo);
  registry.add("broadcast", "input, other", emitBroadcast);
  registry.addMethod("expand_dims", "input, axis", emitExpandDims);
  registry.addMethod("permute", "input, *dims", emitPermute);
  registry.addMethod("trans", "input, *dims", emitTrans);
  registry.add("join", "a, b", emitJoin);
  registry.addMethod("split", "a", emitSplit);
  registry.add("interleave", "a, b", emitInterleave);
  registry.add("cat", "input, other, can_reorder=False, dim=0", emitCat);
  registry.addMethod("gather", "src, index, axis", emitGather);
  registry.addMethod("flip", "x, dim=None", emitFlip);
}

} // namespace tessera::semantics
