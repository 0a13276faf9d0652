// codegen/gpu/layouts/SharedResult.h - spreads results of reductions over
// lanes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// After a reduction across lanes, every lane of a row can hold the result. All
// of them need it if the result is broadcast back to the tile. If it is only
// stored, sorted or reduced further, each lane keeps a share of the rows: each
// of the last shuffle steps then exchanges half as much as the one before, and
// later operations do not compute replicas.
#pragma once

#include "dialect/layout/LinearLayout.h"

#include "mlir/IR/Operation.h"

#include <optional>

namespace tessera::codegen::gpu {

/// Returns layout::scatteredSlice() for a tile.reduce of a tile in the layout
/// `operand` if no lane needs more than its share; else nullopt.
std::optional<layout::LinearLayout>
sharedResult(mlir::Operation *op, const layout::LinearLayout &operand);

} // namespace tessera::codegen::gpu
