// codegen/analysis/Stride.h - how a value changes along one dimension.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/Value.h"

#include <optional>

namespace tessera::codegen {

/// The difference of neighbouring elements of `value`, an integer or pointer
/// tensor, along `dim`: in elements for pointers. None if it is not a known
/// constant; 0 also for floats that do not change. Looks through operations
/// only, not through loops.
std::optional<int64_t> strideAlong(mlir::Value value, int64_t dim);

/// The integer that every element of `value` equals, if that is known.
std::optional<int64_t> constantOf(mlir::Value value);

/// The dimension of the source of a trans, expand_dims, broadcast or unit
/// reshape that dimension `dim` of its result runs along; none if the result
/// does not change along it. `op` must be one of these.
std::optional<int64_t> sourceDim(mlir::Operation *op, int64_t dim);

/// Whether `op` is a reshape that only adds or drops dimensions of size 1.
bool isUnitReshape(mlir::Operation *op);

} // namespace tessera::codegen
