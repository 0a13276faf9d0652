// codegen/analysis/AxisInfoOps.h - transfer functions of AxisInfo.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/analysis/AxisInfo.h"

#include "mlir/IR/Operation.h"

namespace tessera::codegen::axis {

/// Returns the facts that hold for every value of the type.
AxisInfo unknown(mlir::Type type);
/// Returns the facts about a value whose elements all are `value`.
AxisInfo ofConstant(mlir::Type type, int64_t value);
/// Returns the facts that hold for a value to which `a` or `b` applies.
AxisInfo join(const AxisInfo &a, const AxisInfo &b, mlir::Type type);
/// Returns the facts that hold for a value to which both `a` and `b` apply.
AxisInfo meet(const AxisInfo &a, const AxisInfo &b, mlir::Type type);
/// Widens each bound of `next` that exceeds that of `before` to the bound of
/// the type, so that the fixpoint of a loop is reached soon.
void widenBounds(AxisInfo &next, const AxisInfo &before, mlir::Type type);
/// Returns a divisor of the first element of each aligned group of `size` along
/// an axis. `unit` is the step of a run: 1, or the bytes of a pointer's
/// element.
int64_t divisorAt(const AxisInfo::Axis &axis, int64_t size, int64_t unit);
/// Returns a divisor of every element.
int64_t divisorOf(const AxisInfo &info, mlir::Type type);
/// Returns the largest power of two that divides `value`, at most maxDivisor.
int64_t powerOfTwoIn(int64_t value);
/// Returns the facts about a loop's induction variable.
AxisInfo ofCounter(const AxisInfo &lower, const AxisInfo &upper,
                   const AxisInfo &step, mlir::Type type);
/// Returns the facts about result `index` of an operation without regions.
AxisInfo ofResult(mlir::Operation *op, unsigned index,
                  llvm::ArrayRef<AxisInfo> operands);

} // namespace tessera::codegen::axis
