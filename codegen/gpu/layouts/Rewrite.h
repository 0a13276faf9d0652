// codegen/gpu/layouts/Rewrite.h - a kernel rewritten with layouts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/layouts/LayoutPropagation.h"

namespace tessera::codegen::gpu {

/// Rewrites the body of `function`: every value has the layout that propagation
/// assigned to it; where a user wants another layout, the value is
/// rematerialized in it or converted (tile.convert_layout), whichever costs
/// less. A conversion stands in the block where its source is made, so outside
/// the loops that only use it, before its first use.
void rewriteWithLayouts(mlir::func::FuncOp function,
                        LayoutPropagation &propagation);

} // namespace tessera::codegen::gpu
