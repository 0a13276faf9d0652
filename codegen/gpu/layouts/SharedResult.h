// codegen/gpu/layouts/SharedResult.h - reductions whose lanes share the result.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The lanes that combine their parts of a row all have the whole afterwards. A
// row statistic that goes back to the tile is needed in all of them. A result
// that is stored, sorted or reduced further is not: each lane keeps a share, so
// that the last steps exchange half as much each and nothing after them is
// computed once for each replica.
#pragma once

#include "dialect/layout/LinearLayout.h"

#include "mlir/IR/Operation.h"

#include <optional>

namespace tessera::codegen::gpu {

/// layout::scatteredSlice of a tile.reduce of a tile in `operand`, where no
/// lane needs more than its share; none elsewhere.
std::optional<layout::LinearLayout>
sharedResult(mlir::Operation *op, const layout::LinearLayout &operand);

} // namespace tessera::codegen::gpu
