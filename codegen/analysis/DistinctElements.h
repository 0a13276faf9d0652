// codegen/analysis/DistinctElements.h - whether a tile names an address twice.
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

/// Addresses grow by `size` elements, `repetitions` times, or an
/// unknown number of times.
struct KnownStep {
  uint64_t size;
  std::optional<int64_t> repetitions;
};

/// The constant steps along the axes of a tile of pointers, as far as `mask`
/// (which may be null) lets pass.
llvm::SmallVector<KnownStep> knownSteps(mlir::Value pointers,
                                        mlir::Value mask = {});

/// Whether steps in several directions never lead to the same place: each is
/// larger than all smaller ones together reach.
bool areApart(llvm::SmallVector<KnownStep> steps);

/// Whether no two elements of `pointers`, a tensor of pointers, are equal: sums
/// of tile.range, each along another axis, times numbers that are the same for
/// all elements. Numbers that are not constant are taken to be strides of a
/// tensor whose elements do not overlap. False for what is loaded or computed
/// in another way (division, masks, minima).
bool hasDistinctElements(mlir::Value pointers);

} // namespace tessera::codegen
