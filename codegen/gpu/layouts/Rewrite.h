// codegen/gpu/layouts/Rewrite.h - rewrites a kernel with layouts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/layouts/LayoutPropagation.h"

namespace tessera::codegen::gpu {

/// Rewrites the body of `function`: every value has the layout that propagation
/// assigned to it; where a user wants another layout, the value is
/// rematerialized in it or converted (tile.convert_layout), whichever costs
/// less. A conversion is in the block that defines its source, before its first
/// use. It is therefore outside of loops that only use the value.
void rewriteWithLayouts(mlir::func::FuncOp function,
                        LayoutPropagation &propagation);

} // namespace tessera::codegen::gpu
