// codegen/gpu/layouts/Costs.h - compute again or convert?
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/layouts/Homes.h"

#include <tuple>

namespace tessera::codegen::gpu {

/// What a thread issues, roughly, in instructions; a model for choosing.
class Costs {
public:
  explicit Costs(Homes &homes) : homes(homes) {}

  /// Of bringing a tensor from one layout to another: nothing where registers
  /// are renamed, shuffles within a warp, else a way through shared memory.
  double conversion(tile::LinearAttr from, tile::LinearAttr to,
                    mlir::Type element);

  /// Whether it costs less to compute `value` again in a layout, from
  /// operands that may themselves be computed again or converted, than to
  /// convert it from its home. Work outside of loops counts a fraction.
  bool cheaperAgain(mlir::Value value, tile::LinearAttr layout);

private:
  /// Of having a value in a layout, one way or the other.
  double having(mlir::Value value, tile::LinearAttr layout, int depth);
  /// Of computing it again; infinite where that is not possible.
  double again(mlir::Value value, tile::LinearAttr layout, int depth);

  int stepsOf(mlir::Value value);

  Homes &homes;
  llvm::DenseMap<mlir::Value, int> steps;
  llvm::DenseMap<std::tuple<mlir::Attribute, mlir::Attribute, int64_t>, double>
      conversions;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Attribute>, double> known;
};

} // namespace tessera::codegen::gpu
