// compiler/semantics/Types.cpp - names, ranges and MLIR forms of types.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Types.h"

#include "dialect/tile/TileDialect.h"

#include "mlir/IR/BuiltinTypes.h"

#include <iterator>

namespace tessera::semantics {
namespace {

struct Row {
  DType dtype;
  std::string_view name;  // printed, and the suffix of Triton's short names
  std::string_view token; // name in signatures
  std::string_view pythonName;
  unsigned bits;
  bool isFloat;
  bool isSigned;
};

// One row a dtype, in the order of the enumeration.
constexpr Row kRows[] = {
    {DType::Int1, "int1", "i1", "int1", 1, false, false},
    {DType::Int8, "int8", "i8", "int8", 8, false, true},
    {DType::Int16, "int16", "i16", "int16", 16, false, true},
    {DType::Int32, "int32", "i32", "int32", 32, false, true},
    {DType::Int64, "int64", "i64", "int64", 64, false, true},
    {DType::UInt8, "uint8", "u8", "uint8", 8, false, false},
    {DType::UInt16, "uint16", "u16", "uint16", 16, false, false},
    {DType::UInt32, "uint32", "u32", "uint32", 32, false, false},
    {DType::UInt64, "uint64", "u64", "uint64", 64, false, false},
    {DType::Fp16, "fp16", "fp16", "float16", 16, true, true},
    {DType::Bf16, "bf16", "bf16", "bfloat16", 16, true, true},
    {DType::Fp32, "fp32", "fp32", "float32", 32, true, true},
    {DType::Fp64, "fp64", "fp64", "float64", 64, true, true},
    {DType::Fp8E4Nv, "fp8e4nv", "fp8e4nv", "float8e4nv", 8, true, true},
    {DType::Fp8E5, "fp8e5", "fp8e5", "float8e5", 8, true, true},
    {DType::Fp8E4B8, "fp8e4b8", "fp8e4b8", "float8e4b8", 8, true, true},
    {DType::Fp8E5B16, "fp8e5b16", "fp8e5b16", "float8e5b16", 8, true, true},
    {DType::Fp8E4B15, "fp8e4b15", "fp8e4b15", "float8e4b15", 8, true, true},
};

const Row &rowOf(DType type) { return kRows[size_t(type)]; }

} // namespace

bool isFloat(DType type) { return rowOf(type).isFloat; }
bool isFp8(DType type) { return isFloat(type) && bitWidth(type) == 8; }
bool hasValues(DType type) {
  return !isFp8(type) || type == DType::Fp8E4Nv || type == DType::Fp8E5;
}
bool isInt(DType type) { return !rowOf(type).isFloat; }
bool isSigned(DType type) { return rowOf(type).isSigned; }
unsigned bitWidth(DType type) { return rowOf(type).bits; }

unsigned fractionBits(DType type) {
  switch (type) {
  case DType::Fp16:
    return 10;
  case DType::Bf16:
    return 7;
  case DType::Fp32:
    return 23;
  case DType::Fp64:
    return 52;
  case DType::Fp8E5:
  case DType::Fp8E5B16:
    return 2;
  default:
    return 3;
  }
}

int exponentBias(DType type) {
  switch (type) {
  case DType::Fp8E4Nv:
    return 7;
  case DType::Fp8E4B8:
    return 8;
  case DType::Fp8E5B16:
    return 16;
  case DType::Bf16:
  case DType::Fp32:
    return 127;
  case DType::Fp64:
    return 1023;
  default:
    return 15;
  }
}

std::string_view nameOf(DType type) { return rowOf(type).name; }

int kindOf(DType type) {
  if (type == DType::Int1)
    return 0;
  return isFloat(type) ? 2 : 1;
}

std::optional<DType> parseDType(std::string_view text) {
  for (const Row &row : kRows)
    if (text == row.name || text == row.token || text == row.pythonName)
      return row.dtype;
  return std::nullopt;
}

std::optional<DType> intOfWidth(unsigned bits, bool isSigned) {
  for (const Row &row : kRows)
    if (!row.isFloat && row.bits == bits && (row.isSigned == isSigned))
      return row.dtype;
  return std::nullopt;
}

__int128 minOf(DType type) {
  const Row &row = rowOf(type);
  return row.isSigned ? -(__int128(1) << (row.bits - 1)) : 0;
}

__int128 maxOf(DType type) {
  const Row &row = rowOf(type);
  return (__int128(1) << (row.isSigned ? row.bits - 1 : row.bits)) - 1;
}

int64_t Type::elements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

std::string toString(const Element &element) {
  return (element.isPointer ? "*" : "") + std::string(nameOf(element.dtype));
}

std::string tlName(const Element &element) {
  return "tl." + std::string(rowOf(element.dtype).pythonName);
}

std::string toString(const Shape &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string toString(const Type &type) {
  return toString(type.element) + (type.isBlock() ? toString(type.shape) : "");
}

mlir::Type toMlir(mlir::MLIRContext &context, DType type) {
  switch (type) {
  case DType::Fp16:
    return mlir::Float16Type::get(&context);
  case DType::Bf16:
    return mlir::BFloat16Type::get(&context);
  case DType::Fp32:
    return mlir::Float32Type::get(&context);
  case DType::Fp64:
    return mlir::Float64Type::get(&context);
  default:
    return mlir::IntegerType::get(&context, bitWidth(type));
  }
}

mlir::Type toMlir(mlir::MLIRContext &context, const Element &element) {
  if (!element.isPointer)
    return toMlir(context, element.dtype);
  // Booleans take one byte in memory.
  DType pointee = element.dtype == DType::Int1 ? DType::Int8 : element.dtype;
  return tile::PtrType::get(toMlir(context, pointee));
}

mlir::Type toMlir(mlir::MLIRContext &context, const Type &type) {
  mlir::Type element = toMlir(context, type.element);
  if (!type.isBlock())
    return element;
  return mlir::RankedTensorType::get(type.shape, element);
}

} // namespace tessera::semantics
