// codegen/gpu/layouts/Costs.h - costs of conversion and rematerialization.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/layouts/LayoutPropagation.h"

#include <tuple>

namespace tessera::codegen::gpu {

/// A cost model: estimates the instructions that a thread issues.
class Costs {
public:
  explicit Costs(LayoutPropagation &propagation) : propagation(propagation) {}

  /// Returns the cost of converting a tensor between two layouts: 0 if
  /// registers are only renamed, else that of selects or shuffles within a
  /// warp, or of an exchange through shared memory.
  double conversion(tile::LinearAttr from, tile::LinearAttr to,
                    mlir::Type element);

  /// True if rematerializing `value` in `layout` costs less than converting it
  /// from its assigned layout. Operands may themselves be rematerialized or
  /// converted. Costs are weighted by iterationsIn() of their region.
  bool cheaperToRematerialize(mlir::Value value, tile::LinearAttr layout);

private:
  /// Returns the least cost of providing a value in a layout.
  double obtaining(mlir::Value value, tile::LinearAttr layout, int depth);
  /// Returns the cost of rematerializing a value; infinite if it is impossible.
  double rematerializing(mlir::Value value, tile::LinearAttr layout, int depth);

  /// Returns the number of elementwise operations per element that compute a
  /// rematerializable value.
  int stepsOf(mlir::Value value);

  LayoutPropagation &propagation;
  llvm::DenseMap<mlir::Value, int> steps;
  llvm::DenseMap<std::tuple<mlir::Attribute, mlir::Attribute, int64_t>, double>
      conversions;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Attribute>, double> known;
};

} // namespace tessera::codegen::gpu
