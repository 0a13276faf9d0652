// compiler/semantics/builtins/Memory.cpp - lowers tl.load, tl.store and block
// pointers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Builtins.h"
#include "compiler/semantics/builtins/PointerAccess.h"
#include "compiler/semantics/builtins/Words.h"

namespace tessera::semantics {
namespace {

using namespace mlir;

// Broadcasts `value`, a mask or `other`, and the pointers to one shape.
void matchShape(BuiltinCall &call, Tensor &pointers, Tensor &value,
                size_t index) {
  if (!pointers.type.isBlock() && value.type.isBlock())
    call.fail(
        index, DiagnosticId::ShapeMismatch,
        call.what(index) + " is a block, " + toString(value.type) +
            ", but the pointer is one address",
        index == 1 && value.type.element.isInt() && !call.isNone(2)
            ? "it takes a pointer, a value and a mask: " + call.operandText(0) +
                  " + " + call.operandText(1) + ", " + call.text(2)
            : "add a block of offsets: " + call.operandText(0) +
                  " + tl.arange(...)");
  const Shape &address = pointers.type.shape, &given = value.type.shape;
  bool fits = given.size() == address.size() || !value.type.isBlock();
  for (size_t i = 0; fits && i < given.size(); ++i)
    fits = given[i] == address[i] || given[i] == 1 || address[i] == 1;
  if (!fits && given.size() == address.size())
    call.fail(index, DiagnosticId::ShapeMismatch,
              call.what(index) + " has shape " + toString(given) +
                  ", the pointers have " + toString(address),
              "make both from the same offsets");
  call.emit.broadcastPair(pointers, value);
}

Tensor maskOf(BuiltinCall &call, size_t index) {
  Tensor mask = call.tensor(index);
  if (!mask.type.element.isBool())
    call.fail(
        index, DiagnosticId::BadArgument,
        call.what(index) + " must be boolean, got " + toString(mask.type),
        mask.type.isBlock() && !call.pointer(0).type.isBlock()
            ? "offsets are added to the pointer: " + call.operandText(0) +
                  " + " + call.operandText(index)
            : "a mask has a truth value for each element: compare, as "
              "in offsets < " +
                  (mask.type.isBlock() ? std::string("n") : call.text(index)));
  return mask;
}

std::vector<int64_t> boundaryCheck(BuiltinCall &call, size_t index,
                                   size_t rank) {
  std::vector<int64_t> dims = call.integers(index);
  for (int64_t dim : dims)
    if (dim < 0 || dim >= int64_t(rank))
      call.fail(index, DiagnosticId::BadArgument,
                call.what(index) + " names dimension " + std::to_string(dim) +
                    " of a block of rank " + std::to_string(rank),
                "dimensions count from 0 to " + std::to_string(rank - 1));
  return dims;
}

void onlyForBlockPointers(BuiltinCall &call, size_t index) {
  auto *values = call[index].tupleValues();
  bool given = values ? !values->empty() : !call.string(index).empty();
  if (given)
    call.fail(index, DiagnosticId::BadArgument,
              call.what(index) + " is for block pointers only",
              "use mask= and other= with pointers, or tl.make_block_ptr");
}

Value emitLoad(BuiltinCall &call) {
  Emitter &emit = call.emit;
  auto cache = wordAs<tile::LoadCacheAttr>(call, 5);
  auto eviction = wordAs<tile::EvictionAttr>(call, 6);
  bool isVolatile = call.boolean(7);
  if (auto *block = call[0].blockPointer()) {
    for (size_t index : {1, 2})
      if (!call.isNone(index))
        call.fail(index, DiagnosticId::BadArgument,
                  call.what(index) + " does not go with a block pointer",
                  "use boundary_check= and padding_option=");
    PointerAccess access =
        accessOf(emit, *block, boundaryCheck(call, 3, block->block.size()));
    std::string padding = word(call, 4, {"zero", "nan"});
    if (!padding.empty() && access.mask) {
      if (padding == "nan" &&
          !semantics::isFloat(block->base.type.element.dtype))
        call.fail(4, DiagnosticId::BadArgument, "integers have no NaN",
                  "write padding_option=\"zero\"");
      access.other = paddingOf(emit, access.pointers, padding == "nan");
    }
    return loadFrom(emit, access, cache, eviction, isVolatile);
  }
  onlyForBlockPointers(call, 3);
  onlyForBlockPointers(call, 4);
  PointerAccess access{call.pointer(0), {}, {}};
  if (call.isNone(1)) {
    if (!call.isNone(2))
      call.fail(2, DiagnosticId::BadArgument, "tl.load: `other` needs a mask",
                "it is what masked-out elements read as: add mask=...");
    return loadFrom(emit, access, cache, eviction, isVolatile);
  }
  Tensor mask = maskOf(call, 1);
  matchShape(call, access.pointers, mask, 1);
  if (!call.isNone(2)) {
    Tensor other = call.tensor(2);
    if (other.type.element.isPointer)
      call.fail(2, DiagnosticId::BadPointer, "tl.load: `other` is a pointer",
                "give the value itself, as in other=0.0");
    matchShape(call, access.pointers, other, 2);
    emit.broadcastPair(access.pointers, mask);
    Element element{access.pointers.type.element.dtype, false};
    access.other = emit.cast(other, stored(element)).handle;
  }
  access.mask = mask.handle;
  return loadFrom(emit, access, cache, eviction, isVolatile);
}

Value emitStore(BuiltinCall &call) {
  Emitter &emit = call.emit;
  auto cache = wordAs<tile::StoreCacheAttr>(call, 4);
  auto eviction = wordAs<tile::EvictionAttr>(call, 5);
  Tensor value = call.tensor(1);
  if (auto *block = call[0].blockPointer()) {
    if (!call.isNone(2))
      call.fail(2, DiagnosticId::BadArgument,
                "tl.store: `mask` does not go with a block pointer",
                "use boundary_check=");
    if (value.type.isBlock() && value.type.shape != block->block)
      call.fail(1, DiagnosticId::ShapeMismatch,
                "tl.store: a value of shape " + toString(value.type.shape) +
                    " for a block pointer of " + toString(block->block));
    PointerAccess access =
        accessOf(emit, *block, boundaryCheck(call, 3, block->block.size()));
    storeTo(emit, access, emit.broadcastTo(value, block->block), cache,
            eviction);
    return Value::none();
  }
  onlyForBlockPointers(call, 3);
  PointerAccess access{call.pointer(0), {}, {}};
  // Stores an address as a 64-bit integer.
  if (value.type.element.isPointer &&
      access.pointers.type.element.dtype == DType::Int64)
    value = emit.cast(value, {DType::Int64, false});
  if (value.type.element.isPointer)
    call.fail(1, DiagnosticId::BadPointer, "tl.store: `value` is a pointer",
              "store values, not addresses: tl.load(" + call.text(1) + ")");
  Shape written = access.pointers.type.shape;
  matchShape(call, access.pointers, value, 1);
  Tensor mask;
  if (!call.isNone(2)) {
    mask = maskOf(call, 2);
    matchShape(call, access.pointers, mask, 2);
    emit.broadcastPair(access.pointers, value);
    access.mask = mask.handle;
  }
  if (written != access.pointers.type.shape)
    call.fail(0, DiagnosticId::ShapeMismatch,
              "tl.store: pointers of shape " + toString(written) +
                  " for values of shape " +
                  toString(access.pointers.type.shape),
              "several values would go to one address; build the pointers "
              "with the full shape");
  storeTo(emit, access, value, cache, eviction);
  return Value::none();
}

Value emitMakeBlockPointer(BuiltinCall &call) {
  BlockPointer pointer;
  pointer.base = call.pointer(0);
  if (pointer.base.type.isBlock())
    call.fail(0, DiagnosticId::BadPointer,
              "tl.make_block_ptr: `base` must be one pointer, got " +
                  toString(pointer.base.type),
              "give the pointer argument itself, without offsets");
  pointer.block = call.shape(4);
  size_t rank = pointer.block.size();
  pointer.shape = coordinates(call, 1, rank);
  pointer.strides = coordinates(call, 2, rank);
  pointer.offsets = coordinates(call, 3, rank);
  std::vector<int64_t> order = call.integers(5), sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < rank || i < sorted.size(); ++i)
    if (sorted.size() != rank || sorted[i] != int64_t(i))
      call.fail(5, DiagnosticId::BadArgument,
                "tl.make_block_ptr: `order` must be a permutation of the " +
                    std::to_string(rank) + " dimensions",
                rank == 2 ? "write (1, 0) for rows one after the other"
                          : "name each dimension once, the fastest first");
  return pointer;
}

Value emitAdvance(BuiltinCall &call) {
  auto *block = call[0].blockPointer();
  if (!block)
    call.fail(0, DiagnosticId::BadArgument,
              "tl.advance needs a block pointer, got " + call[0].describe(),
              "pointers move with +");
  BlockPointer moved = *block;
  std::vector<Tensor> by = coordinates(call, 1, block->block.size());
  for (size_t i = 0; i < by.size(); ++i)
    moved.offsets[i] =
        *call.emit.binary(BinaryOp::Add, block->offsets[i], by[i]).tensor();
  return moved;
}

} // namespace

void registerMemory(Registry &registry) {
  registry.add("load",
               "pointer, mask=None, other=None, boundary_check=(), "
               "padding_option='', cache_modifier='', eviction_policy='', "
               "volatile=False",
               emitLoad);
  registry.addMethod("store",
                     "pointer, value, mask=None, boundary_check=(), "
                     "cache_modifier='', eviction_policy=''",
                     emitStore);
  registry.add("make_block_ptr",
               "base, shape, strides, offsets, block_shape, order",
               emitMakeBlockPointer);
  registry.addMethod("advance", "base, offsets", emitAdvance);
}

} // namespace tessera::semantics
