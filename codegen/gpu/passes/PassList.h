// codegen/gpu/passes/PassList.h - the order of the GPU's passes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/kernel/Attributes.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace tessera::codegen::gpu {

/// From tile IR to tile IR in which every tensor has a layout, operands of dots
/// lie in shared memory and barriers stand where they must.
void addLayoutPasses(mlir::OpPassManager &passes, const GpuOptions &options);

/// The last of these, which what has layouts already needs before the lowering:
/// how long waits for copies are, places in shared memory, barriers.
void addMemoryPasses(mlir::OpPassManager &passes, const GpuOptions &options);

} // namespace tessera::codegen::gpu
