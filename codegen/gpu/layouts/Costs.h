// codegen/gpu/layouts/Costs.h - rematerialize or convert?
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/layouts/LayoutPropagation.h"

#include <tuple>

namespace tessera::codegen::gpu {

/// What a thread issues, roughly, in instructions; a model for choosing.
class Costs {
public:
  explicit Costs(LayoutPropagation &propagation) : propagation(propagation) {}

  /// Of bringing a tensor from one layout to another: nothing where registers
  /// are renamed, shuffles within a warp, else a way through shared memory.
  double conversion(tile::LinearAttr from, tile::LinearAttr to,
                    mlir::Type element);

  /// Whether it costs less to rematerialize `value` in a layout, from operands
  /// that may themselves be rematerialized or converted, than to convert it
  /// from its assigned layout. Work outside of loops counts a fraction.
  bool cheaperToRematerialize(mlir::Value value, tile::LinearAttr layout);

private:
  /// Of having a value in a layout, one way or the other.
  double obtaining(mlir::Value value, tile::LinearAttr layout, int depth);
  /// Of rematerializing it; infinite where that is not possible.
  double rematerializing(mlir::Value value, tile::LinearAttr layout, int depth);

  int stepsOf(mlir::Value value);

  LayoutPropagation &propagation;
  llvm::DenseMap<mlir::Value, int> steps;
  llvm::DenseMap<std::tuple<mlir::Attribute, mlir::Attribute, int64_t>, double>
      conversions;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Attribute>, double> known;
};

} // namespace tessera::codegen::gpu
