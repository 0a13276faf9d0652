// codegen/analysis/Stride.h - how a value changes along one dimension.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/Value.h"

#include <optional>

namespace tessera::codegen {

/// The most values that an analysis visits for one question, after which the
/// answer is unknown. A sum whose operands are sums of the same values has
/// exponentially many paths to them.
constexpr int kMostVisits = 500;

/// Returns the difference of neighbouring elements of `value`, an integer or
/// pointer tensor, along `dim`; for pointers, in elements. Returns nullopt if
/// it is not a known constant, and 0 also for floats that do not change. Looks
/// through operations but not through loops.
std::optional<int64_t> strideAlong(mlir::Value value, int64_t dim);

/// Returns the integer that every element of `value` equals; nullopt if
/// unknown.
std::optional<int64_t> constantOf(mlir::Value value);

/// Returns the source dimension that corresponds to dimension `dim` of the
/// result of `op`: a trans, expand_dims, broadcast or unit reshape. Returns
/// nullopt if the result does not change along `dim`.
std::optional<int64_t> sourceDim(mlir::Operation *op, int64_t dim);

/// True if `op` is a reshape that only adds or drops dimensions of size 1.
bool isUnitReshape(mlir::Operation *op);

} // namespace tessera::codegen
