// dialect/tile/TileDialect.h - the tile dialect: types, enumerations, ops.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A kernel is one func.func over !tile.ptr and scalar arguments. Values are
// scalars or tensors of static power-of-two shape without layout; arithmetic
// is arith/math, control flow is scf. td/ lists every op.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/layout/LinearLayout.h"
#include "dialect/tile/TileDialect.h.inc"
#include "dialect/tile/TileEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/tile/TileAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/tile/TileTypes.h.inc"

#define GET_OP_CLASSES
#include "dialect/tile/TileOps.h.inc"

namespace tessera::tile {

/// Largest number of elements of one tensor (Triton's limit).
inline constexpr int64_t kMaxTileElements = 1 << 20;

/// Name of the argument attribute that holds a known divisor: of the value for
/// integers, of the address in bytes for pointers.
inline constexpr llvm::StringLiteral kDivisibilityAttr = "tile.divisibility";

/// Operation attribute (i64): the offset in shared memory, in bytes, of the
/// operation's scratch or buffer.
inline constexpr llvm::StringLiteral kScratchOffsetAttr = "tile.scratch";

/// Returns the names of all values of a dialect enumeration that counts from 0.
template <typename Enum>
llvm::SmallVector<llvm::StringRef> wordsOf() {
  llvm::SmallVector<llvm::StringRef> words;
  while (true) {
    llvm::StringRef word = stringifyEnum(Enum(words.size()));
    if (word.empty())
      return words;
    words.push_back(word);
  }
}

/// Returns the element type of a tensor; `type` itself for a scalar.
mlir::Type elementType(mlir::Type type);

/// Returns the bytes of an element in global or shared memory: 1 for i1, 8 for
/// pointers.
int64_t bytesInMemory(mlir::Type element);

/// Returns the layout of a tensor; null for scalars and before
/// tessera-assign-layouts.
LinearAttr layoutOf(mlir::Type type);

/// Returns the shape of a tensor; empty for a scalar.
llvm::ArrayRef<int64_t> shapeOf(mlir::Type type);

/// Returns a scalar or tensor type of `element` with the shape and layout of
/// `like`.
mlir::Type withElementType(mlir::Type like, mlir::Type element);

/// Returns the result type of a load through `pointer`, a pointer or a tensor
/// of pointers.
mlir::Type pointeeValueType(mlir::Type pointer);

} // namespace tessera::tile
