// compiler/semantics/builtins/PointerAccess.cpp - computes addresses and
// bounds; emits loads and stores.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/builtins/PointerAccess.h"

#include <algorithm>
#include <limits>

namespace tessera::semantics {

using namespace mlir;

static constexpr Element kInt64{DType::Int64, false};

Element stored(Element element) {
  return {element.dtype == DType::Int1 ? DType::Int8 : element.dtype, false};
}

mlir::Value paddingOf(Emitter &emit, const Tensor &pointers, bool isNan) {
  DType dtype = stored(pointers.type.element).dtype;
  if (isInt(dtype))
    return emit.integer(0, dtype, pointers.type.shape).handle;
  double nan = std::numeric_limits<double>::quiet_NaN();
  return emit.floating(isNan ? nan : 0.0, dtype, pointers.type.shape).handle;
}

PointerAccess accessOf(Emitter &emit, const StridedAccess &array,
                       const std::vector<int64_t> &checked) {
  Value address = array.base;
  Value mask;
  for (size_t dim = 0; dim < array.coordinates.size(); ++dim) {
    const Tensor &coordinate = array.coordinates[dim];
    address =
        emit.binary(BinaryOp::Add, address,
                    emit.binary(BinaryOp::Mul, coordinate, array.strides[dim]));
    if (std::find(checked.begin(), checked.end(), int64_t(dim)) ==
        checked.end())
      continue;
    // One op per statement: C++ does not define the order of arguments.
    Value above = emit.compare(CompareOp::Ge, coordinate, Value::integer(0));
    Value below = emit.compare(CompareOp::Lt, coordinate, array.shape[dim]);
    Value inside = emit.binary(BinaryOp::And, above, below);
    mask = mask.isNone() ? inside : emit.binary(BinaryOp::And, mask, inside);
  }
  PointerAccess access{
      emit.broadcastTo(*address.tensor(), array.result), {}, {}};
  if (!mask.isNone())
    access.mask = emit.broadcastTo(*mask.tensor(), array.result).handle;
  return access;
}

PointerAccess accessOf(Emitter &emit, const BlockPointer &pointer,
                       const std::vector<int64_t> &checked) {
  StridedAccess array{
      pointer.base, pointer.shape, pointer.strides, {}, pointer.block};
  const size_t rank = pointer.block.size();
  for (size_t dim = 0; dim < rank; ++dim) {
    Type rangeType(DType::Int32, {pointer.block[dim]});
    Tensor range{tile::RangeOp::create(emit.builder, emit.location(),
                                       toMlir(emit.context(), rangeType), 0,
                                       int32_t(pointer.block[dim])),
                 rangeType};
    Tensor coordinate = emit.cast(range, kInt64);
    for (size_t other = 0; other < rank; ++other)
      if (other != dim)
        coordinate = emit.expandDims(coordinate, int64_t(other));
    array.coordinates.push_back(
        *emit.binary(BinaryOp::Add, coordinate, pointer.offsets[dim]).tensor());
  }
  return accessOf(emit, array, checked);
}

Tensor loadFrom(Emitter &emit, const PointerAccess &access,
                tile::LoadCacheAttr cache, tile::EvictionAttr eviction,
                bool isVolatile) {
  Element element{access.pointers.type.element.dtype, false};
  Type type = access.pointers.type.with(stored(element));
  auto op = tile::LoadOp::create(
      emit.builder, emit.location(), toMlir(emit.context(), type),
      access.pointers.handle, access.mask, access.other, cache, eviction,
      isVolatile ? emit.builder.getUnitAttr() : UnitAttr());
  return emit.cast(Tensor{op.getResult(), type}, element);
}

void storeTo(Emitter &emit, const PointerAccess &access, Tensor value,
             tile::StoreCacheAttr cache, tile::EvictionAttr eviction) {
  // A number stored into booleans is compared with 0 first.
  const Element element{access.pointers.type.element.dtype, false};
  value = emit.cast(emit.cast(value, element), stored(element));
  tile::StoreOp::create(emit.builder, emit.location(), access.pointers.handle,
                        value.handle, access.mask, cache, eviction);
}

std::vector<Tensor> coordinates(BuiltinCall &call, size_t index, size_t rank) {
  std::vector<Value> items;
  if (auto *values = call[index].tupleValues())
    items = *values;
  else
    items = {call[index]};
  if (items.size() != rank)
    call.fail(index, DiagnosticId::BadArgument,
              call.what(index) + " has " + std::to_string(items.size()) +
                  (items.size() == 1 ? " entry for " : " entries for ") +
                  std::to_string(rank) + " dimensions",
              "write one for each dimension of the block");
  std::vector<Tensor> result;
  for (const Value &item : items) {
    Tensor value = call.emit.toTensor(item, call.what(index));
    if (value.type.isBlock() || !value.type.element.isInt())
      call.fail(index, DiagnosticId::BadArgument,
                call.what(index) + " must hold scalar integers, got " +
                    toString(value.type),
                value.type.isBlock()
                    ? "a block pointer adds the offsets of its block itself"
                    : "divide with //, or convert with .to(tl.int32)");
    result.push_back(call.emit.cast(value, kInt64));
  }
  return result;
}

} // namespace tessera::semantics
