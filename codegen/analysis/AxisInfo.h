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
// Integers wrap: in a run of i32, -2^31 follows 2^31 - 1. The addresses
// computed from such a run jump by 2^32 elements there. The jump is between
// aligned groups of d / bytes elements. A vector access is aligned to its size,
// so it never contains a jump.
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
  /// One entry per dimension; a scalar has one entry.
  llvm::SmallVector<Axis, 3> axes;
  /// The value of every element, if all are one known constant.
  std::optional<int64_t> constant;
  /// Bounds of the elements as signed integers. A value that may have wrapped
  /// has the bounds of its type.
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();

  bool operator==(const AxisInfo &) const = default;
};

/// The largest divisor that is recorded; it is also the divisor of zero.
inline constexpr int64_t maxDivisor = int64_t(1) << 40;

/// Unit attribute of a module whose launches may have more than narrowGrid
/// programs along x (support/GpuTarget.h).
inline constexpr llvm::StringLiteral kWideGridAttr = "tessera.wide_grid";

/// Returns the largest number of programs of a grid along an axis.
int64_t mostPrograms(mlir::Operation *op, int64_t axis);

/// Returns the bytes of an element in memory (1 for i1); for a pointer, those
/// of its pointee.
int64_t elementBytes(mlir::Type type);

/// Computes facts about every value below an operation. Loops are iterated to a
/// fixpoint, branches are joined. Later changes of the IR do not update it.
class AxisInfoAnalysis {
public:
  explicit AxisInfoAnalysis(mlir::Operation *root);

  /// Returns the facts about a value; for an unknown value, the weakest facts.
  AxisInfo of(mlir::Value value) const;

  /// Returns how many neighbours along `dim` one access through `ptr` (a
  /// pointer or a tensor of pointers) may move: a power of two, at most 16
  /// bytes, aligned to its size, with equal elements of `mask`, which may be
  /// null.
  int64_t accessWidth(mlir::Value ptr, mlir::Value mask, int64_t dim) const;

private:
  void visit(mlir::Operation *op);
  void visitBlock(mlir::Region &region);
  void set(mlir::Value value, AxisInfo info);

  llvm::DenseMap<mlir::Value, AxisInfo> infos;
  /// Facts that tile.assume states.
  llvm::DenseMap<mlir::Value, AxisInfo> assumed;
};

} // namespace tessera::codegen
