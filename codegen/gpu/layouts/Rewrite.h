// codegen/gpu/layouts/Rewrite.h - a kernel written again with layouts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/layouts/Homes.h"

namespace tessera::codegen::gpu {

/// Writes the body of `function` again: every value in its home, and where
/// somebody wants another layout either computed again there or converted
/// (tile.convert_layout), whichever costs less; a conversion stands in the
/// block where its source is made, so outside the loops that only use it,
/// before its first use.
void rewriteWithLayouts(mlir::func::FuncOp function, Homes &homes);

} // namespace tessera::codegen::gpu
