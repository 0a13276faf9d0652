// codegen/analysis/AxisInfo.h - runs, alignment and constancy of every value.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Facts about the elements of an integer, pointer or i1 value. Along a
// dimension its elements are cut into *aligned groups* of a power of two: group
// j of size g holds the indices j*g .. j*g+g-1, at every index of the other
// dimensions.
//
//     contiguity c     in each aligned group of c the values rise by 1 (the
//                      addresses by one element);
//     divisibility d   a power of two that divides the first value of each
//                      aligned group of c: numbers for integers, *bytes* for
//                      pointers;
//     constancy k      in each aligned group of k the values are equal.
//
// c or k is 1 (a dimension of size 1 aside), and with c = 1 the divisor
// divides every element. So a load may fetch min(c, d / size) elements of a
// lane at once, as far as its mask is constant: see accessWidth().
//
// Integers wrap: of i32, 2^31 - 1 is followed by -2^31 in a run, too. That
// tears the addresses made of them apart: a run of addresses rises by one
// element but for jumps of 2^32 elements, which fall between aligned groups of
// d / bytes. A vector access is aligned to its own size, so it has none.
#pragma once

#include "mlir/IR/Value.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <limits>
#include <optional>

namespace mlir {
class Operation;
class Region;
} // namespace mlir

namespace tessera::codegen {

struct AxisInfo {
  /// All powers of two.
  struct Axis {
    int64_t contiguity = 1, divisibility = 1, constancy = 1;
    bool operator==(const Axis &) const = default;
  };
  /// One a dimension; one for a scalar, too.
  llvm::SmallVector<Axis, 3> axes;
  /// The number that every element is.
  std::optional<int64_t> constant;
  /// Bounds of the elements, as signed numbers of their type: the whole type
  /// for what may have wrapped.
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();

  bool operator==(const AxisInfo &) const = default;
};

/// The largest divisor that is recorded; zero has it.
inline constexpr int64_t maxDivisor = int64_t(1) << 40;

/// Of a module: its launches may have more than narrowGrid programs along x
/// (support/GpuTarget.h).
inline constexpr llvm::StringLiteral kWideGridAttr = "tessera.wide_grid";

/// Programs of a grid along an axis, at most.
int64_t mostPrograms(mlir::Operation *op, int64_t axis);

/// Bytes of an element in memory (i1 has one), of a pointer its pointee's.
int64_t elementBytes(mlir::Type type);

/// Facts about every value below an operation. Loops are iterated to a
/// fixpoint, branches are joined. Nothing is updated when IR changes later.
class AxisInfoAnalysis {
public:
  explicit AxisInfoAnalysis(mlir::Operation *root);

  /// Facts about a value; the weakest for a value that is not known.
  AxisInfo of(mlir::Value value) const;

  /// How many neighbours along `dim` one access through `ptr` (a tensor of
  /// pointers, or one) may take: a power of two, at most 16 bytes, aligned to
  /// its size, under one bit of `mask`, which may be null.
  int64_t accessWidth(mlir::Value ptr, mlir::Value mask, int64_t dim) const;

private:
  void visit(mlir::Operation *op);
  void visitBlock(mlir::Region &region);
  void set(mlir::Value value, AxisInfo info);

  llvm::DenseMap<mlir::Value, AxisInfo> infos;
  /// What tile.assume says of values.
  llvm::DenseMap<mlir::Value, AxisInfo> assumed;
};

} // namespace tessera::codegen
