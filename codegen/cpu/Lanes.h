// codegen/cpu/Lanes.h - values of neighbouring elements, as scalars or vectors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Register types: an f16 or bf16 element is held as an f32 that the narrow type
// can represent, so no 16-bit operation is emitted. Pointers are held as a
// scalar base address and i64 byte offsets, or as absolute i64 addresses. Other
// types are held as themselves.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace tessera::codegen::cpu {

/// The elements of one tensor value at `width` neighbouring indices.
struct Lanes {
  enum Kind {
    Uniform, // all equal `value`, a scalar
    Affine,  // value + lane * stride, scalars of one integer type
    General, // `value` is a vector
  };
  Kind kind = Uniform;
  mlir::Value value;
  mlir::Value stride;
  /// For pointers into one object: the address to which the byte offsets above
  /// are added. Pointers without a base are absolute 64-bit addresses. The base
  /// is never a null pointer: LLVM treats an access through a null base as
  /// unreachable.
  mlir::Value base;
  /// For affine pointers whose 32-bit offsets may wrap between two lanes: an i1
  /// that is true if no lane wraps, and the byte offsets after wrapping. If
  /// `exact` is null, the offsets never wrap.
  mlir::Value exact, wrapped;

  bool hasBase() const { return bool(base); }
  /// Returns the byte offsets without the base, as integers.
  Lanes offsets() const {
    Lanes result = *this;
    result.base = {};
    return result;
  }
  static Lanes uniform(mlir::Value value) {
    return {Uniform, value, {}, {}, {}, {}};
  }
  static Lanes affine(mlir::Value base, mlir::Value stride) {
    return {Affine, base, stride, {}, {}, {}};
  }
  static Lanes general(mlir::Value value) {
    return {General, value, {}, {}, {}, {}};
  }
};

/// The position of a loop nest in the index space of a tensor: the index of
/// each dimension or, in the dimension `lane`, of the first lane (-1: no
/// dimension).
struct Index {
  llvm::SmallVector<mlir::Value> at;
  int lane = -1;
  int64_t width = 1;
};

/// Returns the type that holds an element of type `element` in registers.
mlir::Type registerType(mlir::Type element);

/// Builds operations on scalars and vectors; folds constants at once.
class LaneBuilder {
public:
  LaneBuilder(mlir::OpBuilder &builder, mlir::Location &location)
      : b(builder), loc(location) {}

  mlir::Value i64(int64_t value);
  mlir::Value integer(mlir::Type type, int64_t value);
  mlir::Value real(mlir::Type type, double value);
  mlir::Value zero(mlir::Type type);

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);

  /// Returns a vector of `width` copies of a scalar.
  mlir::Value splat(mlir::Value scalar, int64_t width);
  mlir::Value extract(mlir::Value vector, int64_t lane);
  mlir::Value insert(mlir::Value vector, mlir::Value scalar, int64_t lane);
  /// Returns the lanes of a, followed by b, that `mask` selects.
  mlir::Value shuffle(mlir::Value a, mlir::Value b,
                      llvm::ArrayRef<int32_t> mask);
  /// Returns `lanes` as a vector of `width` elements, or as a scalar if width
  /// is 1. Pointers become absolute addresses.
  mlir::Value vector(const Lanes &lanes, int64_t width);
  /// Returns the address of uniform pointer lanes, or of the first lane.
  mlir::Value firstAddress(const Lanes &lanes);
  /// Returns the addresses of `width` > 1 pointer lanes as a vector of
  /// pointers.
  mlir::Value addresses(const Lanes &lanes, int64_t width);
  mlir::Value byteOffset(mlir::Value pointer, mlir::Value bytes);
  /// Converts an absolute address, or a vector of them, to pointers.
  mlir::Value absolute(mlir::Value address);

  /// Rounds f32 (scalar or vector) to the nearest bf16, ties to even.
  mlir::Value roundToBf16(mlir::Value value, bool towardsZero = false);
  mlir::Value roundTo(mlir::Type element, mlir::Value value);
  /// Converts f64 to an f32 that rounds to the same f16 or bf16.
  mlir::Value roundToOdd(mlir::Value value);
  /// Returns the 16 bits of an f16 or bf16 register value; widenBits is the
  /// inverse.
  mlir::Value narrowBits(mlir::Type element, mlir::Value value);
  mlir::Value widenBits(mlir::Type element, mlir::Value bits);

  mlir::Type like(mlir::Value value, mlir::Type element);

private:
  mlir::OpBuilder &b;
  mlir::Location &loc;
};

} // namespace tessera::codegen::cpu
