// compiler/semantics/builtins/Combine.cpp - lowers reductions and scans by a
// helper, and sorts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Builtins.h"

#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tessera::semantics {
namespace {

using namespace mlir;

// Returns the inputs: one block, or a tuple of blocks of one shape.
std::vector<Tensor> sources(BuiltinCall &call) {
  std::vector<Value> items{call[0]};
  if (auto *values = call[0].tupleValues())
    items = *values;
  std::vector<Tensor> result;
  for (const Value &item : items) {
    auto *tensor = item.tensor();
    if (!tensor || !tensor->type.isBlock() || tensor->type.element.isPointer)
      call.fail(0, DiagnosticId::BadArgument,
                call.what(0) +
                    " must be a block of numbers or a tuple of "
                    "them, got " +
                    item.describe(),
                item.aggregate() ? fieldHint(item, call.operandText(0)) : "");
    result.push_back(*tensor);
  }
  if (result.empty())
    call.fail(0, DiagnosticId::BadArgument, call.what(0) + " is empty");
  // Several inputs share a shape, as values and their indices do.
  for (size_t i = 1; i < result.size(); ++i)
    call.emit.broadcastPair(result[0], result[i]);
  for (Tensor &each : result)
    call.emit.broadcastPair(each, result[0]);
  return result;
}

// Fills the region with the helper's body.
void fill(BuiltinCall &call, Region &region, const std::vector<Tensor> &from) {
  Emitter &emit = call.emit;
  OpBuilder::InsertionGuard guard(emit.builder);
  SmallVector<mlir::Type> types;
  for (int side = 0; side < 2; ++side)
    for (const Tensor &each : from)
      types.push_back(toMlir(emit.context(), Type(each.type.element)));
  SmallVector<Location> locations(types.size(), emit.location());
  mlir::Block *block = emit.builder.createBlock(&region, {}, types, locations);
  std::vector<Value> arguments;
  for (auto [i, argument] : llvm::enumerate(block->getArguments()))
    arguments.push_back(
        Tensor{argument, Type(from[i % from.size()].type.element)});
  Value result = emit.call(call[2], std::move(arguments));
  std::vector<Value> items{result};
  if (auto *values = result.tupleValues())
    items = *values;
  if (items.size() != from.size())
    call.fail(2, DiagnosticId::BadArgument,
              call.what(2) + " gives " + result.describe() + " for " +
                  std::to_string(from.size()) + " inputs",
              "it takes (a..., b...) and returns one value for each input");
  SmallVector<mlir::Value> yields;
  for (auto [item, each] : llvm::zip(items, from)) {
    auto *constant = item.constant();
    if (!item.tensor() && !(constant && constant->isNumber()))
      call.fail(2, DiagnosticId::BadArgument,
                call.what(2) + " returns " + item.describe());
    Tensor value = emit.toTensor(item);
    if (value.type.isBlock() || value.type.element.isPointer)
      call.fail(2, DiagnosticId::BadArgument,
                call.what(2) + " must return scalars, got " +
                    toString(value.type));
    yields.push_back(emit.cast(value, each.type.element).handle);
  }
  tile::YieldOp::create(emit.builder, emit.location(), yields);
}

// Returns the operation if it is the only one of the helper and takes both
// arguments in order; otherwise null.
Operation *onlyOperation(Region &region) {
  mlir::Block &block = region.front();
  if (block.getNumArguments() != 2 || block.getOperations().size() != 2)
    return nullptr;
  Operation *op = &block.front();
  if (op->getNumOperands() != 2 || op->getNumResults() != 1 ||
      op->getOperand(0) != block.getArgument(0) ||
      op->getOperand(1) != block.getArgument(1) ||
      block.back().getOperand(0) != op->getResult(0))
    return nullptr;
  return op;
}

std::optional<tile::ReduceKind> reduceKindOf(Operation *op) {
  using Kind = tile::ReduceKind;
  if (isa_and_nonnull<arith::AddFOp, arith::AddIOp>(op))
    return Kind::Sum;
  if (isa_and_nonnull<arith::MaxNumFOp, arith::MaxSIOp>(op))
    return Kind::Max;
  if (isa_and_nonnull<arith::MinNumFOp, arith::MinSIOp>(op))
    return Kind::Min;
  if (isa_and_nonnull<arith::MaxUIOp>(op))
    return Kind::UMax;
  if (isa_and_nonnull<arith::MinUIOp>(op))
    return Kind::UMin;
  if (isa_and_nonnull<arith::AndIOp>(op))
    return Kind::And;
  if (isa_and_nonnull<arith::OrIOp>(op))
    return Kind::Or;
  if (isa_and_nonnull<arith::XOrIOp>(op))
    return Kind::Xor;
  return std::nullopt;
}

std::optional<tile::ScanKind> scanKindOf(Operation *op) {
  using Kind = tile::ScanKind;
  if (isa_and_nonnull<arith::AddFOp, arith::AddIOp>(op))
    return Kind::Sum;
  if (isa_and_nonnull<arith::MulFOp, arith::MulIOp>(op))
    return Kind::Prod;
  if (isa_and_nonnull<arith::MaxNumFOp, arith::MaxSIOp>(op))
    return Kind::Max;
  if (isa_and_nonnull<arith::MinNumFOp, arith::MinSIOp>(op))
    return Kind::Min;
  return std::nullopt;
}

// Returns a tuple for a tuple of inputs, otherwise the single value.
Value pack(BuiltinCall &call, const std::vector<Tensor> &tensors) {
  if (!call[0].tupleValues())
    return tensors[0];
  return Value::tuple({tensors.begin(), tensors.end()});
}

SmallVector<mlir::Value> handlesOf(const std::vector<Tensor> &tensors) {
  SmallVector<mlir::Value> handles;
  for (const Tensor &tensor : tensors)
    handles.push_back(tensor.handle);
  return handles;
}

Value emitReduceBy(BuiltinCall &call) {
  Emitter &emit = call.emit;
  std::vector<Tensor> from = sources(call);
  int64_t rank = from[0].type.rank(), axis = 0;
  bool whole = call.isNone(1), keep = call.boolean(3);
  if (whole)
    for (Tensor &each : from)
      each = emit.reshape(each, {each.type.elements()});
  else
    axis = call.axis(1, rank);
  SmallVector<mlir::Type> types;
  std::vector<Type> results;
  for (const Tensor &each : from) {
    Type type = each.type;
    type.shape.erase(type.shape.begin() + axis);
    results.push_back(type);
    types.push_back(toMlir(emit.context(), type));
  }
  auto op = tile::ReduceByOp::create(emit.builder, emit.location(), types,
                                     handlesOf(from), int32_t(axis));
  fill(call, op.getCombine(), from);
  std::vector<Tensor> values;
  if (auto kind = reduceKindOf(onlyOperation(op.getCombine()))) {
    op.erase();
    values.push_back(
        {tile::ReduceOp::create(emit.builder, emit.location(), types[0], *kind,
                                from[0].handle, int32_t(axis)),
         results[0]});
  } else {
    for (auto [i, result] : llvm::enumerate(op.getResults()))
      values.push_back({result, results[i]});
  }
  for (Tensor &each : values) {
    if (keep && !whole)
      each = emit.expandDims(each, axis);
    for (int64_t i = 0; keep && whole && i < rank; ++i)
      each = emit.expandDims(each, 0);
  }
  return pack(call, values);
}

Value emitScanBy(BuiltinCall &call) {
  Emitter &emit = call.emit;
  std::vector<Tensor> from = sources(call);
  int64_t axis = call.axis(1, from[0].type.rank());
  bool reverse = call.boolean(3);
  SmallVector<mlir::Value> handles = handlesOf(from);
  SmallVector<mlir::Type> types;
  for (mlir::Value handle : handles)
    types.push_back(handle.getType());
  auto op = tile::ScanByOp::create(emit.builder, emit.location(), types,
                                   handles, int32_t(axis), reverse);
  fill(call, op.getCombine(), from);
  std::vector<Tensor> values;
  if (auto kind = scanKindOf(onlyOperation(op.getCombine()))) {
    op.erase();
    values.push_back(
        {tile::ScanOp::create(emit.builder, emit.location(), types[0], *kind,
                              handles[0], int32_t(axis), reverse),
         from[0].type});
  } else {
    for (auto [i, result] : llvm::enumerate(op.getResults()))
      values.push_back({result, from[i].type});
  }
  return pack(call, values);
}

Value emitSort(BuiltinCall &call) {
  Emitter &emit = call.emit;
  Tensor x = call.tensor(0);
  if (!x.type.isBlock() || x.type.element.isPointer)
    call.fail(0, DiagnosticId::BadArgument,
              "tl.sort needs a block of numbers, got " + toString(x.type));
  if (isFp8(x.type.element.dtype))
    call.floats(0); // reports
  int64_t last = x.type.rank() - 1;
  if (!call.isNone(1) && call.axis(1, x.type.rank()) != last)
    call.fail(1, DiagnosticId::NotSupported,
              "tl.sort works along the last dimension only",
              "transpose with tl.trans first");
  bool isUnsigned = x.type.element.isInt() && !isSigned(x.type.element.dtype);
  return Tensor{tile::SortOp::create(emit.builder, emit.location(),
                                     x.handle.getType(), x.handle,
                                     call.boolean(2), isUnsigned),
                x.type};
}

} // namespace

void registerCombine(Registry &registry) {
  registry.addMethod("reduce", "input, axis, combine_fn, keep_dims=False",
                     emitReduceBy);
  registry.addMethod("associative_scan",
                     "input, axis, combine_fn, reverse=False", emitScanBy);
  registry.addMethod("sort", "x, dim=None, descending=False", emitSort);
}

} // namespace tessera::semantics
