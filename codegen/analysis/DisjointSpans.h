// codegen/analysis/DisjointSpans.h - parts of one buffer that do not overlap.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/Value.h"

namespace tessera::codegen {

/// True if the elements behind `a` and behind `b`, pointers or tensors of
/// pointers, are in two parts of memory that do not overlap: constant distances
/// from one scalar pointer, such as two arrays in one scratch buffer. Both
/// pointers must have been computed from the same value of that scalar.
bool haveDisjointSpans(mlir::Value a, mlir::Value b);

} // namespace tessera::codegen
