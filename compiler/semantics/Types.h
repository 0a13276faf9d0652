// compiler/semantics/Types.h - the language's types: dtypes, pointers, blocks.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// MLIR integers are signless, but those of the language have a sign. So every
// value of the front end has one of these types in addition to its MLIR value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlir {
class MLIRContext;
class Type;
} // namespace mlir

namespace tessera::semantics {

enum class DType : uint8_t {
  Int1,
  Int8,
  Int16,
  Int32,
  Int64,
  UInt8,
  UInt16,
  UInt32,
  UInt64,
  Fp16,
  Bf16,
  Fp32,
  Fp64,
  // Kernels move and convert values of these types but do not compute with
  // them. They are integers in the IR (Fp8.cpp).
  Fp8E4Nv,
  Fp8E5,
  // Types that have names, so that kernels can ask for them, but no values.
  Fp8E4B8,
  Fp8E5B16,
  Fp8E4B15,
};

bool isFloat(DType type);
bool isFp8(DType type);
/// True if values of the type exist; false for the types after Fp8E5.
bool hasValues(DType type);
bool isInt(DType type); // Int1 too
/// Int1 counts as unsigned, as under Triton.
bool isSigned(DType type);
unsigned bitWidth(DType type);
/// Return the fraction bits and the exponent bias of a float.
unsigned fractionBits(DType type);
int exponentBias(DType type);
/// 0 bool, 1 integer, 2 float: the kinds of the promotion rules.
int kindOf(DType type);
/// "fp32", "int32", "uint8", "int1".
std::string_view nameOf(DType type);
/// Accepts every spelling: fp32 float32 i32 int32 u8 uint8 i1 int1 bf16 ...
std::optional<DType> parseDType(std::string_view text);
/// Returns the integer dtype of that width and sign; nullopt if none exists.
std::optional<DType> intOfWidth(unsigned bits, bool isSigned);
/// Inclusive range of an integer dtype.
__int128 minOf(DType type);
__int128 maxOf(DType type);

/// The type of an element: a number, or a pointer to one.
struct Element {
  DType dtype = DType::Int32;
  bool isPointer = false;

  bool operator==(const Element &) const = default;
  bool isFloat() const { return !isPointer && semantics::isFloat(dtype); }
  bool isInt() const { return !isPointer && semantics::isInt(dtype); }
  bool isBool() const { return !isPointer && dtype == DType::Int1; }
};

inline constexpr Element kFp32{DType::Fp32, false};

using Shape = std::vector<int64_t>;

/// A scalar (no shape) or a block of elements.
struct Type {
  Element element;
  Shape shape;

  Type() = default;
  Type(DType dtype, Shape shape = {})
      : element{dtype, false}, shape(std::move(shape)) {}
  Type(Element element, Shape shape = {})
      : element(element), shape(std::move(shape)) {}

  bool operator==(const Type &) const = default;
  bool isBlock() const { return !shape.empty(); }
  int64_t rank() const { return int64_t(shape.size()); }
  int64_t elements() const;
  Type with(Element other) const { return Type(other, shape); }
};

/// "fp32", "*fp32", "int32[16, 1]".
std::string toString(const Element &element);
/// "tl.float32", as users write the type of an element.
std::string tlName(const Element &element);
std::string toString(const Type &type);
std::string toString(const Shape &shape);

mlir::Type toMlir(mlir::MLIRContext &context, DType type);
mlir::Type toMlir(mlir::MLIRContext &context, const Element &element);
mlir::Type toMlir(mlir::MLIRContext &context, const Type &type);

} // namespace tessera::semantics
