// codegen/analysis/DistinctElements.h - whether a tile has equal pointers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Element i of a tile of pointers is accessed by the thread that holds element
// i. Only if no two elements have one address does each address belong to one
// thread, so that two accesses through the tile need no barrier between them.
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace tessera::codegen {

/// A step of addresses: they grow by `size` elements `repetitions` times.
/// nullopt means an unknown number of times.
struct KnownStep {
  uint64_t size;
  std::optional<int64_t> repetitions;
};

/// Returns the constant steps along the axes of a tile of pointers. Elements
/// that `mask` (which may be null) excludes do not count.
llvm::SmallVector<KnownStep> knownSteps(mlir::Value pointers,
                                        mlir::Value mask = {});

/// True if different combinations of the steps never give the same address:
/// each step is larger than the total reach of all smaller ones.
bool areApart(llvm::SmallVector<KnownStep> steps);

/// True if no two elements of `pointers`, a tensor of pointers, are equal. The
/// addresses must be sums of tile.range ops, each along another axis, times
/// factors that are equal for all elements. Variable factors are assumed to be
/// strides of a tensor whose elements do not overlap. Returns false for values
/// that are loaded or computed in another way (division, masks, minima).
bool hasDistinctElements(mlir::Value pointers);

} // namespace tessera::codegen
