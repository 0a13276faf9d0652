// codegen/cpu/Lanes.h - values of neighbouring elements, as scalars or vectors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Register types: f16 and bf16 are held as f32 values that the narrow type can
// represent, so no operation on them reaches LLVM; pointers as a scalar base
// address and byte offsets in i64, or as absolute addresses in i64; all else as
// itself.
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
  /// For pointers into one object: the address that the byte offsets above are
  /// added to. Pointers without a base are absolute addresses, plain integers
  /// of 64 bits. The base is never a null pointer: LLVM treats an access
  /// through a null base as unreachable.
  mlir::Value base;
  /// Affine pointers whose offsets of 32 bits may wrap between two lanes: an i1
  /// that says that they do not, and the byte offsets as they are. Without
  /// `exact` they never do.
  mlir::Value exact, wrapped;

  bool hasBase() const { return bool(base); }
  /// The byte offsets alone, as integers.
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

/// Where a nest stands in the index space of a tensor: the index of each
/// dimension, or of the first lane in the dimension `lane` (-1: no dimension).
struct Index {
  llvm::SmallVector<mlir::Value> at;
  int lane = -1;
  int64_t width = 1;
};

/// The type that holds an element of `element` in registers.
mlir::Type registerType(mlir::Type element);

/// Operations on scalars and vectors with constants folded where they stand.
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

  /// A vector of `width` copies of a scalar.
  mlir::Value splat(mlir::Value scalar, int64_t width);
  mlir::Value extract(mlir::Value vector, int64_t lane);
  mlir::Value insert(mlir::Value vector, mlir::Value scalar, int64_t lane);
  /// Lanes of a, then b, picked by `mask`.
  mlir::Value shuffle(mlir::Value a, mlir::Value b,
                      llvm::ArrayRef<int32_t> mask);
  /// `lanes` as a vector of `width` elements, or a scalar if width is 1.
  /// Pointers become absolute addresses.
  mlir::Value vector(const Lanes &lanes, int64_t width);
  /// The address of pointer lanes that are uniform, or of their first lane.
  mlir::Value firstAddress(const Lanes &lanes);
  /// The addresses of `width` > 1 pointer lanes, a vector of pointers.
  mlir::Value addresses(const Lanes &lanes, int64_t width);
  mlir::Value byteOffset(mlir::Value pointer, mlir::Value bytes);
  /// An absolute address, or a vector of them, as pointers.
  mlir::Value absolute(mlir::Value address);

  /// Rounds f32 (scalar or vector) to the nearest bf16, ties to even.
  mlir::Value roundToBf16(mlir::Value value, bool towardsZero = false);
  mlir::Value roundTo(mlir::Type element, mlir::Value value);
  /// The 16 bits of a register value of type f16 or bf16, and back.
  mlir::Value narrowBits(mlir::Type element, mlir::Value value);
  mlir::Value widenBits(mlir::Type element, mlir::Value bits);

  mlir::Type like(mlir::Value value, mlir::Type element);

private:
  mlir::OpBuilder &b;
  mlir::Location &loc;
};

} // namespace tessera::codegen::cpu
