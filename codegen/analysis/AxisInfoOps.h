// codegen/analysis/AxisInfoOps.h - facts about a result from its operands'.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/analysis/AxisInfo.h"

#include "mlir/IR/Operation.h"

namespace tessera::codegen::axis {

/// Nothing is known but the type.
AxisInfo unknown(mlir::Type type);
/// Every element is `value`.
AxisInfo ofConstant(mlir::Type type, int64_t value);
/// What holds for a value that is `a` or `b`.
AxisInfo join(const AxisInfo &a, const AxisInfo &b, mlir::Type type);
/// What holds for a value of which both hold.
AxisInfo meet(const AxisInfo &a, const AxisInfo &b, mlir::Type type);
/// Bounds as wide as the type where those of `next` left those of `before`, so
/// that a loop's fixpoint is reached soon.
void widenBounds(AxisInfo &next, const AxisInfo &before, mlir::Type type);
/// Divides the first element of each aligned group of `size` along an axis;
/// `unit` is by how much a run rises (1, or the bytes of a pointer's element).
int64_t divisorAt(const AxisInfo::Axis &axis, int64_t size, int64_t unit);
/// Divides every element.
int64_t divisorOf(const AxisInfo &info, mlir::Type type);
/// The largest power of two that divides `value`, at most maxDivisor.
int64_t powerOfTwoIn(int64_t value);
/// A loop's counter.
AxisInfo ofCounter(const AxisInfo &lower, const AxisInfo &upper,
                   const AxisInfo &step, mlir::Type type);
/// Result `index` of an operation without regions.
AxisInfo ofResult(mlir::Operation *op, unsigned index,
                  llvm::ArrayRef<AxisInfo> operands);

} // namespace tessera::codegen::axis
