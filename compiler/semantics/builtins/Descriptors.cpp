// compiler/semantics/builtins/Descriptors.cpp - lowers descriptors: those of
// tl.make_tensor_descriptor and those that a launch passes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A descriptor becomes pointers and masks, as in Triton on targets without a
// unit that copies tiles (TMA). Loads of elements outside of the tensor return
// 0 or NaN; stores do not write them.
#include "compiler/semantics/builtins/PointerAccess.h"

#include "dialect/tile/TileDialect.h"

namespace tessera::semantics {
namespace {

constexpr Element kInt32{DType::Int32, false};
constexpr Element kInt64{DType::Int64, false};

const Descriptor &descriptor(BuiltinCall &call) {
  auto *array = call[0].descriptor();
  if (!array)
    call.fail(0, DiagnosticId::BadArgument,
              call.what(0) + " must be a tensor descriptor, got " +
                  call[0].describe(),
              "make one: tl.make_tensor_descriptor(pointer, shape, strides, "
              "block_shape)");
  return *array;
}

std::vector<Tensor> cast(Emitter &emit, std::vector<Tensor> values,
                         Element to) {
  for (Tensor &value : values)
    value = emit.cast(value, to);
  return values;
}

std::vector<int64_t> allDims(size_t rank) {
  std::vector<int64_t> dims(rank);
  for (size_t i = 0; i < rank; ++i)
    dims[i] = int64_t(i);
  return dims;
}

Element pointee(const Descriptor &array) {
  return {array.base.type.element.dtype, false};
}

void checkContiguous(BuiltinCall &call, const Value &last) {
  auto *constant = last.constant();
  if (!constant || !constant->asInt() || *constant->asInt() != 1)
    call.fail(2, DiagnosticId::BadArgument,
              "tl.make_tensor_descriptor: the last stride must be 1, known at "
              "compile time, got " +
                  last.describe(),
              "rows of a descriptor are contiguous: write 1, or use pointers "
              "or tl.make_block_ptr");
}

Value emitMake(BuiltinCall &call) {
  Emitter &emit = call.emit;
  Descriptor array;
  array.base = call.pointer(0);
  if (array.base.type.isBlock())
    call.fail(0, DiagnosticId::BadPointer,
              "tl.make_tensor_descriptor: `base` must be one pointer, got " +
                  toString(array.base.type),
              "give the pointer argument itself, without offsets");
  array.block = call.shape(3);
  const size_t rank = array.block.size();
  if (rank < 1 || rank > 5)
    call.fail(
        3, DiagnosticId::BadArgument,
        "tl.make_tensor_descriptor: 1 to 5 dimensions are possible, got " +
            std::to_string(rank),
        "write one size for each dimension of the block");
  const std::vector<Value> *strides = call[2].tupleValues();
  if (strides && !strides->empty())
    checkContiguous(call, strides->back());
  array.shape = cast(emit, coordinates(call, 1, rank), kInt32);
  array.strides = coordinates(call, 2, rank);
  const int64_t bytes =
      array.block.back() * int64_t(bitWidth(stored(pointee(array)).dtype)) / 8;
  if (bytes < 16)
    call.fail(
        3, DiagnosticId::BadArgument,
        "tl.make_tensor_descriptor: the last dimension of the block has " +
            std::to_string(bytes) + " bytes, at least 16 are needed",
        "make it longer, or use pointers");
  std::string padding = call.string(4);
  if (padding != "zero" && padding != "nan")
    call.fail(4, DiagnosticId::BadArgument,
              call.what(4) + " cannot be '" + padding + "'",
              "one of 'zero' 'nan'");
  array.padsNan = padding == "nan";
  if (array.padsNan && !pointee(array).isFloat())
    call.fail(4, DiagnosticId::BadArgument, "integers have no NaN",
              "write padding_option=\"zero\"");
  return array;
}

// Returns the block of the array at the offsets that an argument gives.
PointerAccess accessAt(BuiltinCall &call, const Descriptor &array,
                       size_t index) {
  Emitter &emit = call.emit;
  const size_t rank = array.block.size();
  BlockPointer block{array.base, cast(emit, array.shape, kInt64), array.strides,
                     coordinates(call, index, rank), array.block};
  return accessOf(emit, block, allDims(rank));
}

// Rounds float32 to the nearest TF32 value, ties to even. Infinity and NaN stay
// as they are, as in Triton.
Value roundToTf32(Emitter &emit, const Tensor &value) {
  const Tensor bits = emit.bitcast(value, {DType::UInt32, false});
  auto binary = [&](BinaryOp op, const Value &a, int64_t b) {
    return emit.binary(op, a, Value::integer(b));
  };
  Value last =
      binary(BinaryOp::And, binary(BinaryOp::RShift, Value(bits), 13), 1);
  Value sum =
      emit.binary(BinaryOp::Add, binary(BinaryOp::Add, bits, 0xFFF), last);
  Value rounded = binary(BinaryOp::And, sum, 0xFFFFE000);
  Value exponent = binary(BinaryOp::And, Value(bits), 0x7F800000);
  Value special =
      emit.compare(CompareOp::Eq, exponent, Value::integer(0x7F800000));
  return emit.bitcast(emit.select(*special.tensor(), bits, rounded),
                      value.type.element);
}

Value loadPadded(Emitter &emit, const Descriptor &array, PointerAccess access) {
  access.other = paddingOf(emit, access.pointers, array.padsNan);
  Tensor value = loadFrom(emit, access, {}, {}, false);
  return array.roundsTf32 ? roundToTf32(emit, value) : Value(value);
}

Value emitLoadBlock(BuiltinCall &call) {
  const Descriptor &array = descriptor(call);
  return loadPadded(call.emit, array, accessAt(call, array, 1));
}

// Returns the argument, which must have exactly the written block's shape.
Tensor valueOf(BuiltinCall &call, size_t index, const Shape &shape) {
  Tensor value = call.tensor(index);
  if (value.type.shape != shape || value.type.element.isPointer)
    call.fail(index, DiagnosticId::ShapeMismatch,
              call.what(index) + " must be numbers of shape " +
                  toString(shape) + ", got " + toString(value.type),
              "reshape it, or splat it: tl.full(" + toString(shape) +
                  ", value, dtype)");
  return value;
}

Value emitStoreBlock(BuiltinCall &call) {
  const Descriptor &array = descriptor(call);
  Tensor value = valueOf(call, 2, array.block);
  storeTo(call.emit, accessAt(call, array, 1), value, {}, {});
  return Value::none();
}

// Returns the rows that an index selects, each with `block[1]` columns from one
// offset.
PointerAccess rowsAt(BuiltinCall &call, const Descriptor &array, size_t rows,
                     size_t column) {
  Emitter &emit = call.emit;
  Tensor index = call.tensor(rows);
  if (array.block.size() != 2 || array.block[0] != 1)
    call.fail(0, DiagnosticId::ShapeMismatch,
              displayName(call.builtin) +
                  " needs a descriptor of one row, got blocks of " +
                  toString(array.block),
              "make it with block_shape=[1, columns]");
  if (index.type.rank() != 1 || !index.type.element.isInt())
    call.fail(rows, DiagnosticId::BadArgument,
              call.what(rows) + " must be integers of rank 1, got " +
                  toString(index.type),
              "write the number of a row for each row of the result");
  Tensor start = call.tensor(column);
  if (start.type.isBlock() || !start.type.element.isInt())
    call.fail(column, DiagnosticId::BadArgument,
              call.what(column) + " must be one integer, got " +
                  toString(start.type),
              "write the first column");
  Type rangeType(DType::Int32, {array.block[1]});
  Tensor range{tile::RangeOp::create(emit.builder, emit.location(),
                                     toMlir(emit.context(), rangeType), 0,
                                     int32_t(array.block[1])),
               rangeType};
  StridedAccess access{array.base,
                       cast(emit, array.shape, kInt64),
                       array.strides,
                       {},
                       {index.type.shape[0], array.block[1]}};
  access.coordinates.push_back(emit.expandDims(emit.cast(index, kInt64), 1));
  Value columns = emit.binary(BinaryOp::Add, emit.cast(range, kInt64),
                              emit.cast(start, kInt64));
  access.coordinates.push_back(emit.expandDims(*columns.tensor(), 0));
  return accessOf(emit, access, {0, 1});
}

Value emitGatherRows(BuiltinCall &call) {
  const Descriptor &array = descriptor(call);
  return loadPadded(call.emit, array, rowsAt(call, array, 1, 2));
}

Value emitScatterRows(BuiltinCall &call) {
  const Descriptor &array = descriptor(call);
  PointerAccess access = rowsAt(call, array, 2, 3);
  storeTo(call.emit, access, valueOf(call, 1, access.pointers.type.shape), {},
          {});
  return Value::none();
}

// Lowers atomics on a block as tl.atomic_add does, but without a result.
Value emitAtomicBlock(BuiltinCall &call) {
  const Descriptor &array = descriptor(call);
  Tensor value = valueOf(call, 2, array.block);
  PointerAccess access = accessAt(call, array, 1);
  Tensor mask{access.mask, Type(DType::Int1, array.block)};
  const std::string name =
      call.builtin.name.substr(std::string("descriptor.").size());
  const Builtin &atomic = *Registry::get().find(name);
  const SourceRange &range = call.emit.site.range;
  BuiltinCall inner(
      call.emit, atomic,
      {{"", access.pointers, range}, {"", value, range}, {"", mask, range}});
  atomic.emit(inner);
  return Value::none();
}

} // namespace

void registerDescriptors(Registry &registry) {
  registry.add("make_tensor_descriptor",
               "base, shape, strides, block_shape, padding_option='zero'",
               emitMake);
  registry.add("load_tensor_descriptor", "desc, offsets", emitLoadBlock);
  registry.add("store_tensor_descriptor", "desc, offsets, value",
               emitStoreBlock);
  registry.add("descriptor.load", "desc, offsets", emitLoadBlock);
  registry.add("descriptor.store", "desc, offsets, value", emitStoreBlock);
  registry.add("descriptor.gather", "desc, x_offsets, y_offset",
               emitGatherRows);
  registry.add("descriptor.scatter", "desc, value, x_offsets, y_offset",
               emitScatterRows);
  for (const char *name : {"atomic_add", "atomic_min", "atomic_max",
                           "atomic_and", "atomic_or", "atomic_xor"})
    registry.add(std::string("descriptor.") + name, "desc, offsets, value",
                 emitAtomicBlock);
}

} // namespace tessera::semantics
